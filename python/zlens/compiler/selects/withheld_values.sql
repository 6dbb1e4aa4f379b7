-- _withheld_values: rows of `problem` about machines that have fewer processors than their partitions used.
SELECT
    system, source, 'impossible' AS kind,
    'partitions had more than the machine in ' || count(*) || ' rows of cec, whose parts of it are left out; the first: '
    || arg_min(cpu_type, (interval_end, cpu_type)) || ', ' || strftime(min(interval_end), '%Y-%m-%d %H:%M:%S') || ' UTC: '
    || format('{:.6g}', arg_min(physical, (interval_end, cpu_type))) || ' processors, '
    || format('{:.6g}', arg_min(dispatch_time / seconds, (interval_end, cpu_type))) || ' used, '
    || format('{:.6g}', arg_min(dedicated, (interval_end, cpu_type))) || ' dedicated' AS detail
FROM _pool
WHERE too_long OR too_many
GROUP BY system, source
