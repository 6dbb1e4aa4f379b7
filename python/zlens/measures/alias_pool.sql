-- alias_pool: one row per interval, HyperPAV pool and use of its aliases, and one of the pool as a whole.
SELECT {columns}
FROM role.alias_pool AS alias_pool
LEFT JOIN _alias_shares AS alias_shares USING (system, source, interval_end, pool)
