"""The rows that a question of the page is about, and the buckets of whole intervals it puts them into."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from typing import Any

from zlens.catalog.blocks import Window
from zlens.catalog.expressions import literal, quote
from zlens.errors import QueryError
from zlens.server.place import Place, moment

#: Columns of which one tells when a row is of.
TIMES = ("interval_end", "time")


def of_columns(asked: dict[str, Any], types: Mapping[str, str]) -> dict[str, str]:
    """What holds for the columns of the rows that are asked for, as SQL says it."""
    held = {}
    for name, value in asked["where"].items():
        if name not in types:
            raise QueryError(
                f"{asked['table']} has no column {name!r}", cure=f"DESCRIBE {asked['table']} lists them"
            )
        held[name] = is_one_of(name, value if isinstance(value, list) else [value])
    return held


def window(asked: dict[str, Any]) -> Window:
    """The times that are asked for."""
    start, end = (
        None if asked[name] is None else _instant(asked[name]).timestamp() for name in ("from", "to")
    )
    return Window(start, end)


def conditions(asked: dict[str, Any], types: Mapping[str, str]) -> list[str]:
    """What holds for the rows that are asked for, as SQL says it."""
    held = [is_one_of("system", [asked["system"]])] if asked["system"] is not None else []
    held += of_columns(asked, types).values()
    for name, sign in (("from", ">"), ("to", "<=")):
        if asked[name] is not None:
            held.append(f"{_time(asked['table'], types)} {sign} {_literal(_instant(asked[name]))}")
    return held


def _time(table: str, types: Mapping[str, str]) -> str:
    for name in TIMES:
        if name in types:
            return name
    raise QueryError(f"{table} has no times", cure="leave from and to out")


def _instant(value: float | str) -> dt.datetime:
    found = moment(value)
    if found.date is None:
        raise QueryError(f"{value!r} has no date", expected="seconds since 1970, or a date with a time")
    return found.utc(dt.UTC, found.date)


def is_one_of(name: str, wanted: Sequence[Any]) -> str:
    """SQL: a column has one of some values."""
    there = [_literal(value) for value in wanted if value is not None]
    parts = [f"{quote(name)} IN ({', '.join(there)})"] if there else []
    if None in wanted:
        parts.append(f"{quote(name)} IS NULL")
    return f"({' OR '.join(parts)})" if parts else "false"


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        return f"TIMESTAMPTZ '{value.isoformat(sep=' ')}'"
    return repr(value) if isinstance(value, int | float) else literal(str(value))


def buckets(place: Place, asked: dict[str, Any], most: int) -> tuple[float, float]:
    """Length of a bucket and of an interval; 0 where all intervals are no more than `most`."""
    infos = [
        info
        for info in place.session.systems
        if info.nominal_s and asked["system"] in (None, info.system) and info.first_us is not None
    ]
    if not infos:
        return 0.0, 0.0
    every = place.session.options.every_s
    nominal = max(min(info.nominal_s or 0.0 for info in infos), every or 0.0)
    first = min(info.first_us or 0 for info in infos) / 1e6
    last = max(info.last_us or 0 for info in infos) / 1e6
    if asked["from"] is not None:
        first = max(first, _instant(asked["from"]).timestamp())
    if asked["to"] is not None:
        last = min(last, _instant(asked["to"]).timestamp())
    # Times of intervals move a little: what is one more by a hair is none.
    intervals = math.ceil((last - first) / nominal - 0.01)
    if intervals <= most:
        return 0.0, nominal
    return math.ceil(intervals / most) * nominal, nominal


def time_of(width: float, nominal: float) -> str:
    """SQL of the time that a row belongs to: its interval's end, or that of its bucket."""
    if not width:
        return "epoch(interval_end)"
    # Where the middle of an interval lies decides: it ends some milliseconds after what names it.
    return f"(floor((epoch(interval_end) - {nominal / 2!r}) / {width!r}) + 1) * {width!r}"
