-- cpumf: one row per interval and logical processor that counted. The sample of another record that is told beside it
-- is the one in the middle of its interval: sources need not end their intervals at the same moment.
SELECT {columns}
FROM _counted AS counter
ASOF LEFT JOIN _placed AS placed
    ON placed.system = counter.system
    AND placed.cpu_id = counter.cpu_id
    AND placed.interval_end >= counter.interval_end - to_seconds(coalesce(counter.seconds, 0) / 2)
