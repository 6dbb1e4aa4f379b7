-- _pool: the processors of one type of the machine, with what its partitions used of them.
WITH used AS (
    SELECT
        system, source, interval_end, any_value(seconds) AS seconds, any_value(flag) AS flag, cpu_type,
        sum(effective_time) AS effective_time,
        sum(dispatch_time) AS dispatch_time,
        sum(weight) FILTER (WHERE NOT coalesce(dedicated, false)) AS total_weight,
        sum(logical_cpus) FILTER (WHERE NOT coalesce(dedicated, false)) AS logical_cpus,
        coalesce(sum(logical_cpus) FILTER (WHERE dedicated), 0) AS dedicated
    FROM role.partition
    WHERE cpu_type IS NOT NULL
    GROUP BY system, source, interval_end, cpu_type
)
SELECT used.*, physical.physical, physical.physical - used.dedicated AS shared, management.management_time
FROM used
LEFT JOIN role.physical AS physical USING (system, source, interval_end, cpu_type)
LEFT JOIN role.management AS management USING (system, source, interval_end, cpu_type)
