"""Changes printed numbers by their rounding error to bound its effect on measures.

Formulas, helpers and sums decide how much the precision of a printed number matters to a measure. Measures
are therefore computed again with the number changed: the difference is the bound, for any formula and with
the actual inputs of the source. A change is a separate system next to the unchanged one, so that one query
covers all of them. A value printed as 0.0 is not below zero.
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

#: Separator between the name of a system or machine and the number of its change; no name contains it.
CHANGE_SEPARATOR = "\n"


class RoundingChange(Struct, frozen=True):
    """A number of a raw table, increased or decreased by its precision."""

    table: str
    column: str
    up: bool

    def sql(self) -> str:
        value, precision = quote(self.column), quote(self.column + listings.PRECISION_SUFFIX)
        if self.up:
            return f"{value} + {precision}"
        return (
            f"CASE WHEN {value} >= 0 THEN greatest({value} - {precision}, 0) ELSE {value} - {precision} END"
        )


def has_rounded_values(session: CoreSession) -> bool:
    """Return whether an input has numbers with a precision."""
    return any(info.source in listings.ROUNDED_SOURCES for info in session.systems)


def rounding_changes(session: CoreSession, numbers: Iterable[tuple[str, str]]) -> list[RoundingChange]:
    """Return the changes of those numbers, as raw table and column, that the input has rounded."""
    by_table: dict[str, list[str]] = {}
    for table, column in sorted(set(numbers)):
        by_table.setdefault(table, []).append(column)
    changes = []
    printed = {name for source in session.sources if _is_printed(source) for name in source.tables}
    for table in sorted(by_table.keys() & printed):
        available = {*session.sql(f"SELECT * FROM {quote(table)}").columns}
        columns = [column for column in by_table[table] if listings.precision_column(column) in available]
        largest = ", ".join(f"max({quote(listings.precision_column(column))})" for column in columns)
        if not columns:
            continue
        ((*precisions,),) = session.sql(f"SELECT {largest} FROM {quote(table)}").rows
        for column, precision in zip(columns, precisions, strict=True):
            if precision:
                changes += [RoundingChange(table, column, up) for up in (True, False)]
    return changes


def _is_printed(source: Source) -> bool:
    return any(info.source in listings.ROUNDED_SOURCES for info in source.systems)


def perturb(session: CoreSession, changed: Sequence[RoundingChange]) -> CoreSession:
    """Return a session over its listings, with each system once per change and once unchanged."""
    unset: dict[str, Any] = dict.fromkeys(("start", "end", "shift", "peak_minutes", "throughput"))
    perturbed = session.narrow(replace(session.options, systems=(), **unset))
    names = sorted({source.name for source in session.sources if _is_printed(source)})
    perturbed.sources, perturbed._found = [_PerturbedSource(session, name, changed) for name in names], []
    return perturbed


class _PerturbedTable:
    """A raw table with its rows once per change."""

    def __init__(self, session: CoreSession, table: RawTable, changed: Sequence[RoundingChange]) -> None:
        self.name = table.name
        self.columns: tuple[RawColumn, ...] = table.columns
        self._session = session
        self._changed = changed

    def stream(self, columns: list[str]) -> ArrowSource:
        # A table of several parts is read once, with the rows of all of them.
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
    """A source with its systems once per change."""

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
                # A machine consists of the systems of one change.
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
