-- materialized
-- _counters_by_load_interval: counters of a system for each interval of its load: from the same source, else from
-- another one. Counters belong to the interval that contains their middle; those that cover less than nine
-- tenths are omitted.
SELECT system, source, interval_end, seconds, instructions, cycles, finite_cycles, ghz
FROM (
    SELECT
        load.system, load.source, load.interval_end, counted.source AS counted_by,
        sum(counted.seconds) AS seconds,
        CASE WHEN count(instructions) = count(*) THEN sum(instructions) END AS instructions,
        CASE WHEN count(cycles) = count(*) THEN sum(cycles) END AS cycles,
        CASE WHEN count(finite_cycles) = count(*) THEN sum(finite_cycles) END AS finite_cycles,
        CASE WHEN count(ghz) = count(*) THEN sum(cycles) / nullif(sum(cycles / nullif(ghz, 0)), 0) END AS ghz
    FROM (
        SELECT
            work.*, loads.source AS load_source,
            work.interval_end - to_microseconds(CAST(work.seconds * 5e5 AS BIGINT)) AS middle
        FROM _system_work AS work
        JOIN (SELECT DISTINCT system, source FROM load) AS loads ON loads.system = work.system
    ) AS counted
    ASOF JOIN load
        ON load.system = counted.system
        AND load.source = counted.load_source
        AND counted.middle <= load.interval_end
    WHERE counted.middle > load.interval_end - to_microseconds(CAST(load.seconds * 1e6 AS BIGINT))
    GROUP BY load.system, load.source, load.interval_end, counted.source
    HAVING sum(counted.seconds) BETWEEN 0.9 * any_value(load.seconds) AND 1.1 * any_value(load.seconds)
)
QUALIFY row_number() OVER (
    PARTITION BY system, source, interval_end ORDER BY counted_by = source DESC, counted_by
) = 1
