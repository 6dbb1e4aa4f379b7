-- materialized
-- _system_throughput: throughput of all workloads of a system in an interval of its load, or (of_load = false) of its
-- source, which differ if counters have intervals of their own. A rate with an unknown part is unknown.
SELECT
    system, source, interval_end, of_load,
    CASE WHEN count(rate) = count(*) THEN sum(rate) END AS rate,
    min(covered_time) AS covered_time,
    CASE WHEN count(response_time) = count(*) THEN sum(response_time) END AS response_time,
    sum(answered) AS answered
FROM (
    SELECT *, transactions / nullif(covered_time, 0) AS rate
    FROM (
        SELECT system, source, interval_end, transactions, covered_time, response_time, answered, true AS of_load
        FROM role.throughput_of_load
        UNION ALL
        SELECT system, source, interval_end, transactions, covered_time, response_time, answered, false AS of_load
        FROM role.throughput
    )
)
GROUP BY system, source, interval_end, of_load
