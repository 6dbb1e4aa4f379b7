-- materialized
-- _contradicting_samples: samples of counters that contradict each other (facts/machines/common/balances.toml), one row
-- per contradiction.
SELECT
    system, source, interval_end, cpu_id, breach.balance AS balance, breach.text AS text, breach.found AS found,
    breach.allowed AS allowed
FROM (
    SELECT counter.system, counter.source, counter.interval_end, counter.cpu_id, unnest({breaches}) AS breach
    FROM (SELECT counter.*, {generation} AS generation FROM _counter AS counter) AS counter
)
WHERE breach IS NOT NULL
