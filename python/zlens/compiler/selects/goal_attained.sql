-- _goal_attained: transactions of a period compared with its response time goal.
SELECT
    system, source, interval_end, class, report_class, period,
    max(total) AS total,
    sum(ended) FILTER (WHERE bound <= 100) AS within,
    min(index) FILTER (WHERE reached * 100 >= goal_percent * total) AS index
FROM _response_bucket
WHERE goal_kind IN ('percentile', 'average') AND total > 0
GROUP BY ALL
