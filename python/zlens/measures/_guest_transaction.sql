-- _guest_transaction: transactions of a guest that ended in an interval, in all its virtual processors.
SELECT
    e.system, e.source, i.interval_end, e.userid, count(*) / any_value(i.seconds) AS rate
FROM role.guest_end AS e
ASOF JOIN interval AS i
    ON i.system = e.system AND i.source = e.source AND i.interval_end >= e.tod
WHERE e.kind = 'transaction' AND e.tod > i.interval_start
GROUP BY e.system, e.source, i.interval_end, e.userid
