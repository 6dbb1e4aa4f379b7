-- _impossible: the rows of `problem` about values that cannot be, which roles withhold.
SELECT
    system, source, 'impossible' AS kind,
    count(*) || ' samples of processors have impossible values, which are left out; the first: processor '
    || coalesce(CAST(arg_min(cpu_id, (interval_end, cpu_id)) AS VARCHAR), '?') || ', '
    || strftime(min(interval_end), '%Y-%m-%d %H:%M:%S') || ' UTC: '
    || arg_min(impossible, (interval_end, cpu_id)) AS detail
FROM role.processor
WHERE impossible IS NOT NULL
GROUP BY system, source
UNION ALL
SELECT
    system, source, 'impossible' AS kind,
    count(*) || ' samples of partitions have impossible values, which are left out; the first: '
    || coalesce(arg_min(name, (interval_end, name)), '?') || ', '
    || strftime(min(interval_end), '%Y-%m-%d %H:%M:%S') || ' UTC: '
    || arg_min(impossible, (interval_end, name)) AS detail
FROM role.partition
WHERE impossible IS NOT NULL
GROUP BY system, source
