-- _volume_area: paging and spooling of every CP-owned volume, with a row for each kind of area it has.
WITH volumes AS (
    SELECT *
    FROM role.page_volume
    -- A volume in both records is counted once, from the record with its slots.
    QUALIFY NOT shared OR bool_and(shared) OVER (PARTITION BY system, source, interval_end, device)
),
areas AS (
    SELECT system, source, device, kind, CASE WHEN count(slots) = count(*) THEN sum(slots) END AS slots
    FROM (
        -- An area may be reported repeatedly: the last report counts. If its start is missing, its kind
        -- identifies it.
        SELECT system, source, device, start, arg_max(kind, tod) AS kind, arg_max(slots, tod) AS slots
        FROM role.page_area
        GROUP BY system, source, device, start, CASE WHEN start IS NULL THEN kind END
    )
    GROUP BY system, source, device, kind
),
kinds AS (
    SELECT
        volumes.*,
        -- An area that was not reported may have been added later: it exists once it was used.
        paging.kind IS NOT NULL OR coalesce(page_slots > 0, false) OR coalesce(pages_paged_ever > 0, false) AS pages,
        spooling.kind IS NOT NULL OR coalesce(spool_slots > 0, false) OR coalesce(pages_spooled_ever > 0, false)
            AS spools,
        paging.slots AS slots_for_pages, spooling.slots AS slots_for_spool
    FROM volumes
    LEFT JOIN areas AS paging
        ON paging.system = volumes.system AND paging.source = volumes.source
        AND paging.device = volumes.device AND paging.kind = 'PAGE'
    LEFT JOIN areas AS spooling
        ON spooling.system = volumes.system AND spooling.source = volumes.source
        AND spooling.device = volumes.device AND spooling.kind = 'SPOOL'
)
SELECT
    system, source, interval_end, seconds, flag, device, volume, 'PAGE' AS area,
    slots_for_pages AS slots, page_slots AS slots_used, page_reads AS reads, page_writes AS writes,
    operations, queue, mload, mload_time
FROM kinds
WHERE pages
UNION ALL
SELECT
    system, source, interval_end, seconds, flag, device, volume, 'SPOOL' AS area,
    slots_for_spool AS slots, spool_slots AS slots_used, spool_reads AS reads, spool_writes AS writes,
    operations, queue, mload, mload_time
FROM kinds
WHERE spools
UNION ALL
SELECT
    system, source, interval_end, seconds, flag, device, volume, NULL AS area,
    NULL AS slots, NULL AS slots_used, page_reads + spool_reads AS reads, page_writes + spool_writes AS writes,
    operations, queue, mload, mload_time
FROM kinds
WHERE NOT pages AND NOT spools
