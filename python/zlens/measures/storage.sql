-- storage: one row per interval and zone of real storage.
SELECT {columns}
FROM _storage_zone AS storage_zone
