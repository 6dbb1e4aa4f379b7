-- materialized
-- _power_used: energy of the processors of a partition in the intervals of the system in it: of its readings, the part
-- that the intervals have in common. `day` is the local day, counted from 1970.
SELECT used.*, {local_day} AS day
FROM (
    SELECT
        system, source, interval_end, any_value(seconds) AS seconds, any_value(flag) AS flag,
        any_value(machine) AS machine, any_value(partition) AS partition,
        any_value(used_s) AS used_s, any_value(busy_s) AS busy_s,
        sum(energy_w * common_s ORDER BY energy_w * common_s) AS energy_j
    FROM (
        SELECT
            own.*, coalesce(power.processor_power_w, power.power_w) * power.counted_s / power.seconds AS energy_w,
            {common_s own power} AS common_s
        FROM _ledger_system AS own
        JOIN _power_counted AS power
            ON power.machine = own.machine AND power.partition = own.partition AND {overlaps own power}
    )
    GROUP BY system, source, interval_end
) AS used
JOIN (SELECT system, source, utc_offset_s FROM _ledger_place) AS place USING (system, source)
