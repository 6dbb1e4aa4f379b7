"""Courses: a column over time beside each row of an answer."""

from __future__ import annotations

import json
from typing import Any

from zlens.catalog.aggregation import Question
from zlens.catalog.expressions import quote


def sql(question: Question, course: Question) -> str:
    """SQL of the rows, and of the times and values of each one's course as the last columns.

    course   the same question of one column, with buckets
    """
    keys = list(map(quote, question.keys()))
    [name] = map(quote, course.names())
    same = " AND ".join(f"rows.{key} IS NOT DISTINCT FROM points.{key}" for key in keys)
    value = f"CAST({name} AS DOUBLE)"
    points = f"SELECT {', '.join(keys)}, list(t ORDER BY t) AS course_t, list({value} ORDER BY t) AS course"
    return (
        f"SELECT rows.*, course_t, course FROM (\n{question.sql()}\n) AS rows LEFT JOIN (\n"
        f"{points} FROM (\n{course.sql()}\n) WHERE isfinite({value}) GROUP BY {', '.join(keys)}\n"
        f") AS points ON {same}"
    )


def placed(rows: list[list[Any]]) -> tuple[list[list[Any]], list[list[float | None]], list[float]]:
    """Rows without their courses, the courses on an axis that all have, and the axis."""
    # Lists are handed out as text.
    lines = [tuple(json.loads(text) if text else [] for text in row[-2:]) for row in rows]
    axis = sorted({t for times, _ in lines for t in times})
    at = {t: place for place, t in enumerate(axis)}
    found = []
    for times, course in lines:
        line: list[float | None] = [None] * len(axis)
        for t, value in zip(times, course, strict=True):
            line[at[t]] = value
        found.append(line)
    return [row[:-2] for row in rows], found, axis
