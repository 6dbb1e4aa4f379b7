-- cpu: one row per interval and logical processor.
-- What its columns are, stands in catalog/metrics/cpu.toml; here is only what is joined.
SELECT {columns}
FROM role.processor AS processor
LEFT JOIN role.activity AS activity USING (system, source, interval_end, cpu_id)
LEFT JOIN role.own_partition AS own_partition USING (system, source, interval_end)
LEFT JOIN _share AS share USING (system, source, interval_end, cpu_type)
-- Where no layout gives these roles, their records are not read: nothing of them is left.
LEFT JOIN (SELECT * FROM role.communication WHERE signals IS NOT NULL OR messages IS NOT NULL) AS communication
    USING (system, source, interval_end, cpu_id)
LEFT JOIN (SELECT * FROM role.page_in WHERE page_ins IS NOT NULL OR below_2g IS NOT NULL) AS page_in
    USING (system, source, interval_end, cpu_id)
