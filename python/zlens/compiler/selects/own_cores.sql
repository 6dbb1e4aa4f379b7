-- _own_cores: number of cores of each polarity in the reporting partition, by type, and their threads. Linux that runs in the
-- partition itself reports its cores, but not their type.
SELECT
    system, source, interval_end, cpu_type,
    count(DISTINCT coalesce(core_id, cpu_id)) FILTER (WHERE polarity = 'Vh') AS vh,
    count(DISTINCT coalesce(core_id, cpu_id)) FILTER (WHERE polarity = 'Vm') AS vm,
    count(DISTINCT coalesce(core_id, cpu_id)) FILTER (WHERE polarity = 'Vl') AS vl,
    nullif(max(thread_id), 0) + 1 AS threads
FROM role.processor
WHERE source_kind IN ('zvm', 'zos') AND polarity IS NOT NULL AND polarity <> 'Hor'
GROUP BY system, source, interval_end, cpu_type
UNION ALL
SELECT
    system, source, tod, NULL,
    count(DISTINCT core_address) FILTER (WHERE polarity = 'Vh'),
    count(DISTINCT core_address) FILTER (WHERE polarity = 'Vm'),
    count(DISTINCT core_address) FILTER (WHERE polarity = 'Vl'),
    NULL
FROM role.linux_cpu
WHERE configured AND core_address IS NOT NULL AND polarity IS NOT NULL AND polarity <> 'Hor'
GROUP BY system, source, tod
