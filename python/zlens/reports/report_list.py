"""The list of reports, with the number of columns for which a session has values."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from zlens.catalog.expressions import quote
from zlens.catalog.reports import menus
from zlens.catalog.reports.definition import FOLDER, ReportDefinition, ReportTable, load_report, names
from zlens.reports.from_listing import read_from_listing

if TYPE_CHECKING:
    from zlens.session.session import CoreSession


_WIDTH = 100  # of the last lines of the list


class ReportEntry(Struct, frozen=True):
    """An entry of the list of reports."""

    name: str
    number: str
    title: str
    group: str
    columns: int  # columns of the report
    known: int  # columns of the classic report, including those that zlens omits
    available: int | None  # columns with values in a session; None: no session

    @property
    def state(self) -> str:
        """Availability: none, partial (under half of the known columns), available or complete.

        Without a session: partial or empty.
        """
        if self.available == 0:
            return "none"
        if self.partial:
            return "partial"
        return {None: "", self.known: "complete"}.get(self.available, "available")

    @property
    def partial(self) -> bool:
        columns = self.columns if self.available is None else self.available
        return 0 < columns < self.known / 2

    @property
    def counted(self) -> str:
        """Number of columns: `21 columns`, `12 of 15 columns`."""
        return f"{f'{self.columns} of ' if self.columns < self.known else ''}{self.known} columns"


def list_reports(
    session: CoreSession | None = None, folder: Path = FOLDER, *, menu: menus.Menu | None = None
) -> list[ReportEntry]:
    """Return the reports (of a menu) by group and name; with a session, the number of columns with values."""
    definitions = [
        definition
        for definition in (load_report(name, folder) for name in names(folder))
        if menu is None or not menu.groups or definition.group in menu.groups
    ]
    counts = {} if session is None else value_counts(definitions, session)
    entries = []
    for definition in definitions:
        available = None if session is None else report_values(definition, session, counts).count
        entries.append(entry(definition, available))
    return sorted(entries, key=lambda entry: (entry.group, entry.name))


def entry(definition: ReportDefinition, available: int | None) -> ReportEntry:
    """Return the entry of a report with `available` columns with values."""
    return ReportEntry(
        definition.name,
        definition.number,
        definition.title,
        definition.group,
        columns=definition.shown_count,
        known=definition.known_count,
        available=available,
    )


def format_report_list(entries: list[ReportEntry]) -> str:
    """Return the list as the command prints it; with a session, reports without data only by name."""
    lines: list[str] = []
    group = ""
    empty = [entry.name for entry in entries if entry.state == "none"]
    entries = [entry for entry in entries if entry.state != "none"]
    width = max((len(entry.name) for entry in entries), default=0)
    number = max([7, *(len(entry.number) for entry in entries)])
    title = max((len(entry.title) for entry in entries), default=0)
    counted = max((len(entry.counted) for entry in entries), default=0)
    for entry in entries:
        if entry.group != group:
            group = entry.group
            lines += ([""] if lines else []) + [menus.heading(group)]
        line = f"  {entry.name:<{width}}  {entry.number:<{number}} {entry.title:<{title}}"
        line += f"  {entry.counted:>{counted}}"
        if entry.available is not None:
            line += f", {entry.available} available"
        line += " (partial)" if entry.partial else ""
        lines.append(line)
    if empty:
        lines += [""] if lines else []
        text = f"Without data in this input: {', '.join(empty)}. Each of them names the input that it needs."
        lines += textwrap.wrap(text, _WIDTH, break_on_hyphens=False, break_long_words=False)
    return "\n".join(lines) + "\n"


class ReportValues(Struct, frozen=True):
    """Columns of a report with values in a session.

    columns  table key and column key of the columns with at least one value
    count    number of columns with values, or of names if a table has them in rows
    """

    columns: frozenset[tuple[str, str]]
    count: int


def value_counts(definitions: Iterable[ReportDefinition], session: CoreSession) -> dict[str, list[int]]:
    """Return the numbers of values of the columns of tables with data, by the query of a table.

    Several reports have the same table.
    """
    queries = {
        table.query: _counts(table)
        for definition in definitions
        for table in read_from_listing(definition, session).tables
        if session.queries.query_has_data(table.query)
    }
    distinct = [*dict.fromkeys(queries.values())]
    for _ in session.queries.stages(distinct):
        pass
    rows = session.queries.select_together(distinct)
    counts = {query: json.loads(row[0]) for query, [row] in zip(distinct, rows, strict=True)}
    return {query: counts[counted] for query, counted in queries.items()}


def report_values(
    definition: ReportDefinition, session: CoreSession, counts: Mapping[str, Sequence[int]]
) -> ReportValues:
    """Return the columns of a report with values, and their number. `counts` are those of `value_counts`."""
    filled: set[tuple[str, str]] = set()
    total = 0
    if not definition.describes(info.release for info in session.systems):
        return ReportValues(frozenset(), 0)
    for table in read_from_listing(definition, session).tables:
        if table.query not in counts:
            continue
        row = counts[table.query]
        with_values = {
            (table.key, column.key) for column, count in zip(table.columns, row, strict=False) if count
        }
        filled |= with_values
        total += sum(row[len(table.columns) :]) if table.lines else len(with_values)
    return ReportValues(frozenset(filled), total)


def _counts(table: ReportTable) -> str:
    """Return the query of the number of values per column, then of names with a value for each pair."""
    column = {column.key: quote(column.column) for column in table.columns}
    counts = [f"count({name})" for name in column.values()]
    counts += [
        f"count(DISTINCT {column[name]}) FILTER (WHERE {column[value]} IS NOT NULL)"
        for name, value in (table.lines or {}).items()
    ]
    return f"SELECT [{', '.join(counts)}] FROM ({table.query}) AS base"
