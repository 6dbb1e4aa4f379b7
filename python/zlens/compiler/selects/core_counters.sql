-- materialized
-- _core_counters: counts on one core. The hypervisor's own times of a core take precedence; without them, the
-- counters of the core come from the first thread that has them, and the counters of its threads are added.
-- Times replace counters: c448 with one thread running, c449 with two, of those available.
WITH core_times AS (
    SELECT
        system, source, interval_end, seconds, flag, core_id, cpu_type, polarity, share_pct, vertical_weight, parked_time,
        CAST(threads AS BIGINT) AS threads, sampled_time, busy_time, thread_time, productivity, utilized_time, mt_utilization,
        type_capacity_factor, type_max_capacity_factor, type_thread_density,
        nullif(concat_ws('/', nest_4, nest_3, nest_2, nest_1), '') AS nesting
    FROM role.core
    WHERE core_id IS NOT NULL AND sampled_time IS NOT NULL
),
counted AS (
    SELECT
        system, source, interval_end, max(seconds) AS seconds, max(flag) AS flag, core_id,
        arg_min(cpu_type, cpu_id) AS cpu_type,
        arg_min(generation, cpu_id) AS generation,
        arg_min(available, cpu_id) FILTER (WHERE c448 IS NOT NULL) AS available,
        arg_min(c448, cpu_id) AS c448,
        arg_min(c449, cpu_id) AS c449,
        CASE WHEN count(c202) = count(*) THEN sum(c202) END AS c202,
        CASE WHEN count(c203) = count(*) THEN sum(c203) END AS c203,
        CASE WHEN count(c204) = count(*) THEN sum(c204) END AS c204,
        CASE WHEN count(c205) = count(*) THEN sum(c205) END AS c205
    FROM _valid_counters
    WHERE core_id IS NOT NULL
    GROUP BY system, source, interval_end, core_id
)
-- z/OS reports no thread times: counters of the same core and interval complement its times.
SELECT
    core_times.* EXCLUDE (thread_time),
    CASE WHEN core_times.thread_time IS NULL THEN counted.generation END AS generation,
    CASE WHEN core_times.thread_time IS NULL THEN counted.available ELSE nullif(core_times.sampled_time, 0) END AS available,
    coalesce(2 * core_times.busy_time - core_times.thread_time, counted.c448) AS c448,
    coalesce(core_times.thread_time - core_times.busy_time, counted.c449) AS c449,
    CASE WHEN core_times.thread_time IS NULL THEN counted.c202 END AS c202,
    CASE WHEN core_times.thread_time IS NULL THEN counted.c203 END AS c203,
    CASE WHEN core_times.thread_time IS NULL THEN counted.c204 END AS c204,
    CASE WHEN core_times.thread_time IS NULL THEN counted.c205 END AS c205
FROM core_times
LEFT JOIN counted USING (system, source, interval_end, core_id)
UNION ALL BY NAME
SELECT *
FROM counted
ANTI JOIN core_times USING (system, source, interval_end, core_id)
UNION ALL BY NAME
-- An operator's display is a snapshot of cores, without times.
SELECT system, source, interval_end, seconds, flag, core_id, cpu_type, polarity, threads, state, parked
FROM role.core_status
