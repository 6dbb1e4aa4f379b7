-- _moved_systems: systems whose records name several machines or partitions, in the order of their appearance.
SELECT
    system, source, 'changed' AS kind,
    'records of this system name ' || count(*) || ' ' || what || ': '
    || string_agg(name || ' from ' || strftime(first_end, '%Y-%m-%d %H:%M') || ' UTC', ', ' ORDER BY first_end)
    || '; it moved, or several systems have this name: --from and --to take them apart' AS detail
FROM (
    SELECT system, source, 'partitions' AS what, name, min(interval_end) AS first_end
    FROM role.own_partition
    WHERE name IS NOT NULL
    GROUP BY system, source, name
    UNION ALL
    SELECT system, source, 'machines' AS what, serial AS name, min(interval_end) AS first_end
    FROM role.counter
    WHERE serial IS NOT NULL
    GROUP BY system, source, serial
)
GROUP BY system, source, what
HAVING count(*) > 1
