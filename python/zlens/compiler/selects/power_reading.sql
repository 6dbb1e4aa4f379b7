-- materialized
-- _power_reading: power of machines (without a partition) and of partitions as each meter has it, and the time that it
-- is of: the interval; of a meter that reads moments, the time since its reading before, if it is not more than twice
-- the usual. A meter without the name of its machine is of that of the system with its name, or of the systems in its
-- partitions, if these have one.
WITH reading AS (
    SELECT
        system, source, interval_end, seconds, flag, NULL::VARCHAR AS name,
        power_w, NULL::DOUBLE AS processor_power_w, NULL::DOUBLE AS memory_power_w, NULL::DOUBLE AS io_power_w,
        infrastructure_power_w, unassigned_power_w
    FROM environment
    WHERE power_w IS NOT NULL
    UNION ALL
    SELECT
        system, source, interval_end, seconds, flag, partition,
        power_w, processor_power_w, memory_power_w, io_power_w, NULL, NULL
    FROM partition_use
    WHERE power_w IS NOT NULL AND partition IS NOT NULL
),
named AS (
    SELECT system, min(machine) AS machine, CASE WHEN count(DISTINCT lpar) = 1 THEN min(lpar) END AS lpar
    FROM system
    WHERE machine IS NOT NULL
    GROUP BY system
    HAVING count(DISTINCT machine) = 1
),
hosting AS (
    SELECT part.system, part.source, min(inside.machine) AS machine
    FROM (SELECT DISTINCT system, source, name FROM reading) AS part
    JOIN system AS inside ON inside.lpar = part.name
    GROUP BY part.system, part.source
    HAVING count(DISTINCT inside.machine) = 1
),
timed AS (
    SELECT
        *,
        (epoch_us(interval_end) - lag(epoch_us(interval_end)) OVER (
            PARTITION BY system, source, name ORDER BY interval_end
        )) / 1e6 AS since_s
    FROM reading
),
covering AS (
    SELECT
        *,
        coalesce(
            seconds,
            CASE WHEN since_s <= 2 * median(since_s) OVER (PARTITION BY system, source, name) THEN since_s END
        ) AS covered_s
    FROM timed
)
SELECT
    m.system, m.source, m.interval_end, m.covered_s AS seconds, m.flag,
    coalesce(own.machine, named.machine, hosting.machine, m.system) AS machine,
    CASE WHEN m.name = m.system THEN coalesce(own.lpar, named.lpar, m.name) ELSE m.name END AS partition,
    m.power_w, m.processor_power_w, m.memory_power_w, m.io_power_w, m.infrastructure_power_w, m.unassigned_power_w
FROM covering AS m
JOIN system AS own ON own.system = m.system AND own.source = m.source
LEFT JOIN named ON named.system = m.system
LEFT JOIN hosting ON hosting.system = m.system AND hosting.source = m.source
WHERE m.covered_s > 0 AND NOT coalesce(own.local_time, false)
