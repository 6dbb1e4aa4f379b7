"""Time series: one column over time for each row of a result."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

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


def align_series(text: str) -> tuple[JsonRows, JsonRows, list[float]]:
    """Return the rows without their series, the series on a common axis, and the axis in seconds."""
    # Numbers remain texts, because converting thousands in both directions takes longer than the query.
    rows = [[*map(bytes, row)] for row in msgspec.json.decode(text, type=list[list[msgspec.Raw]])]
    axis = sorted({t for times in {row[-2] for row in rows} for t in _numbers(times)}, key=float)
    axis_text = b'"[%s]"' % b", ".join(axis)
    all_series = []
    for *_, times, values in rows:
        if times == axis_text:
            all_series.append(values[1:-1].replace(b" ", b""))
        else:
            points = dict(zip(_numbers(times), _numbers(values), strict=True))
            all_series.append(_array([points.get(t, b"null") for t in axis]))
    plain_rows = [_array(row[:-2]) for row in rows]
    return _json_rows(plain_rows), _json_rows(all_series), [*map(float, axis)]


def _numbers(text: bytes) -> list[bytes]:
    """Return the numbers of a list, which are JSON, from its text in quotes."""
    return [] if text == b"null" else text[2:-2].split(b", ")


def _array(items: Sequence[bytes]) -> bytes:
    return b"[%s]" % b",".join(items)


def _json_rows(items: Sequence[bytes]) -> JsonRows:
    return JsonRows(_array(items).decode(), more=False)
