-- _msu_missing_class: service classes without records (SMF 72-3) although their system records others. Their names are in
-- records of jobs (SMF 30), whose MSU are known, and of the policy (SMF 99-6); $ begins names of internal ones.
WITH reported AS (SELECT DISTINCT system, class FROM workload WHERE class_kind = 'service'),
named AS (
    SELECT
        job.system, job.service_class AS class, 'SMF 30' AS seen_in,
        CASE WHEN count(job.used_s) = count(*)
            THEN sum(job.used_s * own.msu_of_cpu / 3600 ORDER BY job.used_s) END AS msu_hours
    FROM _ledger_job AS job
    JOIN (SELECT system, avg(msu_of_cpu) AS msu_of_cpu FROM _msu_partition WHERE is_own GROUP BY system) AS own USING (system)
    WHERE job.cpu_type = 'CP' AND job.service_class IS NOT NULL
    GROUP BY job.system, job.service_class
    UNION ALL
    SELECT DISTINCT system, class, 'SMF 99-6', NULL FROM policy_interval WHERE class NOT LIKE '$%'
)
SELECT place.partition, named.system, named.class, named.seen_in, named.msu_hours
FROM named
ANTI JOIN reported USING (system, class)
JOIN (SELECT DISTINCT system, lpar AS partition FROM system) AS place ON place.system = named.system
WHERE named.system IN (SELECT system FROM reported)
