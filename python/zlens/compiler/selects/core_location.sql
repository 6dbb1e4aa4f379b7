-- _core_location: location of a core in the machine, from the outermost reported container to the innermost.
SELECT
    topology.system, topology.source, topology.tod, topology.core_id,
    nullif(
        concat_ws('/', topology.nest_5, topology.nest_4, topology.nest_3, topology.nest_2, topology.nest_1), ''
    ) AS nesting
FROM role.topology AS topology
