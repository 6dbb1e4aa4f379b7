-- _doubt: what `problem` has to say of the counters: systems that are withheld, and machines that nobody knows.
SELECT
    system, source, 'section' AS kind,
    'CPU MF of this system is not shown: ' || text || ' (processor ' || coalesce(CAST(cpu_id AS VARCHAR), '?')
    || ', ' || strftime(first_end, '%Y-%m-%d %H:%M:%S') || ' UTC: ' || format('{:.0f}', found) || ' against '
    || format('{:.0f}', allowed) || '; ' || times || ' times in all)' AS detail
FROM _breach
UNION ALL
SELECT
    system, source, 'no_layout' AS kind,
    'counters of ' || count(*) || ' samples: ' || generation_by AS detail
FROM _counted
WHERE generation IS NULL
GROUP BY system, source, generation_by
