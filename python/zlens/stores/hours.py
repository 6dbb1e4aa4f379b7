"""Hourly means of a measure's columns for every system: from what a lake keeps by hour, else computed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from zlens.catalog import aggregation, metrics
from zlens.catalog.expressions import literal, quote
from zlens.errors import QueryError
from zlens.lake.measures import TIME
from zlens.lake.rollups import DAY_US
from zlens.session.session import Session
from zlens.stores import buckets

#: The length of an hour in microseconds.
HOUR_US = buckets.LEVELS["hour"]


class Hour(NamedTuple):
    """One hour of a system's local time.

    end      when it ends, UTC
    seconds  time covered by intervals
    sums     for each column, the sum of its values, each times its weight; None if it has none
    weights  for each column, the sum of these weights
    """

    system: str
    source: str
    end: dt.datetime
    seconds: float
    sums: tuple[float | None, ...]
    weights: tuple[float | None, ...]

    def mean(self, at: int = 0) -> float | None:
        """The mean of a column over the hour."""
        total, weight = self.sums[at], self.weights[at]
        return None if total is None or not weight else total / weight


def hours(session: Session, table: str, columns: Sequence[str]) -> list[Hour]:
    """The hours of all systems in order of time, of one source for each: the one that covers most.

    QueryError if a column has no mean over time or the measure has keys besides the system.
    """
    kept = [f"{name}_sum" for name in columns] + [f"{name}_weight" for name in columns]
    _check(table, columns)
    rows: list[tuple[object, ...]] = []
    until = _kept_until(session, table)
    if until:
        listed = ", ".join(map(quote, ["system", "source", TIME, "seconds", *kept]))
        name = f"{table}_hour"
        rows += session.select(
            f"SELECT {listed} FROM {name}", {name: ["system", "source", TIME, "seconds", *kept]}
        ).rows
    rows += _computed(session, table, kept, until)
    count = len(columns)
    found = [
        Hour(str(system), str(source), end, float(seconds or 0), values[:count], values[count:])  # type: ignore[arg-type]
        for system, source, end, seconds, *rest in rows
        for values in [tuple(None if value is None else float(value) for value in rest)]  # type: ignore[arg-type]
    ]
    return sorted(_of_one_source(found), key=lambda hour: (hour.system, hour.end))


def _check(table: str, columns: Iterable[str]) -> None:
    measure = metrics.table(table) if table in metrics.tables() else None
    if measure is None or measure.plain or measure.key:
        expected = [name for name in buckets.measures() if not metrics.table(name).key]
        raise QueryError(
            f"{table} is no measure with one row per system and interval", expected=", ".join(expected)
        )
    for name in columns:
        column = measure.column(name)
        if column is None or column.type not in ("int", "float") or aggregation.sums(column) is None:
            raise QueryError(f"{table}.{name} has no mean over time", expected="a rate, ratio or gauge")


def _kept_until(session: Session, table: str) -> dict[str, int]:
    """The end of the last hour that the lake keeps of each system, in microseconds."""
    name = f"{table}_hour"
    if name not in session.engine.raw_tables():
        return {}
    rows = session.select(
        f"SELECT system, max(epoch_us({TIME})) FROM {name} GROUP BY system", {name: ["system", TIME]}
    ).rows
    return {str(system): int(end) for system, end in rows}


def _computed(
    session: Session, table: str, kept: Sequence[str], until: dict[str, int]
) -> list[tuple[object, ...]]:
    """The hours after those that the lake keeps."""
    if not session.fills(table):
        return []
    offsets: dict[tuple[str, str], int] = {}
    days: list[int] = []
    for info in session.systems:
        if info.first_us is None or info.last_us is None:
            continue
        first_us = max(info.first_us, until.get(info.system, info.first_us))
        # The last interval of a kept hour may end some milliseconds after it.
        if info.last_us - first_us < HOUR_US // 60 and info.system in until:
            continue
        offset = info.utc_offset_s or 0
        offsets[info.system, info.source] = offset
        days += [(moment + offset * 1_000_000) // DAY_US for moment in (first_us - 1, info.last_us)]
    if not days:
        return []
    systems = sorted({system for system, _ in offsets})
    every = buckets.query(table, systems, offsets, (min(days), max(days)))
    late = " OR ".join(
        f"(system = {literal(system)} AND epoch_us({TIME}) > {until.get(system, 0)})" for system in systems
    )
    listed = ", ".join(map(quote, ["system", "source", TIME, "seconds", *kept]))
    query = f"SELECT {listed} FROM ({every}) WHERE _level = 'hour' AND ({late})"
    return session.sql(query).rows


def _of_one_source(found: list[Hour]) -> list[Hour]:
    covered: dict[str, dict[str, float]] = {}
    for hour in found:
        of_system = covered.setdefault(hour.system, {})
        of_system[hour.source] = of_system.get(hour.source, 0.0) + hour.seconds
    best = {
        system: max(sources, key=lambda name: (sources[name], name)) for system, sources in covered.items()
    }
    return [hour for hour in found if best[hour.system] == hour.source]
