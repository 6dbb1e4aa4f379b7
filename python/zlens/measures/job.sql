-- job: one row per record of a job, of a step or of an interval of an address space.
SELECT {columns}
FROM _job AS job
