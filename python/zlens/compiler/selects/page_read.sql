-- _page_read: pages and blocks read for paging, on all processors and volumes.
SELECT
    moved.system, moved.source, moved.interval_end, moved.seconds, moved.flag, moved.page_reads AS pages, block.blocks
FROM _activity_sum AS moved
LEFT JOIN (
    SELECT system, source, interval_end, any_value(blocks) AS blocks
    FROM role.page_block
    GROUP BY system, source, interval_end
) AS block USING (system, source, interval_end)
