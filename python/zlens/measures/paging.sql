-- paging: one row per interval, volume that CP owns and kind of area on it.
SELECT {columns}
FROM _volume_area AS volume_area
LEFT JOIN _page_read AS page_read USING (system, source, interval_end)
