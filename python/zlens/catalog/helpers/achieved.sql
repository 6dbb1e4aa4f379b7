-- _achieved: what all workloads of a system achieved in an interval. A rate with an unknown part is unknown.
SELECT
    system, source, interval_end,
    CASE WHEN count(rate) = count(*) THEN sum(rate) END AS rate,
    min(covered_time) AS covered_time,
    CASE WHEN count(response_time) = count(*) THEN sum(response_time) END AS response_time,
    sum(answered) AS answered
FROM (
    SELECT *, transactions / nullif(covered_time, 0) AS rate FROM role.throughput
)
GROUP BY system, source, interval_end
