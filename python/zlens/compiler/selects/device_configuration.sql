-- _device_configuration: configuration of a device, with the times from and until which it applies. Joining by both is
-- fast for many devices; searching the latest row of each is not.
SELECT
    *,
    lead(tod) OVER (PARTITION BY system, source, device ORDER BY tod) AS until
FROM role.device_configuration
