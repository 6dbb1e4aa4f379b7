-- _device_use: devices with areas of CP, and whether CP pages on them.
SELECT
    system, source, device,
    CASE WHEN bool_or(kind = 'PAGE') THEN 'paging' WHEN bool_or(kind = 'SPOOL') THEN 'spool' ELSE 'CP' END AS use
FROM role.page_area
GROUP BY system, source, device
