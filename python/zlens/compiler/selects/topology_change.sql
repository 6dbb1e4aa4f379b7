-- _topology_change: locations of the partition's cores in the machine, each time that one of them changed: records that
-- repeat the topology are left out. If the user selects a window, those that apply in it are shown. SMF 70-1 counts where
-- no record is of the topology alone.
WITH located AS (
    SELECT
        system, source, tod, core_id, cpu_type, polarity, dedicated, node,
        NULL AS nest_6, nest_5, nest_4, nest_3, nest_2, nest_1
    FROM role.topology
    UNION ALL
    SELECT
        system, source, interval_end, core_id, cpu_type, polarity, dedicated, NULL,
        nest_6, nest_5, nest_4, nest_3, nest_2, nest_1
    FROM role.processor_location
    WHERE (system, source) NOT IN (SELECT (system, source) FROM role.topology)
),
recorded AS (
    SELECT
        system, source, tod,
        string_agg(
            CAST(
                row(core_id, cpu_type, polarity, dedicated, node, nest_6, nest_5, nest_4, nest_3, nest_2, nest_1) AS VARCHAR
            ),
            ','
            ORDER BY core_id
        ) AS topology
    FROM located
    GROUP BY system, source, tod
),
judged AS (
    SELECT
        system, source, tod,
        topology IS DISTINCT FROM lag(topology) OVER (PARTITION BY system, source ORDER BY tod) AS changed
    FROM recorded
),
changes AS (
    SELECT system, source, tod, lead(tod) OVER (PARTITION BY system, source ORDER BY tod) AS until
    FROM judged
    WHERE changed
)
SELECT DISTINCT
    t.tod AS interval_end, CAST(NULL AS DOUBLE) AS seconds, CAST(NULL AS VARCHAR) AS flag, t.* EXCLUDE (tod)
FROM located AS t
JOIN changes USING (system, source, tod)
LEFT JOIN _requested AS requested ON requested.system = t.system AND requested.source = t.source
WHERE requested.first IS NULL OR t.tod <= requested.last AND (changes.until IS NULL OR changes.until > requested.first)
