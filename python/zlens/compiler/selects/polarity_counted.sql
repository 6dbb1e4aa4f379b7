-- _polarity_counted: counts on all processors of one type that had one polarity throughout the interval, or
-- whose polarity no record states. A sum with an unknown part is unknown.
SELECT
    system, source, interval_end, cpu_type, polarity, max(whole) AS seconds, max(flag) AS flag,
    count(*) AS processors,
    CASE WHEN count(parked_pct) = count(*) THEN avg(parked_pct) END AS parked_pct,
    max(generation) AS generation, max(generation_by) AS generation_by,
    avg(cpsp) AS cpsp{counter_sums}
FROM _counters_with_online_share AS counted
GROUP BY system, source, interval_end, cpu_type, polarity
