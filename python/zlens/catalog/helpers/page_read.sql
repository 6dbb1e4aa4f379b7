-- _page_read: pages and blocks read for paging, all processors and volumes together.
SELECT
    processor.system, processor.source, processor.interval_end, max(processor.seconds) AS seconds,
    max(processor.flag) AS flag,
    CASE WHEN count(processor.page_reads) = count(*) THEN sum(processor.page_reads) END AS pages,
    any_value(block.blocks) AS blocks
FROM role.page_processor AS processor
LEFT JOIN role.page_block AS block
    ON block.system = processor.system
    AND block.source = processor.source
    AND block.interval_end = processor.interval_end
GROUP BY processor.system, processor.source, processor.interval_end
