-- materialized
-- _share: entitlement of a logical processor of the reporting partition, by type: without vertical
-- polarization, each has the same part of the entitlement by the partition's weight.
SELECT
    pool.system, pool.source, pool.interval_end, pool.cpu_type,
    pool.total_weight, pool.shared,
    coalesce(partition.dedicated, false) AS dedicated, partition.weight, partition.logical_cpus
FROM role.own_partition AS own_partition
JOIN role.partition AS partition
    ON partition.system = own_partition.system
    AND partition.source = own_partition.source
    AND partition.interval_end = own_partition.interval_end
    AND partition.number = own_partition.number
JOIN _pool AS pool
    ON pool.system = partition.system
    AND pool.source = partition.source
    AND pool.interval_end = partition.interval_end
    AND pool.cpu_type = partition.cpu_type
