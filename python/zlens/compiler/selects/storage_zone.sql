-- _storage_zone: real storage in each interval, in total and on both sides of 2 GB. A sum with an unknown
-- part is unknown. A guest's storage counts once, however many virtual CPUs it has, and for the time it was
-- logged on.
WITH guests AS (
    SELECT
        system, source, interval_end,
        CASE WHEN count(storage) = count(*) THEN sum(storage * seconds) END AS virtual_byte_seconds
    FROM (
        SELECT system, source, interval_end, userid, max(storage) AS storage, max(seconds) AS seconds
        FROM role.guest
        GROUP BY system, source, interval_end, userid
    )
    GROUP BY system, source, interval_end
),
whole AS (
    SELECT
        coalesce(storage.system, storage_list.system, moved.system) AS system,
        coalesce(storage.source, storage_list.source, moved.source) AS source,
        coalesce(storage.interval_end, storage_list.interval_end, moved.interval_end) AS interval_end,
        coalesce(storage.seconds, storage_list.seconds, moved.seconds) AS seconds,
        coalesce(storage.flag, storage_list.flag, moved.flag) AS flag,
        storage.* EXCLUDE (system, source, interval_end, seconds, flag),
        storage_list.* EXCLUDE (system, source, interval_end, seconds, flag),
        moved.page_read_rate, moved.page_write_rate, moved.spool_read_rate, moved.spool_write_rate
    FROM role.storage AS storage
    FULL JOIN role.storage_list AS storage_list
        ON storage_list.system = storage.system
        AND storage_list.source = storage.source
        AND storage_list.interval_end = storage.interval_end
    FULL JOIN _activity_sum AS moved
        ON moved.system = coalesce(storage.system, storage_list.system)
        AND moved.source = coalesce(storage.source, storage_list.source)
        AND moved.interval_end = coalesce(storage.interval_end, storage_list.interval_end)
)
SELECT
    whole.system, whole.source, whole.interval_end, whole.seconds, whole.flag,
    'all' AS zone,
    whole.frames, configuration.standby,
    whole.available_below + whole.available_above AS available,
    whole.low_below + whole.low_above AS low, whole.high_below + whole.high_above AS high,
    whole.empty, whole.reserved, whole.locked_below + whole.locked_above AS locked,
    whole.nonpageable, whole.free_storage, whole.waiting, guests.virtual_byte_seconds / whole.seconds AS virtual_bytes,
    whole.page_read_rate, whole.page_write_rate, whole.spool_read_rate, whole.spool_write_rate
FROM whole
LEFT JOIN guests USING (system, source, interval_end)
ASOF LEFT JOIN role.storage_configuration AS configuration
    ON configuration.system = whole.system
    AND configuration.source = whole.source
    AND configuration.tod <= whole.interval_end
UNION ALL BY NAME
SELECT
    system, source, interval_end, seconds, flag,
    'below 2 GB' AS zone, available_below AS available, low_below AS low, high_below AS high, locked_below AS locked
FROM whole
WHERE available_below IS NOT NULL OR low_below IS NOT NULL
UNION ALL BY NAME
SELECT
    system, source, interval_end, seconds, flag,
    'above 2 GB' AS zone, available_above AS available, low_above AS low, high_above AS high, locked_above AS locked
FROM whole
WHERE available_above IS NOT NULL OR low_above IS NOT NULL
