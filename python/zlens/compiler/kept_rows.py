"""Rows of ledgers in a session with kept days: of days of a lake without raw tables, and with groups.

Such days come from the measures by day of the lake, which have the members of the user's groups: other days
have them, too, and each row has the name of its group.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence

from msgspec import Struct

from zlens.catalog import measures
from zlens.catalog.expressions import literal, quote
from zlens.catalog.local_days import DAY_US, day_sql, middle_sql
from zlens.catalog.roles import SQL_TYPES

#: Columns that decide on the day of a row.
READS = ("system", "source", "interval_end", "seconds")


class KeptDays(Struct, frozen=True):
    """Local days of systems that have measures by day, but not all raw tables, counted from 1970.

    whole       those whose recorded time is selected
    partial     those of which only a part is, so that they have only what raw tables still have of them
    offsets_us  local time minus UTC by system and source in microseconds, where it is not 0
    """

    whole: Mapping[str, tuple[int, ...]] = {}
    partial: Mapping[str, tuple[int, ...]] = {}
    offsets_us: Mapping[tuple[str, str], int] = {}


def table(measure: str) -> str:
    """Return the name of the table with the days of a measure."""
    return f"{measure}_day"


def has_days(measure: str, kept: KeptDays | None, raw: Container[str]) -> bool:
    """Return whether a measure has rows of kept days in an input with these raw tables."""
    if kept is None or not any(kept.whole.values()) or table(measure) not in raw:
        return False
    return measures.load_measure(measure).repeats


def sql(measure: str, rows: str, columns: Sequence[str], kept: KeptDays, stored: Collection[str]) -> str:
    """Return SQL of columns of a measure's rows, with kept days in place of what raw tables have of them.

    columns  at least READS
    stored   columns of the table with the days
    """
    offsets = " ".join(
        f"WHEN system = {literal(system)} AND source = {literal(source)} THEN {offset}"
        for (system, source), offset in kept.offsets_us.items()
    )
    offset = f"CASE {offsets} ELSE 0 END" if offsets else "0"
    types = {column.name: SQL_TYPES[column.type] for column in measures.load_measure(measure).columns}
    named = {"interval_end": "bucket_end"} | {name: quote(name) for name in stored if name != "interval_end"}
    listed = ", ".join(
        f"{named.get(column, f'CAST(NULL AS {types[column]})')} AS {quote(column)}" for column in columns
    )
    selected = ", ".join(map(quote, columns))
    own, ended = day_sql(middle_sql(offset)), f"((epoch_us(bucket_end) + {offset}) // {DAY_US} - 1)"
    recorded = f"SELECT {selected} FROM ({rows}) WHERE NOT {_among(own, kept.whole)}"
    return f"{recorded} UNION ALL SELECT {listed} FROM {table(measure)} WHERE {_among(ended, kept.whole)}"


def _among(day: str, days: Mapping[str, tuple[int, ...]]) -> str:
    """Return SQL of whether the day of a row is one of its system's."""
    listed = ", ".join(
        f"({literal(system)}, {number})" for system, numbers in days.items() for number in numbers
    )
    return f"(system, CAST({day} AS BIGINT)) IN ({listed})"
