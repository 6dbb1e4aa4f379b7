-- core: one row per interval and core whose multithreading was counted.
SELECT {columns}
FROM _core_counted AS core_counted
WHERE core_counted.c448 IS NOT NULL
