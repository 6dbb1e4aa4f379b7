-- materialized
-- _ledger_system: what the partition of a system used in each of the system's intervals, in time of cores, and the
-- busy time that the system itself counts, which of z/VM under multithreading is time of threads. Where the partition is
-- reported, intervals of the system that these reports do not cover are left out; where it is not, the system's own
-- time is the whole.
WITH own AS (
    SELECT
        own_system AS system, own_source AS source, own_end AS interval_end,
        count(machine) > 0 AS is_reported, any_value(machine) AS machine, any_value(partition) AS partition,
        sum(own_part) AS own_part,
        CASE WHEN count(effective_s) = count(*) THEN sum(effective_s * part ORDER BY effective_s * part) END AS used_s
    FROM _ledger_overlap
    WHERE own_system IS NOT NULL
    GROUP BY own_system, own_source, own_end
),
used AS (
    SELECT
        load.system, load.source, load.interval_end, load.seconds, load.flag,
        place.machine, place.partition, own.machine AS reported_machine, own.partition AS reported_partition,
        place.is_threaded AND own.is_reported AND load.user_pct IS NOT NULL AS is_threaded, load.busy_s, load.etr * load.seconds AS transactions,
        CASE WHEN own.is_reported THEN own.used_s ELSE load.busy_s END AS used_s
    FROM load
    JOIN _ledger_place AS place USING (system, source)
    JOIN own ON own.system = load.system AND own.source = load.source AND own.interval_end = load.interval_end
    WHERE own.own_part > 0.98
        OR NOT own.is_reported AND (place.machine, place.partition) NOT IN (
            SELECT (machine, partition) FROM _ledger_overlap WHERE machine IS NOT NULL
        )
)
SELECT *, CASE WHEN is_threaded THEN used_s / nullif(busy_s, 0) ELSE 1 END AS core_s_per_busy_s
FROM used
