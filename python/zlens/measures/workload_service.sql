-- workload_service: one row per interval and period of a service class, or report class: service, promotion, disks.
SELECT {columns}
FROM role.class_period AS class_period
