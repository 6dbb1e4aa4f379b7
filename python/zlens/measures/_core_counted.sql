-- _core_counted: what was counted on one core. The counters of the whole core are read from one thread, the first that
-- has them; what its threads counted for themselves is added.
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
FROM _counted
WHERE core_id IS NOT NULL
GROUP BY system, source, interval_end, core_id
