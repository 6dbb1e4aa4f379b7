-- _capacity: capacity of a system in an interval, and the CPU time of its guests or service classes, as far as
-- it is known. Report classes repeat the work of service classes.
SELECT
    load.system, load.source, load.interval_end, load.seconds, load.flag,
    load.online, load.busy_s, load.nonchargeable_cp_pct,
    coalesce(guests.cpu_s, classes.cpu_s) AS known_time
FROM load
LEFT JOIN (
    SELECT system, source, interval_end, sum(cpu_s) AS cpu_s
    FROM guest
    GROUP BY system, source, interval_end
) AS guests USING (system, source, interval_end)
LEFT JOIN (
    SELECT system, source, interval_end, sum(used_s) AS cpu_s
    FROM workload
    WHERE class_kind = 'service'
    GROUP BY system, source, interval_end
) AS classes
    ON classes.system = load.system AND classes.source = load.source AND classes.interval_end = load.interval_end
