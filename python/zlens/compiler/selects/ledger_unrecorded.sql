-- _ledger_unrecorded: busy time of systems in intervals without records of what used it: of service classes, or time
-- that CP charged to users.
SELECT m.*
FROM _ledger_system AS m
ANTI JOIN (
    SELECT system, source, interval_end FROM _ledger_class
    UNION ALL
    SELECT system, source, interval_end FROM load WHERE user_pct IS NOT NULL
) AS recorded USING (system, source, interval_end)
