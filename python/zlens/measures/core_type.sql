-- core_type: one row per interval and type of core whose processors counted.
SELECT {columns}
FROM _core_type_counted AS core_type_counted
LEFT JOIN _share AS share USING (system, source, interval_end, cpu_type)
