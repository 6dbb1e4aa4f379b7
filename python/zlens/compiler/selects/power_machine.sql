-- _power_machine: energy of machines in the readings of a meter whose records also have the use of processors, of
-- all types together. `day` is the local day, counted from 1970.
SELECT
    m.system, m.source, m.interval_end, m.seconds, m.flag, m.machine, m.power_w * m.seconds AS energy_j,
    pool.used * m.seconds AS used_s, {local_day} AS day
FROM _power_counted AS m
JOIN (
    SELECT system, source, interval_end, CASE WHEN count(used) = count(*) THEN sum(used ORDER BY used) END AS used
    FROM (
        SELECT
            physical.system, physical.source, physical.interval_end,
            coalesce(physical.physical * physical.usage, cec.total_pct) / 100 AS used
        FROM role.physical AS physical
        LEFT JOIN cec USING (system, source, interval_end, cpu_type)
        WHERE physical.physical > 0
    )
    GROUP BY system, source, interval_end
) AS pool USING (system, source, interval_end)
JOIN (SELECT system, source, utc_offset_s FROM _ledger_place) AS place USING (system, source)
WHERE m.partition IS NULL
