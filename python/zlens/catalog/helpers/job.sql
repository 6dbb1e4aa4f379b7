-- _job: what SMF 30 tells of jobs, steps and intervals, each when it ended. Jobs and steps end when they end, and belong to
-- no interval of the system; where the user asks for some time, those that ended in it are shown. Dumps may overlap: what
-- is the same in all, the address space and the time of writing too, is one.
SELECT DISTINCT
    job.system, job.source, coalesce(job.ended, job.tod) AS interval_end,
    epoch_us(coalesce(job.ended, job.tod)) / 1e6 - epoch_us(job.begun) / 1e6 AS seconds,
    CAST(NULL AS VARCHAR) AS flag,
    job.* EXCLUDE (system, source, ended)
FROM role.job AS job
LEFT JOIN _asked AS asked ON asked.system = job.system AND asked.source = job.source
WHERE asked.first IS NULL
    OR coalesce(job.ended, job.tod) > asked.first AND coalesce(job.ended, job.tod) <= asked.last
