-- materialized
-- _ready_bucket: the distribution of ready work units, one row for each bucket, in RMF's words.
SELECT r.system, r.source, r.interval_end, r.seconds, r.flag, b.place, b.bucket, 100 * b.samples / r.samples AS pct
FROM role.ready_work AS r, LATERAL (VALUES
    (0, '<=N', r.bucket_0),
    (1, '=N+1', r.bucket_1),
    (2, '=N+2', r.bucket_2),
    (3, '=N+3', r.bucket_3),
    (4, '<=N+5', r.bucket_4),
    (5, '<=N+10', r.bucket_5),
    (6, '<=N+15', r.bucket_6),
    (7, '<=N+20', r.bucket_7),
    (8, '<=N+30', r.bucket_8),
    (9, '<=N+40', r.bucket_9),
    (10, '<=N+60', r.bucket_10),
    (11, '<=N+80', r.bucket_11),
    (12, '<=N+100', r.bucket_12),
    (13, '<=N+120', r.bucket_13),
    (14, '<=N+150', r.bucket_14),
    (15, '>N+150', r.bucket_15)
) AS b(place, bucket, samples)
WHERE b.samples IS NOT NULL AND r.samples > 0
