-- _observer: which system speaks for a machine in an interval. Where several partitions of one machine
-- report it, the first by name that covers the interval does; a source with local times speaks for itself.
-- A source without partitions, such as counters, comes after those that have them.
-- Records about partitions may have intervals of their own, as RMF's do next to counters.
WITH own AS (
    SELECT DISTINCT
        system, source, interval_end,
        interval_end - to_microseconds(CAST(round(seconds * 1e6) AS BIGINT)) AS interval_start
    FROM role.partition
    WHERE interval_end IS NOT NULL AND seconds IS NOT NULL
),
told AS (
    SELECT system, source, interval_end, interval_start FROM interval
    UNION ALL
    SELECT * FROM own ANTI JOIN interval USING (system, source, interval_end)
),
seen AS (
    SELECT
        i.system, i.source, i.interval_end, i.interval_start,
        s.machine, s.local_time,
        (i.system, i.source) NOT IN (SELECT (system, source) FROM role.partition) AS mute,
        row_number() OVER (PARTITION BY s.machine, i.interval_end ORDER BY i.system, i.source) AS place
    FROM told AS i
    JOIN system AS s USING (system, source)
)
SELECT a.system, a.source, a.interval_end, a.machine
FROM seen AS a
WHERE a.machine IS NULL OR a.local_time OR NOT EXISTS (
    SELECT 1
    FROM seen AS b
    WHERE b.machine = a.machine
        AND NOT b.local_time
        AND (b.mute, b.system, b.source) < (a.mute, a.system, a.source)
        AND b.interval_start < a.interval_start + (a.interval_end - a.interval_start) / 2
        AND b.interval_end >= a.interval_start + (a.interval_end - a.interval_start) / 2
)
