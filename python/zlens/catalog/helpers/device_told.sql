-- _device_told: what was told of a device, from which time until which. A join by both is quick where there are many
-- devices; one that looks for the latest row of each is not.
SELECT
    *,
    lead(tod) OVER (PARTITION BY system, source, device ORDER BY tod) AS until
FROM role.device_configuration
