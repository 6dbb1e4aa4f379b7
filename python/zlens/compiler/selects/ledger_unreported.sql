-- _ledger_unreported: what a partition used while no system in it reported, if anything.
SELECT *
FROM (
    SELECT
        m.system, m.source, m.interval_end, any_value(m.seconds) AS seconds, any_value(m.flag) AS flag,
        m.machine, m.partition,
        any_value(m.effective_s) * (1 - coalesce(sum(CASE WHEN own.system IS NOT NULL THEN m.part END), 0)) AS unreported_s
    FROM _ledger_overlap AS m
    LEFT JOIN _ledger_system AS own
        ON own.system = m.own_system AND own.source = m.own_source AND own.interval_end = m.own_end
    WHERE m.machine IS NOT NULL
    GROUP BY m.system, m.source, m.interval_end, m.machine, m.partition
)
WHERE unreported_s > 0 OR unreported_s IS NULL
