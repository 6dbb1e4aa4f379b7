-- _core_type_counted: counts on all cores of one type. A sum with an unknown part is unknown.
WITH processors AS (
    SELECT
        system, source, interval_end, cpu_type, any_value(whole) AS seconds, max(flag) AS flag,
        max(generation) AS generation,
        -- A processor that was offline for a while may report a longer time than the others: only its part
        -- counts.
        CASE WHEN count(used) = count(*) THEN sum(used * least(1, whole / nullif(seconds, 0))) END AS used
    FROM (
        SELECT
            counted.*,
            coalesce(
                max(counted.seconds) FILTER (WHERE counted.seconds <= {gap_factor} * i.seconds)
                    OVER (PARTITION BY system, source, interval_end, cpu_type),
                max(counted.seconds) OVER (PARTITION BY system, source, interval_end, cpu_type)
            ) AS whole
        FROM _valid_counters AS counted
        LEFT JOIN interval AS i USING (system, source, interval_end)
    )
    GROUP BY system, source, interval_end, cpu_type
),
cores AS (
    SELECT
        system, source, interval_end, cpu_type, max(seconds) AS seconds, max(flag) AS flag,
        sum(coalesce(sampled_time, seconds)) AS sampled_s, max(threads) AS threads,
        CASE WHEN count(state) > 0 THEN count(*) FILTER (WHERE state = 'online') END AS online,
        -- The productivity of a type is the plain mean over the cores that have one, as in IBM's SMTMET
        -- report.
        avg(productivity) AS productivity,
        max(type_capacity_factor) AS capacity_factor, max(type_max_capacity_factor) AS max_capacity_factor,
        max(type_thread_density) AS thread_density,
        CASE WHEN count(share_pct) = count(*) THEN sum(share_pct) END AS share_pct,
        CASE WHEN count(busy_time) = count(*) THEN sum(busy_time) / nullif(sum(sampled_time), 0) END AS busy,
        -- Sum over the cores that have a productivity, as in RMF.
        sum(utilized_time) AS utilized_time, sum(sampled_time) FILTER (WHERE utilized_time IS NOT NULL) AS utilized_of,
        CASE WHEN count(c448) = count(*) THEN sum(available) END AS available,
        CASE WHEN count(c448) = count(*) THEN sum(c448) END AS c448,
        CASE WHEN count(c449) = count(*) THEN sum(c449) END AS c449,
        CASE WHEN count(c202) = count(*) THEN sum(c202) END AS c202,
        CASE WHEN count(c203) = count(*) THEN sum(c203) END AS c203,
        CASE WHEN count(c204) = count(*) THEN sum(c204) END AS c204,
        CASE WHEN count(c205) = count(*) THEN sum(c205) END AS c205
    FROM _core_counters
    WHERE cpu_type IS NOT NULL
    GROUP BY system, source, interval_end, cpu_type
),
-- Values of a type that its report has replace those that its cores do not have.
reported AS (
    SELECT
        system, source, interval_end, cpu_type, seconds, flag, threads, sampled_time, productivity, utilized_time,
        capacity_factor, max_capacity_factor, thread_density
    FROM role.core_type
)
SELECT
    system, source, interval_end, cpu_type, coalesce(processors.seconds, cores.seconds, reported.seconds) AS seconds,
    coalesce(processors.flag, cores.flag, reported.flag) AS flag, processors.generation, processors.used,
    coalesce(cores.sampled_s, reported.sampled_time) AS sampled_s,
    coalesce(cores.threads, reported.threads) AS threads,
    coalesce(cores.productivity, reported.productivity) AS productivity,
    coalesce(cores.capacity_factor, reported.capacity_factor) AS capacity_factor,
    coalesce(cores.max_capacity_factor, reported.max_capacity_factor) AS max_capacity_factor,
    coalesce(cores.thread_density, reported.thread_density) AS thread_density,
    coalesce(cores.utilized_time, reported.utilized_time) AS utilized_time,
    coalesce(cores.utilized_of, CASE WHEN reported.utilized_time IS NOT NULL THEN reported.sampled_time END) AS utilized_of,
    cores.* EXCLUDE (
        system, source, interval_end, cpu_type, seconds, flag, sampled_s, threads, productivity, capacity_factor,
        max_capacity_factor, thread_density, utilized_time, utilized_of
    )
FROM processors
FULL JOIN cores USING (system, source, interval_end, cpu_type)
FULL JOIN reported USING (system, source, interval_end, cpu_type)
