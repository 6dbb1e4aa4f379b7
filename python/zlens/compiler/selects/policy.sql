-- _policy: service class periods at the end of policy intervals of WLM. They belong to no interval of the system; if the
-- user selects a window, those in it are shown. Dumps may overlap: rows that are equal in all columns are one.
SELECT DISTINCT
    p.tod AS interval_end, CAST(NULL AS DOUBLE) AS seconds, CAST(NULL AS VARCHAR) AS flag, p.* EXCLUDE (tod)
FROM role.policy_interval AS p
LEFT JOIN _asked AS asked ON asked.system = p.system AND asked.source = p.source
WHERE asked.first IS NULL OR p.tod > asked.first AND p.tod <= asked.last
