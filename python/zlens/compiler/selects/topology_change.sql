-- materialized
-- _topology_change: locations of the partition's cores in the machine, each time that one of them changed: records that
-- repeat the topology are left out.
WITH recorded AS (
    SELECT
        system, source, tod,
        string_agg(
            concat_ws(' ', core_id, cpu_type, polarity, dedicated, node, nest_6, nest_5, nest_4, nest_3, nest_2, nest_1), ','
            ORDER BY core_id
        ) AS topology
    FROM role.topology
    GROUP BY system, source, tod
),
changed AS (
    SELECT
        system, source, tod,
        topology IS DISTINCT FROM lag(topology) OVER (PARTITION BY system, source ORDER BY tod) AS changed
    FROM recorded
)
SELECT DISTINCT
    t.tod AS interval_end, CAST(NULL AS DOUBLE) AS seconds, CAST(NULL AS VARCHAR) AS flag, t.* EXCLUDE (tod)
FROM role.topology AS t
JOIN changed USING (system, source, tod)
LEFT JOIN _asked AS asked ON asked.system = t.system AND asked.source = t.source
WHERE changed.changed AND (asked.first IS NULL OR t.tod > asked.first AND t.tod <= asked.last)
