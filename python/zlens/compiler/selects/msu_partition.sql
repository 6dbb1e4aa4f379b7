-- materialized
-- _msu_partition: use of CPs by partitions in MSU, in the interval of the system in it that reports service classes, else
-- in that of the system that reports the partition (not `is_own`). Systems of a machine end their intervals some milliseconds apart.
WITH own AS (
    SELECT place.machine, place.partition, classes.system, classes.source, classes.interval_end,
        (epoch_us(classes.interval_end) + 30000000) // 60000000 AS minute
    FROM (SELECT DISTINCT system, source, interval_end FROM workload WHERE class_kind = 'service') AS classes
    JOIN _ledger_place AS place USING (system, source)
),
first AS (
    SELECT machine, partition, minute, min((system, source, interval_end)) AS place
    FROM own
    GROUP BY machine, partition, minute
)
SELECT
    coalesce(first.place[1], m.system) AS system,
    coalesce(first.place[2], m.source) AS source,
    coalesce(first.place[3], m.interval_end) AS interval_end,
    m.seconds, m.flag, place.machine, m.partition, m.capacity_group, m.msu_of_cpu,
    m.msu_actual * m.seconds / 3600 AS msu_hours, first.place IS NOT NULL AS is_own
FROM partition AS m
JOIN _ledger_place AS place USING (system, source)
LEFT JOIN first
    ON first.machine = place.machine AND first.partition = m.partition
    AND first.minute = (epoch_us(m.interval_end) + 30000000) // 60000000
WHERE m.cpu_type = 'CP' AND m.msu_actual IS NOT NULL
