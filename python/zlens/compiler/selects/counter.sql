-- materialized
-- _counter: counters of one processor, with facts about it from other records of the system: the machine type
-- if the record does not state it, the core of a thread, and the counters of the core, which every thread
-- reports and the first one provides. On z/OS a display may show core and type, which do not change.
SELECT counter.* REPLACE (
    coalesce(counter.machine_type, CASE WHEN counter.of_system THEN host.machine_type END) AS machine_type,
    coalesce(counter.core_id, core.core_id, displayed.core_id) AS core_id,
    coalesce(counter.cpu_type, displayed.cpu_type) AS cpu_type,
    coalesce(counter.mt_diag_counters, first_thread.mt_diag_counters) AS mt_diag_counters,
    coalesce(counter.c448, first_thread.c448) AS c448,
    coalesce(counter.c449, first_thread.c449) AS c449
)
FROM role.counter AS counter
LEFT JOIN system AS host USING (system, source)
LEFT JOIN role.core_counter AS core USING (system, source, interval_end, cpu_id)
LEFT JOIN (SELECT * FROM role.core_counter WHERE thread_id = 0) AS first_thread
    USING (system, source, interval_end, cpu_id)
LEFT JOIN (
    SELECT system, cpu_id, arg_max(core_id, tod) AS core_id, arg_max(cpu_type, tod) AS cpu_type
    FROM role.processor_status
    WHERE state = 'online'
    GROUP BY system, cpu_id
) AS displayed USING (system, cpu_id)
