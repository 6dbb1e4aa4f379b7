-- cpumf_type: one row per interval and processor type, from the sums of the counters of its processors.
SELECT {columns}
FROM _type_counted AS type_counted
