-- _captured: APPL % of all service classes by type of processor, and the processors of the type that were
-- dispatched on average. Classes that report no resources do not count.
WITH service AS (
    SELECT
        system, source, interval_end, seconds, flag, t.cpu_type,
        CASE WHEN count(cpu_s) = count(t.appl_pct) THEN sum(t.appl_pct) END AS appl_pct
    FROM workload,
         (VALUES ('CP', appl_cp_pct), ('ZIIP', appl_ziip_pct), ('ZAAP', appl_zaap_pct)) AS t(cpu_type, appl_pct)
    WHERE class_kind = 'service'
    GROUP BY ALL
),
dispatched AS (
    SELECT
        system, source, interval_end, cpu_type,
        CASE WHEN count(*) FILTER (WHERE online_pct > 0 AND busy_pct IS NULL) = 0
            THEN sum(busy_pct / 100 * online_pct / 100) END AS busy_processors
    FROM cpu
    GROUP BY ALL
)
SELECT service.*, dispatched.busy_processors
FROM service
JOIN dispatched USING (system, source, interval_end, cpu_type)
