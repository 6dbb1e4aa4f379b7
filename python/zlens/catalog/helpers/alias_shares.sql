-- _alias_shares: the shares of all uses of a HyperPAV pool together. One that is not known leaves none.
SELECT
    system, source, interval_end, pool,
    CASE WHEN count(share) = count(*) THEN sum(share) END AS shares
FROM role.alias_pool
WHERE io_type <> 'ALL'
GROUP BY system, source, interval_end, pool
