-- _type_counted: what was counted on all processors of one type. A sum of which one part is not known is not known.
-- A processor that was offline for a while may tell of a longer time than the others: it counts with its part of it.
-- A row that is of no one processor is of nobody knows how many.
SELECT
    system, source, interval_end, counted.cpu_type AS cpu_type, any_value(whole) AS seconds, max(flag) AS flag,
    CASE WHEN count(cpu_id) = count(*) THEN count(*) END AS processors,
    max(generation) AS generation, max(generation_by) AS generation_by,
    avg(cpsp) AS cpsp{counter_sums}
FROM (
    SELECT counted.*, length.whole, least(1, length.whole / nullif(counted.seconds, 0)) AS part
    FROM _counted AS counted
    JOIN (
        SELECT
            system, source, interval_end, cpu_type,
            coalesce(max(seconds) FILTER (WHERE flag IS NULL), max(seconds)) AS whole
        FROM _counted
        GROUP BY system, source, interval_end, cpu_type
    ) AS length
        ON length.system = counted.system
        AND length.source = counted.source
        AND length.interval_end = counted.interval_end
        AND length.cpu_type IS NOT DISTINCT FROM counted.cpu_type
) AS counted
GROUP BY system, source, interval_end, counted.cpu_type
