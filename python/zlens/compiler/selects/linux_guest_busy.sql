-- materialized
-- _linux_guest_busy: CPU time of a guest as Linux on it counts it (APPLDATA): busy, and stolen.
SELECT
    system, source, interval_end, userid,
    sum(user_time + nice_time + system_time + interrupt_time + soft_interrupt_time) AS busy_s,
    sum(steal_time) AS steal_s
FROM role.linux_guest_cpu
GROUP BY system, source, interval_end, userid
