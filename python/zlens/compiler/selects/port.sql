-- _port: ports of networks, each with a unique name.
SELECT
    *,
    CASE kind
        WHEN 'nic' THEN coalesce(owner, '') || ' ' || coalesce(device, '')
        WHEN 'global' THEN network
        WHEN 'qdio' THEN device
        ELSE trim(coalesce(network, '') || ' ' || coalesce(device, ''))
    END AS port
FROM role.network_port
