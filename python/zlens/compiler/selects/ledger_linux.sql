-- _ledger_linux: CPU time of a guest as CP counts it, and as Linux on it counts it: busy, and stolen.
SELECT
    m.system, m.source, m.interval_end, m.seconds, m.flag, m.userid, m.cpu_s, m.virtual_s, linux.busy_s, linux.steal_s
FROM guest AS m
JOIN _linux_guest_busy AS linux USING (system, source, interval_end, userid)
