-- materialized
-- _power_pair: readings of one meter with those of another of the same machine or partition, over the time that they
-- have in common.
SELECT
    system, source, interval_end, any_value(seconds) AS seconds, any_value(flag) AS flag,
    machine, partition, second_system, second_source,
    coalesce(partition, machine) || ': ' || source || ', ' || second_source AS subject, sum(common_s ORDER BY common_s) AS common_s,
    any_value(first_w) AS first_w,
    sum(second_w * common_s ORDER BY second_w * common_s) / sum(common_s ORDER BY common_s) AS second_w
FROM (
    SELECT
        one.system, one.source, one.interval_end, one.seconds, one.flag, one.machine, one.partition,
        other.system AS second_system, other.source AS second_source,
        one.power_w AS first_w, other.power_w AS second_w,
        {common_s one other} AS common_s
    FROM _power_reading AS one
    JOIN _power_reading AS other
        ON other.machine = one.machine
        AND other.partition IS NOT DISTINCT FROM one.partition
        AND (other.source, other.system) > (one.source, one.system)
        AND {overlaps one other}
)
WHERE common_s > 0.001
GROUP BY system, source, interval_end, machine, partition, second_system, second_source
