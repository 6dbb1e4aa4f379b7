-- core_type: one row per interval and type of core whose processors counted.
SELECT {columns}
FROM _core_type_counted AS core_type_counted
