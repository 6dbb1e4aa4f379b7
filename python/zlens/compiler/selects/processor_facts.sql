-- materialized
-- _processor_facts: facts from another record of the same system about a processor with counters. Its intervals need
-- not be those of the counters: parked time is that of the time both cover, assuming that it spreads evenly
-- over each record. If polarity changed in that time, it is NULL. A hundredth at both ends is ignored: one
-- source records slightly later timestamps than the other. Records that cover less than nine tenths of the
-- interval are ignored.
WITH place AS (
    SELECT
        *, sum(CAST(turned AS BIGINT)) OVER of_processor AS turn, row_number() OVER of_processor AS number,
        sum(CAST(turned AS BIGINT)) OVER of_processor + coalesce(CAST(lead(turned) OVER of_processor AS BIGINT), 0) AS next_turn,
        sum(stop - start) OVER earlier AS covered, sum(parked) OVER earlier AS parked_before,
        count(*) FILTER (WHERE parked IS NULL) OVER earlier AS unknown
    FROM (
        SELECT
            *, parked_pct / 100 * (stop - start) AS parked,
            polarity IS DISTINCT FROM lag(polarity, 1, polarity) OVER (
                PARTITION BY system, source, cpu_id ORDER BY start
            ) AS turned
        FROM (
            SELECT
                system, cpu.source AS source, cpu_id, core_id, cpu_type, polarity, parked_pct,
                epoch_us(interval_end) AS stop,
                epoch_us(interval_end) - CAST(round(seconds * 1e6) AS BIGINT) AS start
            FROM cpu
            JOIN system AS host USING (system, source)
            WHERE seconds > 0 AND NOT coalesce(host.local_time, false)
        )
    )
    WINDOW
        of_processor AS (PARTITION BY system, source, cpu_id ORDER BY start),
        earlier AS (
            PARTITION BY system, source, cpu_id ORDER BY start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        )
),
sought AS (
    SELECT
        counter.system, counter.source, counter.interval_end, counter.cpu_id, teller.source AS told_by,
        epoch_us(counter.interval_end) - CAST(round(counter.seconds * 0.99e6) AS BIGINT) AS start,
        epoch_us(counter.interval_end) - CAST(round(counter.seconds * 0.01e6) AS BIGINT) AS stop
    FROM role.counter AS counter
    JOIN (SELECT DISTINCT system, source FROM place) AS teller ON teller.system = counter.system
    WHERE counter.seconds > 0
),
found AS (
    SELECT
        sought.* EXCLUDE (start, stop), sought.stop - sought.start AS length,
        last.core_id, last.cpu_type, last.polarity, last.parked_pct,
        coalesce(first.number, 0) AS first_number, last.number AS last_number,
        -- The first record of the interval contains its start, or is the next one; 0 before all records.
        coalesce(CASE WHEN sought.start < first.stop THEN first.turn ELSE first.next_turn END, 0) AS first_turn,
        last.turn AS last_turn,
        coalesce(first.covered, 0) + coalesce(least(sought.start, first.stop) - first.start, 0) AS covered_first,
        coalesce(last.covered, 0) + least(sought.stop, last.stop) - last.start AS covered_last,
        coalesce(first.parked_before, 0) + coalesce(
            first.parked * (least(sought.start, first.stop) - first.start) / (first.stop - first.start), 0
        ) AS parked_first,
        coalesce(last.parked_before, 0)
        + last.parked * (least(sought.stop, last.stop) - last.start) / (last.stop - last.start) AS parked_last,
        last.unknown - coalesce(first.unknown, 0) AS unknown,
        coalesce(first.stop BETWEEN sought.start AND sought.stop, false)
        AND sought.start - first.start > 0.02 * (sought.stop - sought.start)
        OR last.start > sought.start AND last.stop - sought.stop > 0.02 * (sought.stop - sought.start) AS apart
    FROM sought
    ASOF LEFT JOIN place AS first
        ON first.system = sought.system AND first.source = sought.told_by AND first.cpu_id = sought.cpu_id
        AND first.start <= sought.start
    ASOF JOIN place AS last
        ON last.system = sought.system AND last.source = sought.told_by AND last.cpu_id = sought.cpu_id
        AND last.start < sought.stop
)
SELECT
    system, source, interval_end, cpu_id, told_by, core_id, cpu_type,
    CASE WHEN first_turn = last_turn THEN polarity END AS polarity,
    CASE WHEN unknown = 0 THEN 100 * (parked_last - parked_first) / nullif(covered_last - covered_first, 0) END AS spread,
    CASE WHEN first_number = last_number THEN parked_pct ELSE spread END AS parked_pct,
    -- Neither interval contains the other.
    apart
FROM found
WHERE covered_last - covered_first >= 0.9 * length
-- Records of the same source first: they come from the same program and the same clock.
QUALIFY row_number() OVER (
    PARTITION BY system, source, interval_end, cpu_id ORDER BY told_by = source DESC, told_by
) = 1
