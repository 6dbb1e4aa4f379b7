-- _unparked_processors: processors of a type that were online and not parked, on average.
SELECT
    system, source, interval_end, cpu_type,
    CASE WHEN count(online_pct) = count(*)
        THEN sum(online_pct * (100 - coalesce(parked_pct, 0))) / 10000
    END AS processors
FROM cpu
GROUP BY system, source, interval_end, cpu_type
