"""SQL conditions for the rows of a request, and time buckets of complete intervals."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from typing import Any

from zlens.catalog.expressions import quote, value_sql
from zlens.catalog.time_blocks import TimeWindow
from zlens.errors import QueryError
from zlens.inputs.options import parse_instant
from zlens.server.workspace import Workspace

#: Columns that contain the time of a row, in order of preference.
TIMES = ("interval_end", "time")


def of_columns(request: dict[str, Any], types: Mapping[str, str]) -> dict[str, str]:
    """Return the SQL conditions of `where` by column."""
    by_column = {}
    for name, value in request["where"].items():
        if name not in types:
            raise QueryError(
                f"{request['table']} has no column {name!r}", cure=f"DESCRIBE {request['table']} lists them"
            )
        by_column[name] = is_one_of(name, value if isinstance(value, list) else [value])
    return by_column


def span(request: dict[str, Any]) -> tuple[dt.datetime | None, dt.datetime | None]:
    """Return the requested start and end."""
    start, end = (None if request[name] is None else parse_instant(request[name]) for name in ("from", "to"))
    return start, end


def window(request: dict[str, Any]) -> TimeWindow:
    """Return the requested time window."""
    return TimeWindow(*(None if time is None else time.timestamp() for time in span(request)))


def conditions(request: dict[str, Any], types: Mapping[str, str]) -> list[str]:
    """Return SQL conditions for the requested system, columns and times."""
    tests = [is_one_of("system", [request["system"]])] if request["system"] is not None else []
    tests += of_columns(request, types).values()
    time = next((name for name in TIMES if name in types), None)
    for name, sign in (("from", ">"), ("to", "<=")):
        if request[name] is not None:
            if time is None:
                raise QueryError(f"{request['table']} has no times", cure="leave from and to out")
            tests.append(f"{time} {sign} {value_sql(parse_instant(request[name]))}")
    return tests


def is_one_of(name: str, values: Sequence[Any]) -> str:
    """Return the SQL condition that a column has one of the values."""
    literals = [value_sql(value) for value in values if value is not None]
    parts = [f"{quote(name)} IN ({', '.join(literals)})"] if literals else []
    if None in values:
        parts.append(f"{quote(name)} IS NULL")
    return f"({' OR '.join(parts)})" if parts else "false"


def buckets(workspace: Workspace, request: dict[str, Any], max_intervals: int) -> tuple[float, float]:
    """Return seconds of a bucket and of an interval; the bucket is 0 up to `max_intervals` intervals."""
    infos = [
        info
        for info in workspace.session.systems
        if info.nominal_s and request["system"] in (None, info.system) and info.first_us is not None
    ]
    if not infos:
        return 0.0, 0.0
    every = workspace.session.options.every_s
    nominal = max(min(info.nominal_s or 0.0 for info in infos), every or 0.0)
    spans_us = [workspace.session.span_us(info) for info in infos]
    first = min(first_us or 0 for first_us, _ in spans_us) / 1e6
    last = max(last_us or 0 for _, last_us in spans_us) / 1e6
    if request["from"] is not None:
        first = max(first, parse_instant(request["from"]).timestamp())
    if request["to"] is not None:
        last = min(last, parse_instant(request["to"]).timestamp())
    # Interval ends drift by milliseconds; such a remainder is not another interval.
    intervals = math.ceil((last - first) / nominal - 0.01)
    if intervals <= max_intervals:
        return 0.0, nominal
    return math.ceil(intervals / max_intervals) * nominal, nominal


def time_of(width: float, nominal: float) -> str:
    """Return SQL for the time of a row in seconds: the end of its interval or bucket."""
    if not width:
        return "epoch(interval_end)"
    # The middle of an interval decides, because it ends some milliseconds after its nominal end.
    return f"(floor((epoch(interval_end) - {nominal / 2!r}) / {width!r}) + 1) * {width!r}"
