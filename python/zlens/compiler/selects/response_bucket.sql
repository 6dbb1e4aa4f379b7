-- materialized
-- _response_bucket: transactions that ended in each bucket of the distribution, and up to its end. The
-- buckets of a report class period with work from several service class periods are invalid: they were filled
-- around other goals.
SELECT
    period.system, period.source, period.interval_end, period.seconds, period.flag,
    period.class, period.report_class, period.period, period.goal_kind, period.goal_percent, period.midpoint,
    b.bucket, b.bound, b.ended,
    -- The performance index of a percentile reached in the bucket. RMF's is 5.5 in the last one, above 4.
    coalesce(b.bound / 100, 5.5) AS index,
    sum(b.ended) OVER (
        PARTITION BY period.system, period.source, period.interval_end, period.class, period.report_class, period.period
        ORDER BY b.bucket
    ) AS reached,
    sum(b.ended) OVER (
        PARTITION BY period.system, period.source, period.interval_end, period.class, period.report_class, period.period
    ) AS total
FROM role.class_period AS period, LATERAL (VALUES
    (1, period.bound1, period.bucket1),
    (2, period.bound2, period.bucket2),
    (3, period.bound3, period.bucket3),
    (4, period.bound4, period.bucket4),
    (5, period.bound5, period.bucket5),
    (6, period.bound6, period.bucket6),
    (7, period.bound7, period.bucket7),
    (8, period.bound8, period.bucket8),
    (9, period.bound9, period.bucket9),
    (10, period.bound10, period.bucket10),
    (11, period.bound11, period.bucket11),
    (12, period.bound12, period.bucket12),
    (13, period.bound13, period.bucket13),
    (14, NULL, period.bucket14)
) AS b(bucket, bound, ended)
WHERE b.ended IS NOT NULL AND period.heterogeneous IS NOT TRUE
