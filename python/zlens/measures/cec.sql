-- cec: one row per interval and processor type of the machine, as one observer saw it.
SELECT {columns}
FROM _pool AS pool
JOIN _observer AS observer USING (system, source, interval_end)
LEFT JOIN role.machine AS machine USING (system, source, interval_end)
