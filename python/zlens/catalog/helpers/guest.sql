-- _guest: what virtual processors used: between samples, and after the last one for users that logged off.
-- For a virtual processor that appeared in the interval, that is everything since its logon.
SELECT
    g.* REPLACE (
        CASE WHEN g.cpu_time IS NULL AND fresh THEN epoch(g.moment - g.logon) ELSE g.seconds END AS seconds,
        coalesce(g.cpu_time, CASE WHEN fresh THEN g.cpu_time_total END) AS cpu_time,
        coalesce(g.cpu_time_mt1, CASE WHEN fresh THEN g.cpu_time_mt1_total END) AS cpu_time_mt1,
        coalesce(g.cpu_time_prorated, CASE WHEN fresh THEN g.cpu_time_prorated_total END) AS cpu_time_prorated,
        coalesce(g.virtual_time, CASE WHEN fresh THEN g.virtual_time_total END) AS virtual_time,
        coalesce(g.virtual_time_mt1, CASE WHEN fresh THEN g.virtual_time_mt1_total END) AS virtual_time_mt1,
        coalesce(g.virtual_time_prorated, CASE WHEN fresh THEN g.virtual_time_prorated_total END)
            AS virtual_time_prorated
    )
FROM (
    SELECT *, logon > interval_end - to_seconds(seconds) AS fresh
    FROM role.guest
) AS g
UNION ALL BY NAME
SELECT * FROM _guest_end
