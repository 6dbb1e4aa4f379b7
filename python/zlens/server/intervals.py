"""Windows of the web UI: interval ends of a system, windows as text, and the same hours of other days."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable
from typing import Any

from zlens.errors import QueryError
from zlens.inputs.options import parse_instant
from zlens.inputs.time_windows import Window, other_days, parse_window
from zlens.inputs.unix_time import from_unix_us
from zlens.server import aggregate, endpoints
from zlens.server.workspace import Workspace

_SECOND_US = 1_000_000
#: Maximum other days, and maximum values of a day.
_MOST_DAYS = 6
_BUCKETS = 60
#: The measure of the days and its column.
_BUSY = ("load", "busy_pct")


def answer(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """Return interval ends in seconds, rounded up so that a window that ends there includes the interval."""
    return {"runs": runs(sorted({-(-end_us // _SECOND_US) for end_us in _ends_us(workspace, request)}))}


def _ends_us(workspace: Workspace, request: dict[str, Any]) -> list[int]:
    workspace.system_names(request["system"])
    return sorted(
        interval.end_us
        for info in workspace.session.systems
        if info.system == request["system"]
        for interval in workspace.session.intervals_of(info)
    )


def window(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """Return the window that a text means; QueryError with examples for other texts."""
    workspace.system_names(request["system"])
    systems = [info for info in workspace.session.systems if info.system == request["system"]]
    ends_us = [info.last_us for info in systems if info.last_us is not None]
    if not ends_us:
        raise QueryError(f"{request['system']} has no times")
    zone = workspace.session.zone(request["system"]) or dt.UTC
    near = request["near"]
    day = None if near is None else parse_instant(near).astimezone(zone).date()
    try:
        start, end = parse_window(request["text"], from_unix_us(max(ends_us)), zone, day)
    except QueryError:
        if not request["lenient"]:
            raise
        return {"from": None, "to": None}
    return {"from": start.timestamp(), "to": end.timestamp()}


def days(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """Return a window and the same hours of other days, each with utilization over time."""
    ends_us = _ends_us(workspace, request)
    shown = (parse_instant(request["from"]), parse_instant(request["to"]))
    others = other_days(shown, ends_us, _MOST_DAYS) if workspace.session.has_data(_BUSY[0]) else []
    windows = sorted([shown, *others]) if others else []
    return {"column": ".".join(_BUSY), "days": [_day(workspace, request, each) for each in windows]}


def _day(workspace: Workspace, request: dict[str, Any], each: Window) -> dict[str, Any]:
    table, column = _BUSY
    start, end = (time.timestamp() for time in each)
    question = endpoints.find("POST", "aggregate").check(
        {
            "table": table,
            "columns": {column: ["mean"]},
            "system": request["system"],
            "source": request["source"],
            "from": start,
            "to": end,
            "buckets": _BUCKETS,
        }
    )
    result = aggregate.answer(workspace, question)
    at = {name: index for index, name in enumerate(result["columns"])}
    rows = sorted(json.loads(result["rows"].text), key=lambda row: row[at["t"]])
    return {
        "from": start,
        "to": end,
        "t": [row[at["t"]] for row in rows],
        "value": [row[at[f"{column}_mean"]] for row in rows],
    }


def runs(ends: Iterable[int]) -> list[list[int]]:
    """Encode evenly spaced ends as first, step and count.

    >>> runs([60, 120, 180, 300, 310])
    [[60, 60, 3], [300, 10, 2]]
    """
    result: list[list[int]] = []
    for end in ends:
        if result:
            first, step, count = result[-1]
            if count == 1 or end == first + step * count:
                result[-1] = [first, end - first if count == 1 else step, count + 1]
                continue
        result.append([end, 0, 1])
    return result
