-- core: one row per interval and core whose multithreading was counted or timed, with the place it was last told to be at;
-- and one per core of a display of z/OS.
SELECT {columns}
FROM _core_counted AS core_counted
ASOF LEFT JOIN _core_placed AS core_placed
    ON core_placed.system = core_counted.system
    AND core_placed.source = core_counted.source
    AND core_placed.core_id = core_counted.core_id
    AND core_placed.tod <= core_counted.interval_end
LEFT JOIN _share AS share
    ON share.system = core_counted.system
    AND share.source = core_counted.source
    AND share.interval_end = core_counted.interval_end
    AND share.cpu_type = core_counted.cpu_type
WHERE core_counted.c448 IS NOT NULL OR core_counted.busy_time IS NOT NULL OR core_counted.state IS NOT NULL
