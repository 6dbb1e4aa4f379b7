-- _lock_mode: each lock in each request mode. Combined is the sum of both; it is unknown if one of them is.
SELECT
    lock.system, lock.source, lock.interval_end, lock.seconds, lock.flag, lock.name, mode.mode,
    CASE mode.mode
        WHEN 'exclusive' THEN exclusive_spins
        WHEN 'shared' THEN shared_spins
        ELSE exclusive_spins + shared_spins
    END AS spins,
    CASE mode.mode
        WHEN 'exclusive' THEN exclusive_time
        WHEN 'shared' THEN shared_time
        ELSE exclusive_time + shared_time
    END AS spin_time,
    CASE mode.mode
        WHEN 'exclusive' THEN exclusive_cads
        WHEN 'shared' THEN shared_cads
        ELSE exclusive_cads + shared_cads
    END AS cads
FROM role.lock AS lock
CROSS JOIN (VALUES ('combined'), ('exclusive'), ('shared')) AS mode (mode)
