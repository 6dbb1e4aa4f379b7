"""What reports there are, and of how many of their columns a session has values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from zlens.catalog.expressions import quote
from zlens.reports import menus
from zlens.reports.definition import FOLDER, Definition, Table, load, names
from zlens.reports.rows import Session


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the list of reports."""

    name: str
    number: str
    title: str
    group: str
    columns: int  # how many the report has
    known: int  # how many the classic report has, those included that ours leaves out
    available: int | None  # for how many of them a session has a value; None: no session was asked

    @property
    def state(self) -> str:
        """none, partial (under half of the known columns), available or complete; without a session only
        whether it is partial."""
        if self.available == 0:
            return "none"
        if self.partial:
            return "partial"
        return {None: "", self.known: "complete"}.get(self.available, "available")

    @property
    def partial(self) -> bool:
        found = self.columns if self.available is None else self.available
        return 0 < found < self.known / 2

    @property
    def counted(self) -> str:
        """Its columns of those known: `21 columns`, `12 of 15 columns`."""
        return f"{f'{self.columns} of ' if self.columns < self.known else ''}{self.known} columns"


def listing(
    session: Session | None = None, folder: Path = FOLDER, *, menu: menus.Menu | None = None
) -> list[Entry]:
    """Reports (of a menu), by group and name; with a session, how many columns it has values for."""
    definitions = [
        definition
        for definition in (load(name, folder) for name in names(folder))
        if menu is None or menu.leads_to(definition.group)
    ]
    if session is not None:
        expect(definitions, session)
    entries = []
    for definition in definitions:
        available = (
            None if session is None else values_of(definition, session, with_values(definition, session))
        )
        entries.append(entry(definition, available))
    return sorted(entries, key=lambda entry: (entry.group, entry.name))


def entry(definition: Definition, available: int | None) -> Entry:
    """The line of a report, of which so many columns have values."""
    return Entry(
        definition.name,
        definition.number,
        definition.title,
        definition.group,
        columns=definition.shown,
        known=definition.known,
        available=available,
    )


def listing_text(entries: list[Entry]) -> str:
    """The list as the command prints it."""
    lines: list[str] = []
    group = ""
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
        line += {"partial": " (partial)", "none": " (no data)"}.get(entry.state, "")
        lines.append(line)
    return "\n".join(lines) + "\n"


def expect(definitions: Iterable[Definition], session: Session) -> None:
    """Say that columns with values are asked for next."""
    session.expect(
        query
        for definition in definitions
        for table in definition.tables
        for query in (_counts(table), *_names(table))
    )


def with_values(definition: Definition, session: Session) -> set[tuple[str, str]]:
    """Columns that have at least one value."""
    found = set()
    for table in definition.tables:
        row = session.sql(_counts(table)).rows[0]
        found |= {(table.key, column.key) for column, count in zip(table.columns, row, strict=True) if count}
    return found


def values_of(definition: Definition, session: Session, filled: set[tuple[str, str]]) -> int:
    """How many of what a report shows has a value: columns, or names where these stand in rows."""
    found = 0
    for table in definition.tables:
        if not table.lines:
            found += sum(key == table.key for key, _ in filled)
            continue
        found += sum(int(str(session.sql(query).rows[0][0])) for query in _names(table))
    return found


def _counts(table: Table) -> str:
    counts = ", ".join(f"count({quote(column.column)})" for column in table.columns)
    return f"SELECT {counts} FROM ({table.query}) AS base"


def _names(table: Table) -> list[str]:
    """For each pair of columns that are names and values of rows, how many names have a value."""
    column = {column.key: quote(column.column) for column in table.columns}
    return [
        f"SELECT count(DISTINCT {column[name]}) FROM ({table.query}) AS base "
        f"WHERE {column[value]} IS NOT NULL"
        for name, value in (table.lines or {}).items()
    ]
