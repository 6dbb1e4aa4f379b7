-- cpumf_polarity: one row per interval, processor type and polarity, from the sums of the counters of its processors.
SELECT {columns}
FROM _polarity_counted AS polarity_counted
