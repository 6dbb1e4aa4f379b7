-- materialized
-- _decision: decisions of HiperDispatch with the request and its reason. Several conditions may hold; the last one
-- counts, as in IBM's SMF Explorer. Decisions belong to no interval of the system; if the user selects a window, those
-- in it are shown. Dumps may overlap: rows that are equal in all columns are one.
SELECT DISTINCT
    d.system, d.source, d.tod AS interval_end, d.length AS seconds, CAST(NULL AS VARCHAR) AS flag, d.cpu_type,
    d.vertical_high, d.vertical_medium, d.vertical_low, d.low_unparked, d.low_parked,
    d.busy, d.projected_busy, d.used, d.guaranteed, d.machine_use, d.machine_free,
    d.unpark_limit, d.park_limit, d.unpark_dynamic, d.park_dynamic, d.cap, d.wlm_capped,
    n.request, n.reason, n.capped
FROM role.parking AS d
LEFT JOIN _requested AS requested ON requested.system = d.system AND requested.source = d.source
LEFT JOIN (VALUES
    (1, 'unpark', false, 'busy above the limit'),
    (2, 'unpark', true, 'busy above the limit'),
    (3, 'park', false, 'leave at least two effective vertical-lows, as there is no vertical-high'),
    (4, 'park', true, 'leave at least two effective vertical-lows, as there is no vertical-high'),
    (5, 'no unpark', false, 'no free capacity (inferred)'),
    (6, 'no unpark', false, 'no vertical-low is parked'),
    (7, 'unpark', false, 'the machine is full, but not its own unused share'),
    (8, 'unpark', true, 'the machine is full, but not its own unused share'),
    (9, 'park', false, 'busy below the limit'),
    (10, 'park', true, 'busy below the limit'),
    (11, 'park', false, 'at most 4% above the guaranteed capacity used'),
    (12, 'park', false, 'at most 10% above the guaranteed capacity used'),
    (13, 'park', false, 'less than 20% of the vertical-mediums and -lows used'),
    (14, 'park', true, 'less than 20% of the vertical-mediums and -lows used')
) AS n(number, request, capped, reason) ON n.number = CASE
    WHEN d.case_14 THEN 14
    WHEN d.case_13 THEN 13
    WHEN d.case_12 THEN 12
    WHEN d.case_11 THEN 11
    WHEN d.case_10 THEN 10
    WHEN d.case_9 THEN 9
    WHEN d.case_8 THEN 8
    WHEN d.case_7 THEN 7
    WHEN d.case_6 THEN 6
    WHEN d.case_5 THEN 5
    WHEN d.case_4 THEN 4
    WHEN d.case_3 THEN 3
    WHEN d.case_2 THEN 2
    WHEN d.case_1 THEN 1
END
WHERE requested.first IS NULL OR d.tod > requested.first AND d.tod <= requested.last
