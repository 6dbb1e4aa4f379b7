-- _hiperdispatch: decisions of HiperDispatch in the intervals of the system: how many, and what they were based on, on
-- average. Flagged intervals are not contained in a longer one.
WITH placed AS (
    SELECT i.bucket_end, i.bucket_flag, i.interval_end AS within, i.seconds AS length, d.* EXCLUDE (interval_end, seconds, flag)
    FROM _decision AS d
    ASOF JOIN _interval AS i
        ON i.system = d.system AND i.source = d.source AND i.interval_end >= d.interval_end
    WHERE d.interval_end > i.interval_start AND (i.flag IS NULL OR i.flag IS NOT DISTINCT FROM i.bucket_flag)
),
span AS (
    SELECT system, source, cpu_type, bucket_end, sum(length) AS seconds
    FROM (SELECT DISTINCT system, source, cpu_type, bucket_end, within, length FROM placed)
    GROUP BY system, source, cpu_type, bucket_end
)
SELECT
    system, source, bucket_end AS interval_end, any_value(span.seconds) AS seconds, any_value(bucket_flag) AS flag, cpu_type,
    count(*) AS decisions,
    count(*) FILTER (WHERE request = 'unpark') AS unparks,
    count(*) FILTER (WHERE request = 'park') AS parks,
    count(*) FILTER (WHERE request = 'no unpark') AS refused,
    count(*) FILTER (WHERE capped OR wlm_capped) AS capped,
    avg(vertical_high) AS vertical_high,
    avg(vertical_medium) AS vertical_medium,
    avg(vertical_low) AS vertical_low,
    avg(low_unparked) AS low_unparked,
    avg(low_parked) AS low_parked,
    avg(busy) AS busy,
    avg(used) AS used,
    avg(guaranteed) AS guaranteed,
    avg(machine_use) AS machine_use,
    avg(machine_free) AS machine_free,
    avg(unpark_limit) AS unpark_limit,
    avg(park_limit) AS park_limit
FROM placed
JOIN span USING (system, source, cpu_type, bucket_end)
GROUP BY system, source, cpu_type, bucket_end
