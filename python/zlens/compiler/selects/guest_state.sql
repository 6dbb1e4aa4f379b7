-- _guest_state: state samples of virtual CPUs, to join with the samples of their use. Grouping guarantees one
-- row for each, so that a query that does not need them can skip the join.
SELECT
    system, source, interval_end, userid, vcpu, basis,
    sum(samples) AS samples,
    sum(s_io) AS s_io, sum(s_console) AS s_console, sum(s_simulation) AS s_simulation, sum(s_page) AS s_page,
    sum(s_limit) AS s_limit, sum(s_cpu) AS s_cpu, sum(s_running) AS s_running,
    sum(s_eligible_server) AS s_eligible_server, sum(s_loading) AS s_loading, sum(s_dormant) AS s_dormant,
    sum(s_dormant_server) AS s_dormant_server, sum(s_io_active) AS s_io_active, sum(s_test_idle) AS s_test_idle,
    sum(s_test_idle_server) AS s_test_idle_server, sum(s_page_active) AS s_page_active, sum(s_other) AS s_other,
    sum(s_eligible) AS s_eligible
FROM role.guest_state
GROUP BY system, source, interval_end, userid, vcpu, basis
