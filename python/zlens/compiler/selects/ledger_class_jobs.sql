-- _ledger_class_jobs: CPU time of a service class, and of the jobs in it, each at its own time: records of jobs
-- end when they do.
SELECT
    system, source, interval_end, max(seconds) AS seconds, any_value(flag) AS flag, class,
    CASE WHEN count(class_s) = count(*) THEN sum(class_s ORDER BY class_s) END AS class_s,
    CASE WHEN count(job_s) = count(*) THEN sum(job_s ORDER BY job_s) END AS job_s
FROM (
    SELECT system, source, interval_end, seconds, flag, class, used_s AS class_s, 0.0 AS job_s FROM _ledger_class
    UNION ALL
    SELECT system, source, interval_end, seconds, flag, service_class, 0.0, used_s
    FROM _ledger_job
    WHERE service_class IN (SELECT class FROM _ledger_class)
)
WHERE system IN (SELECT system FROM _ledger_job)
GROUP BY system, source, interval_end, class
