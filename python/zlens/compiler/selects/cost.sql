-- _cost: throughput, with processor utilization and counters of the same interval. If only counters describe
-- a system's processors, the intervals are theirs.
SELECT
    load.system, load.source, load.interval_end, load.seconds, load.flag, load.etr, load.itr, load.busy_pct, load.online,
    load.guest_pct, load.chargeable_cp_pct, load.nonchargeable_cp_pct,
    CASE WHEN load.etr IS NOT NULL THEN achieved.response_time / nullif(achieved.answered, 0) END AS response_s,
    counted.instructions / counted.seconds AS instruction_rate,
    counted.cycles / counted.seconds AS cycle_rate,
    counted.finite_cycles / counted.seconds AS finite_cycle_rate,
    counted.ghz
FROM load
JOIN (SELECT * FROM _system_throughput WHERE of_load) AS achieved USING (system, source, interval_end)
LEFT JOIN _counters_by_load_interval AS counted USING (system, source, interval_end)
UNION ALL BY NAME
SELECT
    system, source, interval_end, counted.seconds, counted.flag, achieved.rate AS etr,
    achieved.response_time / nullif(achieved.answered, 0) AS response_s,
    counted.instructions / counted.seconds AS instruction_rate,
    counted.cycles / counted.seconds AS cycle_rate,
    counted.finite_cycles / counted.seconds AS finite_cycle_rate,
    counted.ghz
FROM _system_work AS counted
JOIN (SELECT * FROM _system_throughput WHERE NOT of_load) AS achieved USING (system, source, interval_end)
-- As in load: rate and counters must cover the same time.
WHERE achieved.covered_time >= 0.9 * counted.seconds AND system NOT IN (SELECT DISTINCT system FROM load)
