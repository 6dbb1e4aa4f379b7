-- cpu: one row per interval and logical processor.
-- What its columns are, stands in catalog/metrics/cpu.toml; here is only what is joined.
SELECT {columns}
FROM role.processor AS processor
LEFT JOIN role.activity AS activity USING (system, source, interval_end, cpu_id)
LEFT JOIN role.own_partition AS own_partition USING (system, source, interval_end)
