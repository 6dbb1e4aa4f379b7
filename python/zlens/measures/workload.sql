-- workload: one row per interval and period of a service class, or report class.
SELECT {columns}
FROM role.class_period AS class_period
LEFT JOIN _goal_attained AS goal_attained USING (system, source, interval_end, class, report_class, period)
