-- device: one row per interval and I/O device, with what was last told of what it is and what its control unit says.
SELECT {columns}
FROM role.device AS device
LEFT JOIN role.cache AS cache USING (system, source, interval_end, subchannel)
LEFT JOIN _device_use AS device_use
    ON device_use.system = device.system
    AND device_use.source = device.source
    AND device_use.device = device.device
LEFT JOIN _device_told AS device_configuration
    ON device_configuration.system = device.system
    AND device_configuration.source = device.source
    AND device_configuration.device = device.device
    AND device_configuration.tod <= device.interval_end
    AND coalesce(device.interval_end < device_configuration.until, true)
