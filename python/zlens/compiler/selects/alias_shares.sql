-- _alias_shares: sums of the shares and of the reported entitlements of all uses of a HyperPAV pool; NULL if
-- one is unknown.
SELECT
    system, source, interval_end, pool,
    CASE WHEN count(share) = count(*) THEN sum(share) END AS shares,
    CASE WHEN count(entitlement) = count(*) THEN sum(entitlement) END AS entitled
FROM role.alias_pool
WHERE io_type <> 'ALL'
GROUP BY system, source, interval_end, pool
