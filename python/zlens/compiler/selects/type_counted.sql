-- _type_counted: counts on all processors of one type. A sum with an unknown part is unknown. If a row is not
-- of a single processor, the number of processors is unknown.
SELECT
    system, source, interval_end, counted.cpu_type AS cpu_type, any_value(whole) AS seconds, max(flag) AS flag,
    CASE WHEN count(cpu_id) = count(*) THEN count(*) END AS processors,
    max(generation) AS generation, max(generation_by) AS generation_by,
    avg(cpsp) AS cpsp{counter_sums}
FROM _counters_with_online_share AS counted
GROUP BY system, source, interval_end, counted.cpu_type
