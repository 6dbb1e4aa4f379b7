-- _power_share: energy of the processors of a partition in the intervals of the system in it: of its readings, the part
-- that the intervals have in common. What processors spent busy, for each second of CPU time that the CPU ledger has,
-- and what they spent in the time that they waited.
WITH spent AS (
    SELECT
        own.system, own.source, own.interval_end,
        sum(energy_w * common_s ORDER BY energy_w * common_s) AS energy_j
    FROM (
        SELECT
            own.system, own.source, own.interval_end,
            coalesce(power.processor_power_w, power.power_w) * power.counted_s / power.seconds AS energy_w,
            least(epoch_us(own.interval_end), epoch_us(power.interval_end)) / 1e6
            - greatest(
                epoch_us(own.interval_end) / 1e6 - own.seconds, epoch_us(power.interval_end) / 1e6 - power.seconds
            ) AS common_s
        FROM _ledger_system AS own
        JOIN _power_counted AS power
            ON power.machine = own.machine AND power.partition = own.partition
            AND epoch_us(power.interval_end) / 1e6 > epoch_us(own.interval_end) / 1e6 - own.seconds
            AND epoch_us(power.interval_end) / 1e6 - power.seconds < epoch_us(own.interval_end) / 1e6
    ) AS own
    GROUP BY own.system, own.source, own.interval_end
)
SELECT
    own.system, own.source, own.interval_end, own.seconds, own.flag, own.machine, own.partition,
    spent.energy_j * least(own.busy_s / (load.online * own.seconds), 1) AS busy_j,
    spent.energy_j * greatest(1 - own.busy_s / (load.online * own.seconds), 0) AS idle_j,
    busy_j / nullif(own.used_s, 0) AS busy_w
FROM _ledger_system AS own
JOIN spent ON spent.system = own.system AND spent.source = own.source AND spent.interval_end = own.interval_end
JOIN load ON load.system = own.system AND load.source = own.source AND load.interval_end = own.interval_end
WHERE own.busy_s IS NOT NULL AND load.online > 0
