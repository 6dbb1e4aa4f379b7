-- materialized
-- _ledger_class: CPU time of service classes by processor type, from APPL %, as the capture ratio uses it.
SELECT
    system, source, interval_end, seconds, flag, class, t.cpu_type,
    CASE WHEN t.cpu_type = 'CP' THEN ended END AS ended,
    CASE WHEN cpu_s IS NOT NULL THEN t.appl_pct / 100 * seconds END AS used_s
FROM workload,
    (VALUES ('CP', appl_cp_pct), ('ZIIP', appl_ziip_pct), ('ZAAP', appl_zaap_pct)) AS t(cpu_type, appl_pct)
WHERE class_kind = 'service' AND cpu_s IS NOT NULL AND (t.cpu_type = 'CP' OR t.appl_pct <> 0)
