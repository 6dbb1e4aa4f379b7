-- materialized
-- _msu_rate: MSU per hour of one general purpose processor, as a system reports it or by the capacity of the machine;
-- in an interval of a system that reports neither, as another system of the machine reports it for that time. A capacity
-- of 0 is that of a machine without a rating.
WITH own AS (
    SELECT
        machine.system, machine.source, machine.interval_end, machine.seconds, place.machine,
        coalesce(machine.msu_of_cpu, nullif(machine.msu_capacity, 0) / nullif(pool.whole, 0)) AS msu_of_cpu
    FROM role.machine AS machine
    JOIN _ledger_place AS place USING (system, source)
    LEFT JOIN (
        SELECT system, source, interval_end, whole FROM _pool WHERE cpu_type = 'CP'
    ) AS pool USING (system, source, interval_end)
),
reported AS (
    SELECT
        machine, interval_end, max(seconds) AS seconds, min(msu_of_cpu) AS msu_of_cpu,
        -- Systems of a machine end their intervals some milliseconds apart.
        interval_end + INTERVAL 30 SECONDS AS until
    FROM own
    WHERE msu_of_cpu IS NOT NULL
    GROUP BY machine, interval_end
),
other AS (
    SELECT pool.system, pool.source, pool.interval_end, place.machine
    FROM _pool AS pool
    JOIN _ledger_place AS place USING (system, source)
    ANTI JOIN (SELECT system, source, interval_end FROM own WHERE msu_of_cpu IS NOT NULL) AS own
        USING (system, source, interval_end)
    WHERE pool.cpu_type = 'CP'
)
SELECT system, source, interval_end, msu_of_cpu FROM own WHERE msu_of_cpu IS NOT NULL
UNION ALL
SELECT other.system, other.source, other.interval_end, reported.msu_of_cpu
FROM other
ASOF JOIN reported ON reported.machine = other.machine AND other.interval_end <= reported.until
WHERE other.interval_end > reported.interval_end - to_microseconds((1e6 * reported.seconds)::BIGINT)
