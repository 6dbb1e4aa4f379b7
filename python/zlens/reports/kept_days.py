"""Days of a lake without raw tables: reports that add amounts take them from the measures by day."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from msgspec.structs import replace

from zlens.catalog import measures
from zlens.catalog.expressions import literal, quote
from zlens.catalog.local_days import DAY_US, day_sql, middle_sql
from zlens.catalog.reports.definition import ReportDefinition
from zlens.inputs.source import kept_days

if TYPE_CHECKING:
    from zlens.session.session import CoreSession


def with_kept_days(definition: ReportDefinition, session: CoreSession) -> ReportDefinition:
    """Return a report whose queries take such days from the measures by day (`kept`), and others as usual."""
    if not definition.kept or not kept_days(session.sources):
        return definition

    def query(sql: str) -> str:
        for name in definition.kept:
            sql = re.sub(rf"\bFROM {name}\b", f"FROM {_rows_sql(name, session)} AS {name}", sql)
        return sql

    return replace(
        definition,
        members=query(definition.members),
        notes=tuple(replace(note, when=query(note.when)) for note in definition.notes),
        tables=tuple(replace(table, query=query(table.query)) for table in definition.tables),
    )


def note(definition: ReportDefinition, session: CoreSession, systems: set[str]) -> str | None:
    """Return which days of some systems a report takes from the measures by day; None for none."""
    days = kept_days(session.sources) if definition.kept else {}
    shown = sorted((listed, system) for system, listed in days.items() if system in systems)
    parts = [
        f"{', '.join(system for _, system in members)} {listed[0]}"
        + (f" to {listed[-1]} ({len(listed)} days)" if len(listed) > 1 else "")
        for listed, members in groupby(shown, key=lambda each: each[0])
    ]
    return f"From measures by day, as raw tables are removed: {'; '.join(parts)}." if parts else None


def _rows_sql(name: str, session: CoreSession) -> str:
    """Return a subquery with the columns that a measure and its days have in common."""
    table = measures.load_measure(name)
    columns = [
        *("system", "source", "seconds"),
        *(column.name for column in table.columns if column.name not in measures.LEADING_NAMES),
    ]
    listed = ", ".join(map(quote, columns))
    offsets = " ".join(
        f"WHEN system = {literal(info.system)} AND source = {literal(info.source)} "
        f"THEN {info.utc_offset_s * 1_000_000}"
        for info in session.systems
        if info.utc_offset_s
    )
    offset = f"CASE {offsets} ELSE 0 END" if offsets else "0"
    kept = ", ".join(
        f"({literal(system)}, {literal(day)})"
        for system, days in kept_days(session.sources).items()
        for day in days
    )

    def is_kept(day: str) -> str:
        return f"(system, strftime(DATE '1970-01-01' + CAST({day} AS INTEGER), '%Y-%m-%d')) IN ({kept})"

    own = is_kept(day_sql(middle_sql(offset)))
    ended = is_kept(f"((epoch_us(bucket_end) + {offset}) // {DAY_US} - 1)")
    rows = f"SELECT {listed} FROM {name} WHERE NOT {own}"
    return f"({rows} UNION ALL SELECT {listed} FROM {name}_day WHERE {ended})"
