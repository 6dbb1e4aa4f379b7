-- _power_model: power of the processors of a partition at rest, and what each adds while it is used: the line of least
-- squares through the mean power of its intervals by the processors used in them, with standard errors; without a
-- partition, power of a machine and use of all its processors. `refused` is why it does not hold: then the power at rest
-- is not known. Each local day has a line of its own, so that measures by day are the same as those of longer times.
WITH fitted AS (
    SELECT
        system, source, day, any_value(machine) AS machine, partition, count(*) AS intervals,
        regr_intercept(power_w, used) AS idle_w, regr_slope(power_w, used) AS used_w, regr_r2(power_w, used) AS r2,
        regr_avgx(power_w, used) AS mean_used, regr_sxx(power_w, used) AS squares,
        sqrt(
            greatest(regr_syy(power_w, used) - regr_slope(power_w, used) * regr_sxy(power_w, used), 0) / nullif(count(*) - 2, 0)
        ) AS residual_w
    FROM (
        SELECT system, source, day, machine, partition, energy_j / seconds AS power_w, used_s / seconds AS used
        FROM (
            SELECT system, source, day, machine, partition, flag, seconds, energy_j, used_s FROM _power_used
            UNION ALL
            SELECT system, source, day, machine, NULL, flag, seconds, energy_j, used_s FROM _power_machine
        )
        WHERE flag IS NULL AND energy_j IS NOT NULL AND used_s IS NOT NULL
    )
    GROUP BY system, source, day, partition
),
solved AS (
    SELECT
        *, residual_w * sqrt(1 / intervals + mean_used * mean_used / nullif(squares, 0)) AS idle_error_w,
        residual_w / sqrt(nullif(squares, 0)) AS used_error_w
    FROM fitted
)
SELECT
    system, source, day, machine, partition, intervals, idle_w, idle_error_w, used_w, used_error_w, r2,
    CASE
        WHEN intervals < 10 THEN 'fewer than 10 intervals'
        WHEN squares IS NULL OR sqrt(squares / intervals) < 0.01 * mean_used THEN 'use of processors varies by less than 1%'
        -- The line must rise by more than the 95% interval of its slope.
        WHEN used_w <= 2 * used_error_w THEN 'power does not rise with use'
        WHEN idle_w < 0 THEN 'power at rest would be negative'
    END AS refused
FROM solved
