-- materialized
-- _ledger_overlap: intervals in which a partition is reported, each with one in which the system in it reports its
-- own use of processors, and what they have in common, as a share of the partition's interval and of the system's.
-- A share within a thousandth of nothing or all is that. If several systems report from a partition, the first is
-- used: z/VM before its guests. Without a system, or without the partition, the other side is NULL.
WITH reported AS (
    SELECT
        m.system, m.source, m.interval_end, max(m.seconds) AS seconds, any_value(m.flag) AS flag,
        place.machine, m.partition,
        CASE WHEN count(m.effective_s) = count(*) THEN sum(m.effective_s ORDER BY m.effective_s) END AS effective_s
    FROM partition AS m
    JOIN _ledger_place AS place USING (system, source)
    WHERE m.total_s IS NOT NULL
    GROUP BY m.system, m.source, m.interval_end, place.machine, m.partition
),
first AS (
    SELECT system, source
    FROM (
        SELECT
            system, source,
            row_number() OVER (
                PARTITION BY machine, coalesce(partition, system)
                ORDER BY source <> 'zvm-monitor', source <> 'smf', source, system
            ) AS place
        FROM (SELECT DISTINCT system, source FROM load)
        JOIN _ledger_place USING (system, source)
    )
    WHERE place = 1
),
own AS (
    SELECT load.system, load.source, load.interval_end, load.seconds, place.machine, place.partition
    FROM load
    JOIN first USING (system, source)
    JOIN _ledger_place AS place ON place.system = load.system AND place.source = load.source
),
pair AS (
    SELECT
        reported.system, reported.source, reported.interval_end, reported.seconds, reported.flag,
        reported.machine, reported.partition, reported.effective_s,
        own.system AS own_system, own.source AS own_source, own.interval_end AS own_end, own.seconds AS own_seconds,
        {common_s reported own} AS common_s
    FROM reported
    FULL JOIN own ON own.machine = reported.machine AND own.partition = reported.partition
        AND {overlaps reported own}
)
SELECT
    *,
    CASE WHEN common_s > 0.999 * seconds THEN 1 WHEN common_s > 0.001 * seconds THEN common_s / seconds ELSE 0 END AS part,
    CASE WHEN common_s > 0.999 * own_seconds THEN 1 WHEN common_s > 0.001 * own_seconds THEN common_s / own_seconds ELSE 0 END AS own_part
FROM pair
