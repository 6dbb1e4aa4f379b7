-- _placed: where the processors of a system were, as another record of the same system tells it, with its times.
SELECT
    processor.system, processor.cpu_id, processor.interval_end,
    processor.interval_end - to_seconds(processor.seconds) AS interval_start,
    processor.polarity, 100 * processor.parked_time / nullif(processor.seconds, 0) AS parked_pct
FROM role.processor AS processor
JOIN system AS host USING (system, source)
WHERE NOT coalesce(host.local_time, false) AND processor.seconds IS NOT NULL
