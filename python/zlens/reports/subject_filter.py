"""Limits a report to some subjects: one device, some guests, a processor (`--only`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from zlens.catalog.expressions import literal, quote
from zlens.catalog.reports.definition import ReportDefinition, ReportTable, RowKind
from zlens.errors import QueryError
from zlens.schema.wording import phrase

if TYPE_CHECKING:
    from zlens.session.session import CoreSession

#: Maximum subjects listed in a message.
NAMED = 8


def filter_subjects(
    definition: ReportDefinition, only: Sequence[str], session: CoreSession
) -> ReportDefinition:
    """Return the report limited to subjects that match the names; `*` matches any characters, `?` one.

    Names match the shown columns that identify subjects, and the first of these columns even if not shown.
    QueryError if no subject matches.
    """
    tables = tuple(_table(table, only) for table in definition.tables)
    if not any(session.sql(f"SELECT 1 FROM ({table.query}) AS base LIMIT 1").rows for table in tables):
        requested = ", ".join(repr(name) for name in only)
        table = definition.tables[0]
        name = quote(table.subject[0])
        subjects = session.sql(
            f"SELECT DISTINCT {name} FROM ({table.query}) AS base "
            f"WHERE {name} IS NOT NULL ORDER BY 1 LIMIT {NAMED + 1}"
        ).rows
        names = [str(row[0]) for row in subjects[:NAMED]] + ["..."] * (len(subjects) > NAMED)
        raise QueryError(
            f"{definition.name} has no rows for {requested}",
            expected=f"one of {', '.join(names)}" if names else None,
            cure=phrase("only_out"),
        )
    return replace(definition, tables=tables)


def _table(table: ReportTable, only: Sequence[str]) -> ReportTable:
    shown = {column.column for column in table.columns}
    identifying = [name for index, name in enumerate(table.subject) if index == 0 or name in shown]
    rows = tuple(limited for rows in table.rows if (limited := _rows(rows, identifying, shown, only)))
    return replace(table, query=_where(table.query, identifying, only), rows=rows)


def _rows(rows: RowKind, identifying: list[str], shown: set[str], only: Sequence[str]) -> RowKind | None:
    """Return the rows limited to the subjects; None for rows with their own query over all subjects."""
    if not rows.query:
        return rows
    shown_names = [name for name in identifying if name in shown]
    return replace(rows, query=_where(rows.query, shown_names, only)) if shown_names else None


def _where(query: str, names: Sequence[str], only: Sequence[str]) -> str:
    tests = [
        rf"upper(CAST({quote(name)} AS VARCHAR)) LIKE {literal(_pattern(pattern))} ESCAPE '\'"
        for name in names
        for pattern in only
    ]
    return f"SELECT * FROM ({query}) AS every_one WHERE {' OR '.join(tests)}"


def _pattern(text: str) -> str:
    return re.sub(r"([\\%_])", r"\\\1", text.strip().upper()).replace("*", "%").replace("?", "_")
