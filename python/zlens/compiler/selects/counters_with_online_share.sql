-- materialized
-- _counters_with_online_share: counters with the interval length of their type, and the part of it that a processor was
-- online: a processor that was offline for a while may report a longer time than the others, and only its
-- part counts.
SELECT counted.*, length.whole, least(1, length.whole / nullif(counted.seconds, 0)) AS part
FROM _valid_counters AS counted
JOIN (
    SELECT
        system, source, interval_end, cpu_type,
        coalesce(max(c.seconds) FILTER (WHERE c.seconds <= {gap_factor} * i.seconds), max(c.seconds)) AS whole
    FROM _valid_counters AS c
    LEFT JOIN interval AS i USING (system, source, interval_end)
    GROUP BY system, source, interval_end, cpu_type
) AS length
    ON length.system = counted.system
    AND length.source = counted.source
    AND length.interval_end = counted.interval_end
    AND length.cpu_type IS NOT DISTINCT FROM counted.cpu_type
