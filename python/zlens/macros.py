"""SQL functions that reports and questions may use beside DuckDB's own."""

from __future__ import annotations

#: Statements that make them, on a connection that is new.
#:
#: weighted_mean(value, weight): over several rows, the mean of what is known; each value weighs as much as
#: its time or its number of operations. NULL where nothing is known.
MACROS = (
    "CREATE MACRO weighted_mean(value, weight) AS "
    "sum(value * weight) / nullif(sum(weight) FILTER (WHERE value IS NOT NULL), 0)",
)
