-- per_transaction: one row per interval and system that the user's own file tells of.
SELECT {columns}
FROM _cost AS cost
