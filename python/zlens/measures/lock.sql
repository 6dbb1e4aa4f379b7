-- lock: one row per interval, lock and mode.
SELECT {columns}
FROM _lock_mode AS lock_mode
