-- partition: one row per interval, partition and processor type, as one observer of the machine saw it.
SELECT {columns}
FROM role.partition AS partition
JOIN _observer AS observer USING (system, source, interval_end)
LEFT JOIN _pool AS pool USING (system, source, interval_end, cpu_type)
LEFT JOIN role.machine AS machine USING (system, source, interval_end)
LEFT JOIN role.own_partition AS own_partition USING (system, source, interval_end)
LEFT JOIN _own_cores AS own_cores
    ON own_cores.system = partition.system
    AND own_cores.source = partition.source
    AND own_cores.interval_end = partition.interval_end
    AND own_cores.cpu_type IS NOT DISTINCT FROM partition.cpu_type
    AND CASE WHEN own_partition.number IS NULL THEN own_partition.name = partition.name
        ELSE own_partition.number = partition.number END
