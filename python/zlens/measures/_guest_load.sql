-- _guest_load: what all guests of a system did in an interval. A sum of which one part is not known is not known,
-- and where samples tell no times, guests that end something are not all of them.
SELECT
    system, source, interval_end,
    CASE WHEN bool_and(whole) THEN count(DISTINCT userid) FILTER (WHERE cpu_time > 0) END AS active,
    CASE WHEN bool_and(whole) AND count(cpu_time) = count(*) THEN sum(cpu_time) END AS cpu_time,
    CASE
        WHEN bool_and(whole) THEN sum(dasd_ios + unit_record_ios + console_ios + ctca_ios + other_ios)
    END AS virtual_ios
FROM (SELECT *, basis NOT IN ('transaction', 'session') AS whole FROM _guest)
-- Without a page of D4R3 nothing is known of anybody: then nothing need be read.
WHERE cpu_time_total IS NOT NULL OR cpu_time IS NOT NULL
GROUP BY system, source, interval_end
