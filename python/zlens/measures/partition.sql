-- partition: one row per interval, partition and processor type, as one observer of the machine saw it.
SELECT {columns}
FROM role.partition AS partition
JOIN _observer AS observer USING (system, source, interval_end)
LEFT JOIN _pool AS pool USING (system, source, interval_end, cpu_type)
LEFT JOIN role.machine AS machine USING (system, source, interval_end)
