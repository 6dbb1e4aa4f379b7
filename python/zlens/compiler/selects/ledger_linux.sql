-- _ledger_linux: CPU time of a guest as CP counts it, and as Linux on it counts it: busy, and stolen.
SELECT
    m.system, m.source, m.interval_end, m.seconds, m.flag, m.userid, m.cpu_s, m.virtual_s, linux.busy_s, linux.steal_s
FROM guest AS m
JOIN (
    SELECT
        system, source, interval_end, userid,
        sum(user_time + nice_time + system_time + interrupt_time + soft_interrupt_time) AS busy_s,
        sum(steal_time) AS steal_s
    FROM role.linux_guest_cpu
    GROUP BY system, source, interval_end, userid
) AS linux USING (system, source, interval_end, userid)
