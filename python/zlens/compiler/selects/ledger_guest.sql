-- materialized
-- _ledger_guest: CPU time of guests of z/VM in time of cores: as counted, or with multithreading prorated time, and if
-- that is not known, their share of the cores by time of threads.
SELECT
    m.system, m.source, m.interval_end, m.seconds, m.flag, m.userid, m.group_name, m.basis,
    m.cpu_s, m.virtual_s, m.mt1_s, m.prorated_s,
    own.is_threaded AND m.prorated_s IS NULL AS is_divided,
    CASE WHEN NOT own.is_threaded THEN m.cpu_s ELSE coalesce(m.prorated_s, m.cpu_s * own.core_s_per_busy_s) END AS used_s
FROM guest AS m
JOIN _ledger_system AS own USING (system, source, interval_end)
WHERE m.cpu_s IS NOT NULL
