"""Time series: one column over time for each row of a result."""

from __future__ import annotations

import json
from typing import Any

from zlens.catalog.aggregation import MeasureQuery
from zlens.catalog.expressions import quote


def series_sql(question: MeasureQuery, course: MeasureQuery, rows: str, over_time: str) -> str:
    """SQL of the rows, with the times and values of the course of each as the last columns.

    course      the same query for one column, with buckets
    rows        SELECT of the query
    over_time   SELECT of the course
    """
    keys = list(map(quote, question.keys()))
    [name] = map(quote, course.names())
    same = " AND ".join(f"rows.{key} IS NOT DISTINCT FROM points.{key}" for key in keys)
    value = f"CAST({name} AS DOUBLE)"
    points = f"SELECT {', '.join(keys)}, list(t) AS course_t, list({value}) AS course"
    # Named instead of *, so that the columns read are known without a query plan.
    columns = ", ".join(f"rows.{quote(column)}" for column in [*question.keys(), *question.names()])
    return (
        f"SELECT {columns}, course_t, course FROM (\n{rows}\n) AS rows LEFT JOIN (\n"
        f"{points} FROM (\n{over_time}\n) WHERE isfinite({value}) GROUP BY {', '.join(keys)}\n"
        f") AS points ON {same}"
    )


def align_series(rows: list[list[Any]]) -> tuple[list[list[Any]], list[list[float | None]], list[float]]:
    """Rows without their courses, the courses on a common axis, and the axis."""
    # Lists arrive as text.
    [all_times, all_values] = (
        json.loads(f"[{','.join(row[column] or '[]' for row in rows)}]") for column in (-2, -1)
    )
    axis = sorted({t for times in all_times for t in times})
    position = {t: index for index, t in enumerate(axis)}
    lines = []
    for times, course in zip(all_times, all_values, strict=True):
        line: list[float | None] = [None] * len(axis)
        for t, value in zip(times, course, strict=True):
            line[position[t]] = value
        lines.append(line)
    return [row[:-2] for row in rows], lines, axis
