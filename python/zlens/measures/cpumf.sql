-- cpumf: one row per interval and logical processor that counted.
SELECT {columns}
FROM _counted AS counted
