-- _pool: the processors of one type of the machine, with what its partitions used of them. If a source may not report
-- all partitions, nothing is added up over them. Sums take values in order of size, so that the last digit does not
-- depend on the order of the rows.
WITH used AS (
    SELECT
        system, source, interval_end, any_value(seconds) AS seconds, any_value(flag) AS flag, cpu_type,
        CASE WHEN count(effective_time) = count(*) THEN sum(effective_time ORDER BY effective_time) END AS effective_time,
        CASE WHEN count(dispatch_time) = count(*) THEN sum(dispatch_time ORDER BY dispatch_time) END AS dispatch_time,
        sum(weight ORDER BY weight) FILTER (WHERE NOT coalesce(dedicated, false)) AS total_weight,
        sum(logical_cpus) FILTER (WHERE NOT coalesce(dedicated, false)) AS logical_cpus,
        coalesce(sum(logical_cpus) FILTER (WHERE dedicated), 0) AS dedicated
    FROM role.partition
    WHERE cpu_type IS NOT NULL AND NOT coalesce(incomplete, false) AND NOT coalesce(apart, false)
    GROUP BY system, source, interval_end, cpu_type
    UNION ALL
    SELECT
        system, source, interval_end, any_value(seconds), any_value(flag), cpu_type,
        NULL::DOUBLE, NULL::DOUBLE, NULL::DOUBLE, NULL::DOUBLE, NULL::DOUBLE
    FROM role.partition
    WHERE cpu_type IS NOT NULL AND incomplete AND NOT coalesce(apart, false)
    GROUP BY system, source, interval_end, cpu_type
    UNION ALL
    SELECT
        system, source, interval_end, seconds, flag, cpu_type,
        effective_time, dispatch_time, total_weight, logical_cpus, dedicated
    FROM role.pool_total
)
SELECT
    used.*, physical.physical, physical.usage, physical.physical - used.dedicated AS shared, management.management_time,
    pool_usage.effective AS usage_effective, pool_usage.management AS usage_management,
    pool_usage.physical AS usage_physical, pool_usage.total AS usage_total
FROM used
LEFT JOIN role.physical AS physical USING (system, source, interval_end, cpu_type)
LEFT JOIN role.management AS management USING (system, source, interval_end, cpu_type)
LEFT JOIN role.pool_usage AS pool_usage USING (system, source, interval_end, cpu_type)
