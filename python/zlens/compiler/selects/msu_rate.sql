-- _msu_rate: MSU per hour of one general purpose processor, as a system reports it or by the capacity of the machine.
SELECT
    machine.system, machine.source, machine.interval_end,
    coalesce(machine.msu_of_cpu, machine.msu_capacity / nullif(pool.whole, 0)) AS msu_of_cpu
FROM role.machine AS machine
LEFT JOIN (
    SELECT system, source, interval_end, whole FROM _pool WHERE cpu_type = 'CP'
) AS pool USING (system, source, interval_end)
