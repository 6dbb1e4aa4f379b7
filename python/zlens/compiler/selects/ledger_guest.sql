-- materialized
-- _ledger_guest: CPU time of guests of z/VM in time of cores: as counted, or with multithreading prorated time, and if
-- that is not known, their share of the cores by time of threads. Of a guest without samples and ends of transactions,
-- it is what Linux on it counts as busy, times what CP charges to all users for each second of their own instructions;
-- all of these together have at most what the measured guests leave of the time that CP charged to users.
WITH counted AS (
    SELECT
        system, source, interval_end, seconds, flag, userid, basis, cpu_s, virtual_s, mt1_s, prorated_s,
        CASE
            WHEN system IN (SELECT system FROM role.guest_end WHERE kind = 'transaction')
                THEN coalesce(transaction_rate, 0)
        END AS transaction_rate
    FROM guest
    WHERE cpu_s IS NOT NULL
    UNION ALL
    SELECT
        linux.system, linux.source, linux.interval_end, load.seconds, load.flag, linux.userid, 'linux',
        linux.busy_s * load.user_pct / load.guest_pct, linux.busy_s, NULL, NULL, NULL
    FROM _linux_guest_busy AS linux
    JOIN load USING (system, source, interval_end)
    WHERE linux.busy_s IS NOT NULL AND load.user_pct >= load.guest_pct AND load.guest_pct > 0
        AND linux.system NOT IN (SELECT system FROM guest WHERE basis = 'sample' AND cpu_s IS NOT NULL)
        -- The measure guest has groups of the user in place of their members.
        AND (linux.system, linux.userid) NOT IN (SELECT (system, userid) FROM role.guest_end)
),
used AS (
    SELECT
        m.system, m.source, m.interval_end, m.seconds, m.flag, m.userid, m.basis,
        m.cpu_s, m.virtual_s, m.mt1_s, m.prorated_s, m.transaction_rate * own.seconds AS transactions,
        m.basis = 'linux' OR own.is_threaded AND m.prorated_s IS NULL AS is_divided,
        CASE WHEN NOT own.is_threaded THEN m.cpu_s ELSE coalesce(m.prorated_s, m.cpu_s * own.core_s_per_busy_s) END AS used_s
    FROM counted AS m
    JOIN _ledger_system AS own USING (system, source, interval_end)
),
left_over AS (
    SELECT
        used.system, used.source, used.interval_end,
        greatest(
            any_value(load.user_pct / 100 * load.online * load.seconds * own.core_s_per_busy_s)
            - sum(CASE WHEN used.basis <> 'linux' THEN used.used_s ELSE 0 END ORDER BY used.used_s),
            0
        ) / sum(CASE WHEN used.basis = 'linux' THEN used.used_s END ORDER BY used.used_s) AS ratio
    FROM used
    JOIN load USING (system, source, interval_end)
    JOIN _ledger_system AS own USING (system, source, interval_end)
    GROUP BY used.system, used.source, used.interval_end
    HAVING sum(CASE WHEN used.basis = 'linux' THEN used.used_s END) > 0
)
SELECT
    used.* REPLACE (
        used_s * share AS used_s, CASE WHEN basis = 'linux' THEN cpu_s * share ELSE cpu_s END AS cpu_s,
        CASE WHEN basis = 'linux' THEN least(virtual_s, cpu_s * share) ELSE virtual_s END AS virtual_s
    ),
    basis = 'linux' AND virtual_s > cpu_s * share AS is_limited
FROM (
    SELECT used.*, CASE WHEN basis = 'linux' AND ratio < 1 THEN ratio ELSE 1 END AS share
    FROM used
    LEFT JOIN left_over USING (system, source, interval_end)
) AS used
