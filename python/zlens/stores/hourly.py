"""Hourly means of a measure's columns for every system, from stored hours of a lake or computed."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from msgspec.structs import replace

from zlens.catalog import aggregation, measures
from zlens.catalog.expressions import literal, quote
from zlens.engine.results import python_time
from zlens.errors import QueryError
from zlens.inputs.source import SystemInfo
from zlens.lake.rollup_reader import BUCKET_END
from zlens.lake.rollups import DAY_US
from zlens.session.session import CoreSession
from zlens.stores import bucket_sql

#: The length of an hour in microseconds.
HOUR_US = bucket_sql.LEVELS["hour"]
#: SQL of the end of an hour.
_END_US = f"epoch_us({BUCKET_END})"
#: Shorter differences of intervals, in seconds, are due to their clocks.
_LEAST_S = 1.0


class Hour(NamedTuple):
    """One hour of a system's local time.

    end      end of the hour, UTC
    seconds  time covered by intervals
    sums     for each column, the sum of value times weight; None if there are no values
    weights  for each column, the sum of the weights
    keys     values of the keys of the measure
    """

    system: str
    source: str
    end: dt.datetime
    seconds: float
    sums: tuple[float | None, ...]
    weights: tuple[float | None, ...]
    keys: tuple[str | None, ...] = ()

    def mean(self, at: int = 0) -> float | None:
        """Return the mean of a column over the hour; None if it has no values."""
        total, weight = self.sums[at], self.weights[at]
        return total / weight if total is not None and weight else None


def mean(hours: Iterable[Hour], at: int = 0) -> float | None:
    """Return the mean of a column over hours; None if it has no values."""
    known = [(hour.sums[at], hour.weights[at]) for hour in hours]
    pairs = [(total, weight) for total, weight in known if total is not None and weight]
    return (
        math.fsum(total for total, _ in pairs) / math.fsum(weight for _, weight in pairs) if pairs else None
    )


def hourly_values(session: CoreSession, table: str, columns: Sequence[str]) -> list[Hour]:
    """Return the hours of all systems in order of time, each from the source that covers most of its time.

    Raises QueryError if a column has no mean over time or the measure has keys besides the system.
    """
    _check(table, columns)
    hours = _hours(session, table, columns, _last_stored_hours(session, table))
    return sorted(_of_one_source(hours), key=itemgetter(0, 2))


def hours_of_machine(
    session: CoreSession, machine: str, table: str, columns: Sequence[str]
) -> list[list[Hour]]:
    """Return the hours of each subject of a machine in order of time. The measure's first key is the machine.

    An hour occurs twice if two systems report parts of it.
    """
    infos = [info for info in session.systems if info.machine == machine]
    # Hours of an unknown time zone do not match those of other systems.
    infos = [info for info in infos if not info.local_time] or infos
    owners = {(info.system, info.source) for info in infos}
    names = tuple(sorted({name for name, _ in owners}))
    with session.narrow(replace(session.options, systems=names)) as narrowed:
        last = _last_of_machine(narrowed, table, machine)
        hours = _hours(narrowed, table, columns, dict.fromkeys(owners, last) if last is not None else {})
    by_keys = sorted(
        (hour for hour in hours if hour.keys[0] == machine and (hour.system, hour.source) in owners),
        key=lambda hour: ([key or "" for key in hour.keys], hour.end),
    )
    return [list(group) for _, group in groupby(by_keys, key=lambda hour: hour.keys)]


def _hours(
    session: CoreSession, table: str, columns: Sequence[str], last: dict[tuple[str, str], _Last]
) -> list[Hour]:
    values = [f"{name}_sum" for name in columns] + [f"{name}_weight" for name in columns]
    keys = list(measures.load_measure(table).key)
    selected_columns = ["system", "source", BUCKET_END, *keys, "seconds", *values]
    key_count = 3 + len(keys)
    # `Any`: type checks of each value are too slow for the hundreds of thousands of rows of a fleet.
    rows: list[Any] = _computed(session, table, selected_columns, last)
    computed = {row[:key_count] for row in rows}
    if last:
        name = f"{table}_hour"
        stored = session.queries.select(
            f"SELECT {_numbers(selected_columns, key_count)} FROM {name}", {name: selected_columns}
        ).rows
        rows += [row for row in stored if row[:key_count] not in computed] if computed else stored
    weights = key_count + 1 + len(columns)
    return [
        Hour(
            row[0], row[1], python_time(row[2]), row[key_count] or 0.0,
            row[key_count + 1 : weights], row[weights:], row[3:key_count],
        )
        for row in rows
    ]  # fmt: skip


def _numbers(columns: Sequence[str], key_count: int) -> str:
    """Return the SELECT list: ends in microseconds since 1970, floats after `key_count` columns."""
    plain = [_END_US if name == BUCKET_END else quote(name) for name in columns[:key_count]]
    return ", ".join(plain + [f"CAST({quote(name)} AS DOUBLE)" for name in columns[key_count:]])


def _check(table: str, columns: Iterable[str]) -> None:
    measure = measures.load_measure(table) if table in measures.measure_names() else None
    if measure is None or measure.plain or measure.key:
        expected = [name for name in bucket_sql.measures() if not measures.load_measure(name).key]
        message = f"{table} is not a measure with one row per system and interval"
        raise QueryError(message, expected=", ".join(expected))
    for name in columns:
        column = measure.column(name)
        is_number = column is not None and column.type in ("int", "float")
        if column is None or not is_number or aggregation.sum_and_weight_sql(column) is None:
            raise QueryError(f"{table}.{name} has no mean over time", expected="a rate, ratio or gauge")


class _Last(NamedTuple):
    """Last stored hour: its end in microseconds since 1970, and the seconds that intervals cover."""

    end_us: int
    seconds: float


def _last_stored_hours(session: CoreSession, table: str) -> dict[tuple[str, str], _Last]:
    """Return the last stored hour by system and source."""
    name = f"{table}_hour"
    if name not in session.engine.raw_tables():
        return {}
    query = f"SELECT system, source, max({_END_US}), arg_max(seconds, {BUCKET_END}) FROM {name} GROUP BY ALL"
    rows = session.queries.select(query, {name: ["system", "source", BUCKET_END, "seconds"]}).rows
    return {(system, source): _Last(end, seconds or 0.0) for system, source, end, seconds in rows}


def _last_of_machine(session: CoreSession, table: str, machine: str) -> _Last | None:
    """Return the last stored hour of a machine, from any of its systems; None if there is none."""
    name = f"{table}_hour"
    if name not in session.engine.raw_tables():
        return None
    last = f"SELECT max({_END_US}), arg_max(seconds, ({_END_US}, seconds)) FROM {name}"
    query = f"{last} WHERE machine = {literal(machine)}"
    ((end, seconds),) = session.queries.select(query, {name: ["machine", BUCKET_END, "seconds"]}).rows
    return None if end is None else _Last(end, seconds or 0.0)


def _is_complete(info: SystemInfo, last: _Last) -> bool:
    """Return whether the last stored hour includes all available intervals up to the newest."""
    end_us, seconds = last
    if info.ends_us is not None:
        first_us, last_us = info.ends_us
        usual_us = round((info.nominal_s or 0) * 1_000_000)
        covered_us = min(last_us, end_us) - max(first_us - usual_us, end_us - HOUR_US)
        if last_us - usual_us // 2 <= end_us and seconds >= covered_us / 1e6 - _LEAST_S:
            # The hour is complete. This avoids reading intervals, which is slow for a thousand systems.
            return True
    for interval in reversed(info.intervals):
        middle_us = interval.end_us - round((interval.seconds or 0) * 500_000)
        if middle_us > end_us:
            return False
        if middle_us <= end_us - HOUR_US:
            break
        if interval.flag is None:
            seconds -= interval.seconds or 0.0
    return seconds > -_LEAST_S


def _computed(
    session: CoreSession, table: str, columns: Sequence[str], stored: dict[tuple[str, str], _Last]
) -> list[tuple[object, ...]]:
    """Compute the hours that the lake does not store, and a system's last one if it has new intervals."""
    if not session.has_data(table):
        return []
    offsets: dict[tuple[str, str], int] = {}
    days: list[int] = []
    conditions: list[str] = []
    for info in session.systems:
        key = info.system, info.source
        last = stored.get(key)
        if info.first_us is None or info.last_us is None or (last is not None and _is_complete(info, last)):
            continue
        offsets[key] = info.utc_offset_s or 0
        first_us = info.first_us if last is None else last.end_us - HOUR_US
        days += [(us + offsets[key] * 1_000_000) // DAY_US for us in (first_us, info.last_us)]
        same = f"system = {literal(info.system)} AND source = {literal(info.source)}"
        conditions.append(same if last is None else f"{same} AND {_END_US} >= {last.end_us}")
    if not days:
        return []
    systems = sorted({system for system, _ in offsets})
    buckets = bucket_sql.buckets_sql(table, systems, offsets, (min(days) - 1, max(days)))
    where = " OR ".join(f"({condition})" for condition in conditions)
    key_count = columns.index("seconds")
    query = f"SELECT {_numbers(columns, key_count)} FROM ({buckets}) WHERE _level = 'hour' AND ({where})"
    names = [column.name for column in measures.load_measure(table).columns]
    return session.queries.select(query, {table: names}).rows


def _of_one_source(hours: list[Hour]) -> list[Hour]:
    covered: dict[str, dict[str, float]] = {}
    for hour in hours:
        of_system = covered.setdefault(hour.system, {})
        of_system[hour.source] = of_system.get(hour.source, 0.0) + hour.seconds
    best = {system: max(sources, key=lambda one: (sources[one], one)) for system, sources in covered.items()}
    return [hour for hour in hours if best[hour.system] == hour.source]
