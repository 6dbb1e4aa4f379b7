-- _job: jobs, steps and intervals from SMF 30, each at its end. Jobs and steps belong to no interval of the
-- system; if the user selects a window, those that ended in it are shown. Dumps may overlap: rows that are
-- equal in all columns, including the address space and the time of writing, are one.
SELECT DISTINCT
    job.system, job.source, coalesce(job.ended, job.tod) AS interval_end,
    job.elapsed_time AS seconds,
    CAST(NULL AS VARCHAR) AS flag,
    job.* EXCLUDE (system, source, ended, elapsed_time, most_cpus)
FROM role.job AS job
LEFT JOIN _requested AS requested ON requested.system = job.system AND requested.source = job.source
WHERE requested.first IS NULL
    OR coalesce(job.ended, job.tod) > requested.first AND coalesce(job.ended, job.tod) <= requested.last
