-- network: one row per interval and port of a virtual or real network.
SELECT {columns}
FROM _port AS port
