-- cache: one row per interval and disk that its control unit told of.
SELECT {columns}
FROM role.cache AS cache
LEFT JOIN role.device AS device USING (system, source, interval_end, subchannel)
