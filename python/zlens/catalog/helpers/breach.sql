-- _breach: systems whose counters contradict each other (facts/machines/common/balances.toml), and the first time they do.
SELECT
    system, source, breach.balance AS balance, any_value(breach.text) AS text,
    count(*) AS times, min(interval_end) AS first_end,
    arg_min(cpu_id, (interval_end, cpu_id)) AS cpu_id,
    arg_min(breach.found, (interval_end, cpu_id)) AS found,
    arg_min(breach.allowed, (interval_end, cpu_id)) AS allowed
FROM (
    SELECT counter.system, counter.source, counter.interval_end, counter.cpu_id, unnest({breaches}) AS breach
    FROM (SELECT counter.*, {generation} AS generation FROM _counter AS counter) AS counter
)
WHERE breach IS NOT NULL
GROUP BY system, source, breach.balance
