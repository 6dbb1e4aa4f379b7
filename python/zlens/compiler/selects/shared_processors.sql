-- _shared_processors: processors of each type that are online and not dedicated, in processors.
SELECT
    system, source, interval_end, cpu_type,
    sum(online_pct / 100) FILTER (WHERE NOT coalesce(dedicated, false)) AS online
FROM cpu
GROUP BY system, source, interval_end, cpu_type
