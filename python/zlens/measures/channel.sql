-- channel: one row per interval and channel path. What is counted is told by its measurement group.
SELECT {columns}
FROM role.channel AS channel
LEFT JOIN role.channel_capacity AS channel_capacity USING (system, source, interval_end, chpid)
