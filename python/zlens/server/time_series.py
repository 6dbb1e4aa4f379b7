"""Time series: one column over time for each row of a result."""

from __future__ import annotations

from typing import Any

from zlens.catalog.expressions import quote
from zlens.catalog.measure_query import MeasureQuery
from zlens.server.json_values import JsonRows


def series_sql(query: MeasureQuery, series: MeasureQuery, rows_select: str, series_select: str) -> str:
    """Return SQL of the rows, with the times and values of each row's series as the last columns.

    query           the query of the rows
    series          the same query for one column, with buckets
    rows_select     SELECT of the query
    series_select   SELECT of the series
    """
    keys = list(map(quote, query.keys()))
    [name] = map(quote, series.names())
    same_keys = " AND ".join(f"rows.{key} IS NOT DISTINCT FROM points.{key}" for key in keys)
    value = f"CAST({name} AS DOUBLE)"
    points = f"SELECT {', '.join(keys)}, list(t) AS series_t, list({value}) AS series"
    # Names instead of *, because the columns read must be known without a query plan.
    columns = ", ".join(f"rows.{quote(column)}" for column in [*query.keys(), *query.names()])
    return (
        f"SELECT {columns}, series_t, series FROM (\n{rows_select}\n) AS rows LEFT JOIN (\n"
        f"{points} FROM (\n{series_select}\n) WHERE isfinite({value}) GROUP BY {', '.join(keys)}\n"
        f") AS points ON {same_keys}"
    )


def align_series(rows: list[list[Any]]) -> tuple[list[list[Any]], JsonRows, list[float]]:
    """Return the rows without their series, the series on a common axis, and the axis in seconds."""
    # Numbers remain texts, because converting thousands in both directions takes longer than the query.
    points = [dict(zip(*map(_items, row[-2:]), strict=True)) for row in rows]
    axis = sorted({t for each in points for t in each}, key=float)
    all_series = ",".join(f"[{','.join([each.get(t, 'null') for t in axis])}]" for each in points)
    return [row[:-2] for row in rows], JsonRows(f"[{all_series}]", more=False), [*map(float, axis)]


def _items(numbers: str | None) -> list[str]:
    """Return the numbers of a list, which are JSON."""
    return [] if numbers is None else numbers[1:-1].split(", ")
