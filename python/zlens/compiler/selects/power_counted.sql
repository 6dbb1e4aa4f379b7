-- materialized
-- _power_counted: readings of one meter of each machine and of each partition: one that tells what
-- the power is for, then the one that measured longest. `counted_s` is the time of a partition's reading in which the machine was
-- measured, too, if it ever was.
WITH meter AS (
    SELECT
        machine, partition, system, source,
        row_number() OVER (
            PARTITION BY machine, partition
            ORDER BY count(processor_power_w) + count(unassigned_power_w) > 0 DESC, sum(seconds ORDER BY seconds) DESC, source, system
        ) AS place
    FROM _power_reading
    GROUP BY machine, partition, system, source
),
first AS (
    SELECT reading.*
    FROM _power_reading AS reading
    JOIN meter
        ON meter.machine = reading.machine AND meter.partition IS NOT DISTINCT FROM reading.partition
        AND meter.system = reading.system AND meter.source = reading.source
    WHERE meter.place = 1
),
common AS (
    SELECT
        part.machine, part.partition, part.interval_end,
        sum({common_s part whole}) AS counted_s
    FROM first AS part
    JOIN first AS whole
        ON whole.machine = part.machine AND {overlaps part whole}
    WHERE part.partition IS NOT NULL AND whole.partition IS NULL
    GROUP BY part.machine, part.partition, part.interval_end
),
measured AS (
    SELECT DISTINCT machine AS measured_machine FROM first WHERE partition IS NULL
)
SELECT
    first.*, measured.measured_machine, first.processor_power_w IS NULL AS is_undivided,
    CASE
        WHEN first.partition IS NULL OR measured.measured_machine IS NULL OR common.counted_s > 0.999 * first.seconds
            THEN first.seconds
        ELSE common.counted_s
    END AS counted_s
FROM first
LEFT JOIN measured ON measured.measured_machine = first.machine
LEFT JOIN common
    ON common.machine = first.machine AND common.partition = first.partition
    AND common.interval_end = first.interval_end
WHERE first.partition IS NULL OR measured.measured_machine IS NULL OR common.counted_s > 0.001 * first.seconds
