-- _ledger_users: time that CP charged to users, where no samples of guests tell which; of a system with other records
-- of guests, less what these count. That is a difference of meters, and may be negative: transactions and sessions
-- count CPU time at their end.
SELECT
    m.system, m.source, m.interval_end, m.seconds, m.flag, own.is_threaded OR coalesce(guests.is_divided, false) AS is_divided,
    m.system IN (SELECT system FROM _ledger_guest) AS has_guests,
    m.user_pct / 100 * m.online * m.seconds * own.core_s_per_busy_s - coalesce(guests.used_s, 0) AS used_s
FROM load AS m
JOIN _ledger_system AS own USING (system, source, interval_end)
LEFT JOIN (
    SELECT system, source, interval_end, sum(used_s ORDER BY used_s) AS used_s, bool_or(is_divided) AS is_divided
    FROM _ledger_guest
    GROUP BY system, source, interval_end
) AS guests
    ON guests.system = m.system AND guests.source = m.source AND guests.interval_end = m.interval_end
WHERE m.user_pct IS NOT NULL AND m.system NOT IN (SELECT system FROM _ledger_guest WHERE basis = 'sample')
