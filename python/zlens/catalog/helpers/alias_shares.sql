-- _alias_shares: the sum of the shares of all uses of a HyperPAV pool; NULL if one is unknown.
SELECT
    system, source, interval_end, pool,
    CASE WHEN count(share) = count(*) THEN sum(share) END AS shares
FROM role.alias_pool
WHERE io_type <> 'ALL'
GROUP BY system, source, interval_end, pool
