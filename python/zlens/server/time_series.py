"""Time series: one column over time for each row of a result."""

from __future__ import annotations

import json
from typing import Any

from zlens.catalog.expressions import quote
from zlens.catalog.measure_query import MeasureQuery


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


def align_series(rows: list[list[Any]]) -> tuple[list[list[Any]], list[list[float | None]], list[float]]:
    """Return the rows without their series, the series on a common axis, and the axis in seconds."""
    # Lists are JSON text.
    [all_times, all_values] = (
        json.loads(f"[{','.join(row[column] or '[]' for row in rows)}]") for column in (-2, -1)
    )
    axis = sorted({t for times in all_times for t in times})
    position = {t: index for index, t in enumerate(axis)}
    all_series = []
    for times, values in zip(all_times, all_values, strict=True):
        series: list[float | None] = [None] * len(axis)
        for t, value in zip(times, values, strict=True):
            series[position[t]] = value
        all_series.append(series)
    return [row[:-2] for row in rows], all_series, axis
