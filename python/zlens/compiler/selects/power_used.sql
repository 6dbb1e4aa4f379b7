-- materialized
-- _power_used: energy of the processors of a partition in the intervals of the system in it: of its readings, the part
-- that the intervals have in common.
SELECT
    own.system, own.source, own.interval_end, any_value(own.seconds) AS seconds, any_value(own.flag) AS flag,
    any_value(own.machine) AS machine, any_value(own.partition) AS partition,
    any_value(own.used_s) AS used_s, any_value(own.busy_s) AS busy_s,
    sum(energy_w * common_s ORDER BY energy_w * common_s) AS energy_j
FROM (
    SELECT
        own.*, coalesce(power.processor_power_w, power.power_w) * power.counted_s / power.seconds AS energy_w,
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
