-- materialized
-- _system_work: counters of all processors of a system, of all types. A sum is unknown if the counters of
-- one type are.
SELECT
    system, source, interval_end, max(seconds) AS seconds, max(flag) AS flag,
    CASE WHEN count(instructions) = count(*) THEN sum(instructions) END AS instructions,
    CASE WHEN count(cycles) = count(*) THEN sum(cycles) END AS cycles,
    CASE WHEN count(est_finite_cpi) = count(*) THEN sum(instructions * est_finite_cpi) END AS finite_cycles,
    CASE WHEN count(ghz) = count(*) THEN sum(cycles) / nullif(sum(cycles / nullif(ghz, 0)), 0) END AS ghz
FROM cpumf_type
GROUP BY system, source, interval_end
