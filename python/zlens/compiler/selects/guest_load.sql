-- _guest_load: activity of all guests of a system in an interval, from samples: records of ends do not cover
-- all guests. A sum with an unknown part is unknown.
SELECT
    system, source, interval_end,
    count(DISTINCT userid) FILTER (WHERE cpu_time > 0) AS active,
    CASE WHEN count(cpu_time) = count(*) THEN sum(cpu_time) END AS cpu_time,
    CASE WHEN count(all_ios) = count(cpu_time) THEN sum(all_ios) END AS virtual_ios
FROM (
    SELECT *, coalesce(virtual_ios, dasd_ios + unit_record_ios + console_ios + ctca_ios + other_ios) AS all_ios
    FROM _guest
)
-- Without a layout of D4R3 nothing is known of any guest: then no data need be read.
WHERE coalesce(sampled, true) AND (cpu_time_total IS NOT NULL OR cpu_time IS NOT NULL)
GROUP BY system, source, interval_end
