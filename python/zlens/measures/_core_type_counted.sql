-- _core_type_counted: what was counted on all cores of one type. A sum of which one part is not known is not known.
WITH processors AS (
    SELECT
        system, source, interval_end, cpu_type, max(seconds) AS seconds, max(flag) AS flag,
        max(generation) AS generation,
        -- Processors that were offline for a while have intervals of their own lengths: each by its own.
        max(seconds) * CASE WHEN count(used / nullif(seconds, 0)) = count(*) THEN sum(used / nullif(seconds, 0)) END
            AS used
    FROM _counted
    GROUP BY system, source, interval_end, cpu_type
),
cores AS (
    SELECT
        system, source, interval_end, cpu_type, sum(seconds) AS sampled_s,
        CASE WHEN count(c448) = count(*) THEN sum(available) END AS available,
        CASE WHEN count(c448) = count(*) THEN sum(c448) END AS c448,
        CASE WHEN count(c449) = count(*) THEN sum(c449) END AS c449,
        CASE WHEN count(c202) = count(*) THEN sum(c202) END AS c202,
        CASE WHEN count(c203) = count(*) THEN sum(c203) END AS c203,
        CASE WHEN count(c204) = count(*) THEN sum(c204) END AS c204,
        CASE WHEN count(c205) = count(*) THEN sum(c205) END AS c205
    FROM _core_counted
    GROUP BY system, source, interval_end, cpu_type
)
SELECT processors.*, cores.* EXCLUDE (system, source, interval_end, cpu_type)
FROM processors
LEFT JOIN cores USING (system, source, interval_end, cpu_type)
