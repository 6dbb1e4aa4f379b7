-- _guest_transaction: transactions of a guest that ended in an interval, on all its virtual CPUs.
SELECT
    e.system, e.source, i.interval_end, e.userid,
    count(*) AS ended, count(*) / any_value(i.seconds) AS rate
FROM role.guest_end AS e
JOIN _interval AS within
    ON within.system = e.system AND within.source = e.source AND within.interval_end = e.recorded_in
JOIN interval AS i
    ON i.system = e.system AND i.source = e.source AND i.interval_end = within.bucket_end
WHERE e.kind = 'transaction'
GROUP BY e.system, e.source, i.interval_end, e.userid
