-- workload_state: one row per interval and period of a service class, or report class, with the states of its samples.
SELECT {columns}
FROM role.class_period AS class_period
