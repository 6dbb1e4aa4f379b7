-- _own_cores: how many cores of each polarity the partition has that reports, by type.
SELECT
    system, source, interval_end, cpu_type,
    count(DISTINCT core_id) FILTER (WHERE polarity = 'Vh') AS vh,
    count(DISTINCT core_id) FILTER (WHERE polarity = 'Vm') AS vm,
    count(DISTINCT core_id) FILTER (WHERE polarity = 'Vl') AS vl
FROM role.processor
WHERE source_kind = 'zvm' AND polarity IS NOT NULL AND polarity <> 'Hor'
GROUP BY system, source, interval_end, cpu_type
