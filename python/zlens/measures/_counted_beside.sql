-- _counted_beside: counters of a system for each interval of its load: of the same source, else of another one whose
-- interval is the same within a tenth.
SELECT
    load.system, load.source, load.interval_end,
    CASE WHEN own.seconds IS NULL THEN other.seconds ELSE own.seconds END AS seconds,
    CASE WHEN own.seconds IS NULL THEN other.instructions ELSE own.instructions END AS instructions,
    CASE WHEN own.seconds IS NULL THEN other.cycles ELSE own.cycles END AS cycles,
    CASE WHEN own.seconds IS NULL THEN other.finite_cycles ELSE own.finite_cycles END AS finite_cycles,
    CASE WHEN own.seconds IS NULL THEN other.ghz ELSE own.ghz END AS ghz
FROM (SELECT *, interval_end - to_microseconds(CAST(seconds * 5e5 AS BIGINT)) AS middle FROM load) AS load
LEFT JOIN _counted_work AS own USING (system, source, interval_end)
ASOF LEFT JOIN (SELECT system AS of_system, interval_end AS ended, * FROM _counted_work) AS found
    ON found.of_system = load.system AND load.middle <= found.ended
LEFT JOIN _counted_work AS other
    ON other.system = found.of_system
    AND other.source = found.source
    AND other.interval_end = found.ended
    AND abs(epoch(other.interval_end - load.interval_end)) <= 0.1 * load.seconds
    AND abs(other.seconds - load.seconds) <= 0.1 * load.seconds
