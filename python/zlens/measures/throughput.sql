-- throughput: one row per interval and workload of the user's own file.
SELECT {columns}
FROM role.throughput AS throughput
