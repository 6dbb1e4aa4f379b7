-- workload_response: one row per interval, class period and bucket of its response times.
SELECT {columns}
FROM _response_bucket AS response_bucket
