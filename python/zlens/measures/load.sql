-- load: one row per interval and system, from its logical processors.
SELECT {columns}
FROM role.processor AS processor
LEFT JOIN role.activity AS activity USING (system, source, interval_end, cpu_id)
LEFT JOIN role.population AS population USING (system, source, interval_end)
LEFT JOIN _guest_load AS guest_load USING (system, source, interval_end)
LEFT JOIN _achieved AS achieved USING (system, source, interval_end)
GROUP BY processor.system, processor.source, processor.interval_end
