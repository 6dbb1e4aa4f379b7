-- _power_share: what processors of a partition spent in the time that they were used, also for each second that the CPU
-- ledger has, and what they spent besides: their power at rest, if it is solved, else their share of the time that they waited.
SELECT
    system, source, interval_end, seconds, flag, machine, partition, is_solved,
    energy_j - idle_j AS busy_j, idle_j, busy_j / nullif(used_s, 0) AS busy_w
FROM (
    SELECT
        used.*, model.system IS NOT NULL AS is_solved,
        CASE
            WHEN model.system IS NOT NULL THEN least(model.idle_w * used.seconds, used.energy_j)
            ELSE used.energy_j * greatest(1 - used.busy_s / (load.online * used.seconds), 0)
        END AS idle_j
    FROM _power_used AS used
    JOIN load USING (system, source, interval_end)
    LEFT JOIN (SELECT * FROM _power_model WHERE refused IS NULL AND partition IS NOT NULL) AS model USING (system, source, day)
    WHERE used.busy_s IS NOT NULL AND load.online > 0
)
