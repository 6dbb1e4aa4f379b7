-- materialized
-- _observer: the system that reports for a machine in an interval. If several partitions of one machine
-- report it, the first by name that covers the interval's middle is used, and of its sources the one that is
-- shown first; a source with local times reports for itself only. A source without partitions, such as
-- counters, comes after those that have them. Records about partitions may have intervals of their own, such
-- as RMF's with counters.
WITH own AS (
    SELECT DISTINCT
        system, source, interval_end,
        interval_end - to_microseconds(CAST(round(seconds * 1e6) AS BIGINT)) AS interval_start
    FROM role.partition
    WHERE interval_end IS NOT NULL AND seconds IS NOT NULL
),
intervals AS (
    SELECT system, source, interval_end, interval_start FROM interval
    UNION ALL
    SELECT * FROM own ANTI JOIN interval USING (system, source, interval_end)
),
-- A system may move to another machine.
located AS (
    SELECT
        i.system, i.source, i.interval_end, i.interval_start, i.middle,
        coalesce(m.machine, s.machine) AS machine,
        coalesce(m.machine, s.machine) IS NULL OR s.local_time AS alone
    FROM (SELECT *, interval_start + (interval_end - interval_start) / 2 AS middle FROM intervals) AS i
    JOIN system AS s ON s.system = i.system AND s.source = i.source
    ASOF LEFT JOIN _machines AS m ON m.system = i.system AND m.source = i.source AND m.since <= i.middle
),
reporter AS (
    SELECT
        system, source, machine,
        row_number() OVER (
            PARTITION BY machine
            ORDER BY (system, source) NOT IN (SELECT (system, source) FROM role.partition), system, _sources.place
        ) AS place
    FROM (SELECT DISTINCT system, source, machine FROM located)
    LEFT JOIN _sources USING (system, source)
),
seen AS (
    SELECT i.*, r.place
    FROM located AS i
    JOIN reporter AS r
        ON r.system = i.system AND r.source = i.source AND r.machine IS NOT DISTINCT FROM i.machine
),
-- Earliest start of a reporter's intervals that end at a time or later: one of them covers a time if this
-- start is before it. So a join in order of time suffices, without comparing pairs of intervals.
reach AS (
    SELECT
        machine, place, interval_end,
        min(interval_start) OVER (
            PARTITION BY machine, place ORDER BY interval_end DESC RANGE UNBOUNDED PRECEDING
        ) AS since
    FROM seen
    WHERE NOT alone
),
-- Usually the first reporter covers the intervals of all others.
uncovered AS (
    SELECT a.*
    FROM (SELECT * FROM seen WHERE NOT alone) AS a
    ASOF LEFT JOIN (SELECT * FROM reach WHERE place = 1) AS first
        ON first.machine = a.machine AND a.middle <= first.interval_end
    WHERE a.place = 1 OR coalesce(first.since >= a.middle, true)
),
pair AS (
    SELECT a.*, b.place AS before
    FROM uncovered AS a
    JOIN (SELECT DISTINCT machine, place FROM reach) AS b ON b.machine = a.machine AND b.place < a.place
),
covered AS (
    SELECT pair.system, pair.source, pair.interval_end, pair.interval_start
    FROM pair
    ASOF JOIN reach
        ON reach.machine = pair.machine AND reach.place = pair.before AND pair.middle <= reach.interval_end
    WHERE reach.since < pair.middle
)
SELECT system, source, interval_end, machine
FROM seen
WHERE alone
UNION ALL
SELECT system, source, interval_end, machine
FROM uncovered
ANTI JOIN covered USING (system, source, interval_end, interval_start)
