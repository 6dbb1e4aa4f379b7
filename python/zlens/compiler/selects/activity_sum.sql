-- materialized
-- _activity_sum: counts of CP on all processors in total. A sum with an unknown part is unknown, such as the
-- counts of a processor varied off after its last sample, which no record contains. A record states when it
-- was varied off; without one, a processor's last sample has no successor. In a bucket of --every, a rate is
-- the rate of its known intervals.
WITH sampled AS (
    SELECT
        *,
        lead(interval_end) OVER (PARTITION BY system, source, cpu_id ORDER BY interval_end) AS again
    FROM unsummed.activity
),
together AS (
    SELECT
        system, source, interval_end, max(seconds) AS seconds,
        -- Processors are sampled in sequence, in much less than a second.
        max(seconds) - min(seconds) > 1 AS uneven,
        -- The earliest of the next samples; NULL if there is none.
        CASE WHEN count(again) = count(*) THEN max(again) END AS all_again,
        CASE WHEN count(page_reads) = count(*) THEN sum(page_reads) END AS page_reads,
        CASE WHEN count(page_writes) = count(*) THEN sum(page_writes) END AS page_writes,
        CASE WHEN count(spool_reads) = count(*) THEN sum(spool_reads) END AS spool_reads,
        CASE WHEN count(spool_writes) = count(*) THEN sum(spool_writes) END AS spool_writes,
        CASE WHEN count(start_subchannel) = count(*) THEN sum(start_subchannel) END AS start_subchannel
    FROM sampled
    GROUP BY system, source, interval_end
),
ended AS (
    SELECT DISTINCT i.system, i.source, i.interval_end
    FROM role.processor_end AS e
    JOIN _interval AS i
        ON i.system = e.system AND i.source = e.source AND i.interval_start < e.tod AND i.interval_end >= e.tod
),
judged AS (
    SELECT
        together.*,
        uneven OR ended.system IS NOT NULL
        OR coalesce(lag(all_again IS DISTINCT FROM next) OVER of_source, false) AS partial
    FROM (
        SELECT *, lead(interval_end) OVER (PARTITION BY system, source ORDER BY interval_end) AS next FROM together
    ) AS together
    LEFT JOIN ended USING (system, source, interval_end)
    WINDOW of_source AS (PARTITION BY system, source ORDER BY interval_end)
),
known AS (
    SELECT
        system, source, interval_end, seconds, partial,
        CASE WHEN NOT partial THEN page_reads END AS page_reads,
        CASE WHEN NOT partial THEN page_writes END AS page_writes,
        CASE WHEN NOT partial THEN spool_reads END AS spool_reads,
        CASE WHEN NOT partial THEN spool_writes END AS spool_writes,
        CASE WHEN NOT partial THEN start_subchannel END AS start_subchannel
    FROM judged
)
SELECT
    system, source, i.bucket_end AS interval_end, sum(known.seconds) AS seconds, any_value(i.bucket_flag) AS flag,
    CASE WHEN count(page_reads) = count(*) THEN sum(page_reads) END AS page_reads,
    CASE WHEN count(start_subchannel) = count(*) THEN sum(start_subchannel) END AS start_subchannel,
    sum(page_reads) / sum(known.seconds) FILTER (WHERE page_reads IS NOT NULL) AS page_read_rate,
    sum(page_writes) / sum(known.seconds) FILTER (WHERE page_writes IS NOT NULL) AS page_write_rate,
    sum(spool_reads) / sum(known.seconds) FILTER (WHERE spool_reads IS NOT NULL) AS spool_read_rate,
    sum(spool_writes) / sum(known.seconds) FILTER (WHERE spool_writes IS NOT NULL) AS spool_write_rate,
    sum(start_subchannel) / sum(known.seconds) FILTER (WHERE start_subchannel IS NOT NULL) AS start_subchannel_rate,
    coalesce(sum(known.seconds) FILTER (WHERE page_reads IS NOT NULL), 0.0) AS known_s,
    bool_or(partial) AS partial
FROM known
JOIN _interval AS i USING (system, source, interval_end)
-- Flagged intervals are not contained in a longer one.
WHERE i.flag IS NULL OR i.flag IS NOT DISTINCT FROM i.bucket_flag
GROUP BY system, source, i.bucket_end
