"""What reports there are, what they need, and where every column comes from."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from zlens.catalog import caveats
from zlens.reports import facts, menus
from zlens.reports.definition import FOLDER, Column, Definition, Rows, Table, load, names
from zlens.reports.rows import Session, quoted

_WIDTH = 100


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
    counts = ", ".join(f"count({quoted(column.column)})" for column in table.columns)
    return f"SELECT {counts} FROM ({table.query}) AS base"


def _names(table: Table) -> list[str]:
    """For each pair of columns that are names and values of rows, how many names have a value."""
    column = {column.key: quoted(column.column) for column in table.columns}
    return [
        f"SELECT count(DISTINCT {column[name]}) FROM ({table.query}) AS base "
        f"WHERE {column[value]} IS NOT NULL"
        for name, value in (table.lines or {}).items()
    ]


def explain_report(wanted: str, folder: Path = FOLDER) -> str:
    """What a report is, and for each column what it shows, from where, and why it may be dotted."""
    definition = load(wanted, folder)
    known = f"{definition.name.upper()} {definition.number}".strip()
    lines = [f"{known}: {definition.title}", ""]
    lines += _wrapped(definition.text, "")
    lines += ["", f"Group   {definition.group}"]
    lines += _wrapped(definition.source, "Source  ")
    lines += [f"Status  {definition.status}"]
    lines += _wrapped(definition.needs, "Needs   ")
    for table in definition.tables:
        if table.title:
            lines += ["", table.title]
        for rows in table.rows:
            lines += _wrapped(
                _ROWS[rows.kind].format(of=_KINDS[rows.of]), f"Rows    {rows.label or _label(rows):<8} "
            )
        for column in table.columns:
            lines += ["", *_column(column)]
    for absent in definition.absent:
        lines += ["", *_wrapped(", ".join(absent.columns), "Absent  ")]
        lines += _wrapped(f"would come from {absent.role}; {absent.why}", "        ")
    for note in definition.notes:
        lines += ["", *_wrapped(note.text, "Note    ")]
    for fault in caveats.lines(caveats.about(report=definition.name)):
        lines += ["", *_wrapped(fault, "Fault   ")]
    return "\n".join(line.rstrip() for line in lines) + "\n"


_KINDS = {"mean": "mean rows", "interval": "rows of each interval", "row": "rows"}
_ROWS = {
    "mean": "one per subject: the plain mean of its intervals, without those flagged gap or short and those "
    "that have no value",
    "total": "totals of the {of}, each column by its own rule; a sum without all its addends is dotted",
    "interval": "one per interval and subject",
    "row": "one per subject",
    "query": "computed from the measures, not from the other rows",
}
_TOTALS = {
    "sum": "sum",
    "mean": "plain mean",
    "min": "smallest",
    "max": "largest",
    "mix": "the common value, or MIX",
    "count": "number of rows",
}


def _label(rows: Rows) -> str:
    """What stands at the left of rows without a label."""
    return "hh:mm:ss" if rows.kind == "interval" or rows.of == "interval" else ""


def _column(column: Column) -> list[str]:
    unit = facts.unit(column)
    lines = [f"{column.name} [{column.key}]{f', {unit}' if unit else ''}"]
    lines += _wrapped(facts.text(column), "    ")
    for measure, fact in facts.facts(column):
        formula = fact.formula or fact.definition
        lines += _wrapped(f"{measure} = {formula}" if formula else measure, "    measure  ")
        lines += _wrapped(f"{fact.source} ({fact.status})", "    source   ")
    if column.source_note:
        lines += _wrapped(column.source_note, "    source   ")
    lines.append(f"    status   {facts.status(column)}")
    if column.total in _TOTALS:
        lines.append(f"    total    {_TOTALS[column.total]}")
    needs = dict.fromkeys(fact.needs for _, fact in facts.facts(column) if fact.needs)
    reason = "; ".join(
        [*([column.missing] if column.missing else []), *(f"it needs {need}" for need in needs)]
    )
    if reason:
        lines += _wrapped(reason, "    dotted   ")
    return lines


def _wrapped(text: str, head: str) -> list[str]:
    return textwrap.wrap(
        " ".join(text.split()),
        _WIDTH,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )
