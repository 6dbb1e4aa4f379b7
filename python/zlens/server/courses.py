"""Courses: a column over time beside each row of an answer."""

from __future__ import annotations

import json
from typing import Any

from zlens.catalog.aggregation import Question
from zlens.catalog.expressions import quote


def sql(question: Question, course: Question, rows: str, over_time: str) -> str:
    """SQL of the rows, and of the times and values of each one's course as the last columns.

    course      the same question of one column, with buckets
    rows        SELECT of the answer to the question
    over_time   SELECT of the answer to that of the column
    """
    keys = list(map(quote, question.keys()))
    [name] = map(quote, course.names())
    same = " AND ".join(f"rows.{key} IS NOT DISTINCT FROM points.{key}" for key in keys)
    value = f"CAST({name} AS DOUBLE)"
    points = f"SELECT {', '.join(keys)}, list(t) AS course_t, list({value}) AS course"
    # Named, so that what it reads is known without a plan.
    columns = ", ".join(f"rows.{quote(one)}" for one in [*question.keys(), *question.names()])
    return (
        f"SELECT {columns}, course_t, course FROM (\n{rows}\n) AS rows LEFT JOIN (\n"
        f"{points} FROM (\n{over_time}\n) WHERE isfinite({value}) GROUP BY {', '.join(keys)}\n"
        f") AS points ON {same}"
    )


def placed(rows: list[list[Any]]) -> tuple[list[list[Any]], list[list[float | None]], list[float]]:
    """Rows without their courses, the courses on an axis that all have, and the axis."""
    # Lists are handed out as text.
    [all_times, all_values] = (
        json.loads(f"[{','.join(row[column] or '[]' for row in rows)}]") for column in (-2, -1)
    )
    axis = sorted({t for times in all_times for t in times})
    at = {t: place for place, t in enumerate(axis)}
    found = []
    for times, course in zip(all_times, all_values, strict=True):
        line: list[float | None] = [None] * len(axis)
        for t, value in zip(times, course, strict=True):
            line[at[t]] = value
        found.append(line)
    return [row[:-2] for row in rows], found, axis
