-- materialized
-- _pool: processors of one type of the machine, with their use by its partitions. If a source may not report
-- all partitions, no sums over them are computed. Sums add values in order of size, so that the last digit
-- does not depend on the order of the rows.
WITH used AS (
    SELECT
        system, source, interval_end, any_value(seconds) AS seconds, any_value(flag) AS flag, cpu_type,
        CASE WHEN count(effective_time) = count(*) THEN sum(effective_time ORDER BY effective_time) END AS effective_time,
        CASE WHEN count(dispatch_time) = count(*) THEN sum(dispatch_time ORDER BY dispatch_time) END AS dispatch_time,
        CASE WHEN count(*) = count(weight) FILTER (WHERE NOT coalesce(dedicated, false)) + count(*) FILTER (WHERE dedicated)
            THEN sum(weight ORDER BY weight) FILTER (WHERE NOT coalesce(dedicated, false)) END AS total_weight,
        CASE WHEN count(logical_cpus) = count(*)
            THEN sum(logical_cpus) FILTER (WHERE NOT coalesce(dedicated, false)) END AS logical_cpus,
        CASE WHEN count(*) FILTER (WHERE dedicated) = count(logical_cpus) FILTER (WHERE dedicated)
            THEN coalesce(sum(logical_cpus) FILTER (WHERE dedicated), 0) END AS dedicated
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
),
pool AS (
    SELECT
        used.*, physical.physical, physical.usage, management.management_time, management.told AS management_told,
        pool_usage.effective AS usage_effective, pool_usage.management AS usage_management,
        pool_usage.physical AS usage_physical, pool_usage.total AS usage_total,
        -- As for the bounds of roles, an excess of a fiftieth is allowed.
        coalesce(used.dedicated > 1.02 * physical.physical, false) AS too_many,
        coalesce(
            used.dispatch_time + coalesce(management.management_time, 0)
            > 1.02 * physical.physical * used.seconds + 0.05,
            false
        ) AS too_long
    FROM used
    LEFT JOIN role.physical AS physical USING (system, source, interval_end, cpu_type)
    LEFT JOIN (SELECT *, true AS told FROM role.management) AS management USING (system, source, interval_end, cpu_type)
    LEFT JOIN role.pool_usage AS pool_usage USING (system, source, interval_end, cpu_type)
)
-- Partitions cannot have more than the machine: in that case no value is a part of its processors (`whole`).
SELECT
    *, CASE WHEN NOT too_long THEN physical END AS whole,
    CASE WHEN physical >= dedicated THEN physical - dedicated WHEN physical < dedicated AND NOT too_many THEN 0 END AS shared
FROM pool
