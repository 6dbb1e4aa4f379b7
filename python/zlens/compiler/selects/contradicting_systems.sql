-- materialized
-- _contradicting_systems: systems with samples that contradict each other, and the first time. of_system: too many to be
-- damage, so that all its counters are suspect.
SELECT
    breached.system, breached.source, breached.balance, any_value(breached.text) AS text,
    count(*) AS times, any_value(counted.samples) AS samples, min(breached.interval_end) AS first_end,
    arg_min(breached.cpu_id, (breached.interval_end, breached.cpu_id)) AS cpu_id,
    arg_min(breached.found, (breached.interval_end, breached.cpu_id)) AS found,
    arg_min(breached.allowed, (breached.interval_end, breached.cpu_id)) AS allowed,
    any_value(broken.samples) > {damage} * any_value(counted.samples) AS of_system
FROM _contradicting_samples AS breached
JOIN (
    SELECT system, source, count(DISTINCT (interval_end, cpu_id)) AS samples FROM _contradicting_samples GROUP BY system, source
) AS broken USING (system, source)
JOIN (SELECT system, source, count(*) AS samples FROM _counter GROUP BY system, source) AS counted
    USING (system, source)
GROUP BY breached.system, breached.source, breached.balance
