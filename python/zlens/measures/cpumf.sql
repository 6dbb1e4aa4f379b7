-- cpumf: one row per interval and logical processor that counted.
SELECT {columns}
FROM _counted AS counter
LEFT JOIN _placed AS placed USING (system, source, interval_end, cpu_id)
