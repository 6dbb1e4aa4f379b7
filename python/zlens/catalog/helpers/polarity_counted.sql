-- _polarity_counted: what was counted on all processors of one type that had one polarity throughout the interval, or
-- whose polarity no record tells. A sum of which one part is not known is not known. A processor that was offline for
-- a while may tell of a longer time than the others of its type: it counts with its part of it.
SELECT
    system, source, interval_end, cpu_type, polarity, max(whole) AS seconds, max(flag) AS flag,
    count(*) AS processors,
    CASE WHEN count(parked_pct) = count(*) THEN avg(parked_pct) END AS parked_pct,
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
GROUP BY system, source, interval_end, cpu_type, polarity
