-- materialized
-- _ledger_job: CPU time of jobs by processor type, once: of the records of intervals, where a job has them, else of
-- its end, else of its steps.
WITH used AS (
    SELECT
        system, source, interval_end, seconds, flag, job, job_id, account, service_class, t.cpu_type, t.used_s,
        CASE WHEN kind IN ('interval', 'last interval', 'system interval') THEN 1 WHEN kind = 'job' THEN 2 WHEN kind = 'step' THEN 3 END AS rank
    FROM job, (VALUES ('CP', cp_s), ('ZIIP', ziip_s)) AS t(cpu_type, used_s)
    WHERE t.cpu_type = 'CP' OR t.used_s > 0
),
best AS (
    SELECT system, source, job, job_id, min(rank) AS rank
    FROM used
    GROUP BY system, source, job, job_id
)
SELECT
    used.system, used.source, used.interval_end, used.seconds, used.flag,
    used.job, used.job_id, used.account, used.service_class, used.cpu_type, used.used_s
FROM used
JOIN best
    ON best.system = used.system AND best.source = used.source AND best.job = used.job
    AND best.job_id IS NOT DISTINCT FROM used.job_id AND best.rank = used.rank
