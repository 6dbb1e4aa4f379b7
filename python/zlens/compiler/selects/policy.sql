-- _policy: service class periods at the end of policy intervals of WLM. They belong to no interval of the system; if the
-- user selects a window, those in it are shown. Dumps may overlap: rows that are equal in all columns are one.
SELECT DISTINCT
    p.tod AS interval_end, CAST(NULL AS DOUBLE) AS seconds, CAST(NULL AS VARCHAR) AS flag, p.* EXCLUDE (tod)
FROM role.policy_interval AS p
LEFT JOIN _requested AS requested ON requested.system = p.system AND requested.source = p.source
WHERE requested.first IS NULL OR p.tod > requested.first AND p.tod <= requested.last
