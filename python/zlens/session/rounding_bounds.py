"""Changes printed numbers by their rounding error to bound its effect on measures.

Formulas, helpers and sums decide how much the precision of a printed number matters to a measure. So
measures are computed again with the number changed: what they then differ by is the bound, for any formula
and with the inputs that the source really gives. A change is a system of its own beside the unchanged one, so
that one query answers for all of them. A value printed as 0.0 is not below zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from zlens.catalog import listings
from zlens.catalog.expressions import quote
from zlens.catalog.raw_columns import RawColumn
from zlens.inputs.source import ArrowSource, FilelessSource, Interval, RawTable, Source
from zlens.inputs.unix_time import to_unix_us
from zlens.session.session import CoreSession

#: Between the name of a system or a machine and the number of its change; no name has it.
CHANGE_SEPARATOR = "\n"
_OPTIONS: dict[str, Any] = {
    "systems": (),
    "start": None,
    "end": None,
    "shift": None,
    "peak_minutes": None,
    "throughput": None,
}


class RoundingChange(Struct, frozen=True):
    """A number of a raw table that is half a unit of its last digit larger or smaller."""

    table: str
    column: str
    up: bool

    def sql(self) -> str:
        value, half = quote(self.column), quote(self.column + listings.PRECISION_SUFFIX)
        if self.up:
            return f"{value} + {half}"
        return f"CASE WHEN {value} >= 0 THEN greatest({value} - {half}, 0) ELSE {value} - {half} END"


def has_rounded_values(session: CoreSession) -> bool:
    """Whether an input has numbers with a precision."""
    return any(info.source in listings.ROUNDED_SOURCES for info in session.systems)


def rounding_changes(session: CoreSession, numbers: Iterable[tuple[str, str]]) -> list[RoundingChange]:
    """The changes of those numbers, as raw table and column, that the input has rounded."""
    by_table: dict[str, list[str]] = {}
    for table, column in sorted(set(numbers)):
        by_table.setdefault(table, []).append(column)
    found = []
    for table in sorted(by_table.keys() & _printed_tables(session)):
        known = {*session.sql(f"SELECT * FROM {quote(table)}").columns}
        columns = [column for column in by_table[table] if listings.precision_column(column) in known]
        largest = ", ".join(f"max({quote(listings.precision_column(column))})" for column in columns)
        if not columns:
            continue
        ((*halves,),) = session.sql(f"SELECT {largest} FROM {quote(table)}").rows
        for column, half in zip(columns, halves, strict=True):
            if half:
                found += [RoundingChange(table, column, up) for up in (True, False)]
    return found


def _printed_tables(session: CoreSession) -> set[str]:
    """Raw tables with rows of printed sources."""
    printed = (source for source in session.sources if _is_printed(source))
    return {name for source in printed for name in source.tables}


def _is_printed(source: Source) -> bool:
    return any(info.source in listings.ROUNDED_SOURCES for info in source.systems)


def perturb(session: CoreSession, changed: Sequence[RoundingChange]) -> CoreSession:
    """The listings of a session with their systems once for each change, and once as they are."""
    beside = session.narrow(replace(session.options, **_OPTIONS))
    names = sorted({source.name for source in session.sources if _is_printed(source)})
    beside.sources, beside._found = [_PerturbedSource(session, name, changed) for name in names], []
    return beside


class _PerturbedTable:
    """A raw table with its rows once for each change."""

    def __init__(self, session: CoreSession, table: RawTable, changed: Sequence[RoundingChange]) -> None:
        self.name = table.name
        self.columns: tuple[RawColumn, ...] = table.columns
        self._session = session
        self._changed = changed

    def stream(self, columns: list[str]) -> ArrowSource:
        # A table that several parts have is read once, with the rows of all of them.
        numbers = ", ".join(f"({number})" for number in range(len(self._changed) + 1))
        selected = ", ".join(f"{self._value(column)} AS {quote(column)}" for column in columns)
        query = f"SELECT {selected} FROM {quote(self.name)} CROSS JOIN (VALUES {numbers}) AS c(change)"
        return self._session.sql(query)

    def _value(self, column: str) -> str:
        if column == "system":
            return f"system || '{CHANGE_SEPARATOR}' || change"
        own = [
            f"WHEN {number} THEN {change.sql()}"
            for number, change in enumerate(self._changed, 1)
            if (change.table, change.column) == (self.name, column)
        ]
        return f"CASE change {' '.join(own)} ELSE {quote(column)} END" if own else quote(column)


class _PerturbedSource(FilelessSource):
    """A source of systems once for each change."""

    def __init__(self, session: CoreSession, name: str, changed: Sequence[RoundingChange]) -> None:
        self.name = name
        sources = [source for source in session.sources if source.name == name and _is_printed(source)]
        own = {(info.system, info.source) for source in sources for info in source.systems}
        intervals: dict[tuple[str, str], list[Interval]] = {}
        for system, source, end, seconds, flag in session.sql(
            "SELECT system, source, interval_end, seconds, flag FROM interval ORDER BY interval_end"
        ).rows:
            end_us = to_unix_us(end)
            intervals.setdefault((system, source), []).append(Interval(end_us, seconds, flag))
        self.systems = [
            replace(
                info,
                system=f"{info.system}{CHANGE_SEPARATOR}{number}",
                # A machine is the systems of one change.
                serial=info.serial and f"{info.serial}{CHANGE_SEPARATOR}{number}",
                known=intervals.get((info.system, info.source), []),
            )
            for info in session.systems
            if (info.system, info.source) in own
            for number in range(len(changed) + 1)
        ]
        self.tables: dict[str, list[RawTable]] = {
            name: [_PerturbedTable(session, source.tables[name][0], changed)]
            for source in reversed(sources)
            for name in source.tables
            if name in listings.tables() or name.startswith(listings.RMF)
        }
