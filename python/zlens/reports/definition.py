"""What a report is: one file of the catalog, read and checked here.

A report is data, not a program. It has one or more tables; a table has a query over the measures, columns
that show what the query gives, and kinds of row (means, totals, interval rows). `_skeleton.toml` explains
every key to the person who writes one. Nothing here reads measurements.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from zlens.catalog import aggregation, metrics
from zlens.errors import CatalogError, QueryError
from zlens.reports import menus
from zlens.schema.facts import FACTS
from zlens.schema.wording import say

FOLDER = FACTS / "reports"

#: How well we know that a column shows what its heading says; the words of the whole catalog.
STATUSES = tuple(metrics.STATUSES)
#: Statuses that put a footnote under the report.
REMARKABLE = ("constructed", "derived", "unverified")
TYPES = ("number", "id", "text", "time", "bool")
KINDS = ("mean", "total", "interval", "row", "query")
MEAN_RULES = ("mean", "plain", "sum", "min", "max", "first", "last", "mix", "none")
#: What the means of a report are: as the catalog states of the measures, or as IBM's report prints them.
MEANS = ("weighted", "plain")
TOTAL_RULES = ("sum", "mean", "min", "max", "mix", "count", "none")

LABEL_WIDTH = 8
TIME_HEADING = ("Interval", "End Time")

_NUMBER_LINE = re.compile(r'^number\s*=\s*"([^"]*)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Column:
    """One column: what it shows, how wide, and what we know about it."""

    key: str
    column: str  # the column of the query it shows
    name: str  # its full name where there is room for one line
    heading: tuple[str, ...]
    group: str | None
    type: str
    width: int
    decimals: int
    align: str
    keep: bool  # repeated on every part of a folded report
    mean: str
    total: str
    measures: tuple[
        str, ...
    ]  # table.column of the measures it shows; unit, source and status come from there
    text: str  # what it shows, where the measures do not say it
    unit: str
    source_note: str  # what is to be said about its source beyond that
    status: str  # its own status; '' = that of its measures
    missing: str  # why it may be dotted, and what would give it, beyond what the measures need

    @property
    def declared(self) -> metrics.Column | None:
        """What says how it is averaged; a column that no measure explains weighs as long as its interval."""
        if not self.measures:
            return replace(metrics.LEADING[0], name=self.column, type="float", aggregate="gauge")
        found = metrics.columns_named(self.measures[0])
        return next((column for _, column in found if "mean" in aggregation.gives(column)), None)


@dataclass(frozen=True, slots=True)
class Group:
    """A heading over several neighboring columns."""

    key: str
    heading: str


@dataclass(frozen=True, slots=True)
class Rows:
    """One kind of row of a table."""

    kind: str
    label: str
    of: str  # total: the kind of row it adds up
    by: tuple[str, ...]  # total: one row for each of these columns of the query
    rule: str | None  # total: one rule for every number column instead of the columns' own
    cells: dict[str, str]  # fixed texts by column key
    query: str  # query: its own question
    blank: bool  # a blank line between intervals
    overall: bool  # query: over all members, never over the user's groups

    @property
    def called(self) -> str:
        """What csv and json call such a row: its kind, or its label where its question is its own."""
        return self.label.strip("<>. ").lower() if self.kind == "query" and self.label else self.kind


@dataclass(frozen=True, slots=True)
class Table:
    key: str
    title: str
    query: str
    time: str | None
    subject: tuple[str, ...]
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]
    rows: tuple[Rows, ...]
    #: Where the names stand in rows, not in headings: columns of names, each with the column of their values.
    lines: dict[str, str]
    line_count: int  # how many names its rows have; 0 = its columns are counted

    @property
    def shown(self) -> int:
        """How many things it shows a value of."""
        return self.line_count or len(self.columns)

    def group(self, key: str) -> Group:
        return next(group for group in self.groups if group.key == key)


@dataclass(frozen=True, slots=True)
class Note:
    """A footnote; with `when`, only if that question has a row."""

    text: str
    when: str


@dataclass(frozen=True, slots=True)
class Absent:
    """Columns that the classic report has and ours leaves out, because nothing public gives them."""

    columns: tuple[str, ...]  # their headings
    role: str  # the role or record that would give them
    why: str


@dataclass(frozen=True, slots=True)
class Definition:
    name: str
    number: str
    title: str
    group: str
    text: str
    source: str
    status: str
    needs: str
    block: str  # the column of every query whose values get a header block each
    members: str  # which systems a block is of, where the table of systems has no such column: system, block
    tables: tuple[Table, ...]
    notes: tuple[Note, ...]
    absent: tuple[Absent, ...]
    file: str

    @property
    def shown(self) -> int:
        """How many columns it has; a table whose names stand in rows has as many as there are names."""
        return sum(table.shown for table in self.tables)

    @property
    def known(self) -> int:
        """How many columns the classic report has, as far as they are known: ours and the absent ones."""
        return self.shown + sum(len(one.columns) for one in self.absent)


@cache
def files(folder: Path = FOLDER) -> dict[str, Path]:
    """The files of the reports in a folder and the folders of their groups, by the names of the reports.

    A leading underscore hides a file.
    """
    known: dict[str, Path] = {}
    for path in sorted([*folder.glob("[!_]*.toml"), *folder.glob("*/[!_]*.toml")]):
        other = known.setdefault(path.stem, path)
        if other is not path:
            raise CatalogError(f"the report {path.stem} is also in {other.parent.name}", file=str(path))
    return dict(sorted(known.items()))


def names(folder: Path = FOLDER) -> list[str]:
    """Short names of the reports in a folder."""
    return list(files(folder))


def folder_of(group: str) -> str:
    """The name of the folder that has the reports of a group: `pci_functions` for `PCI functions`."""
    return re.sub(r"[^a-z0-9 ]", "", group.lower()).replace(" ", "_")


def numbers(folder: Path = FOLDER) -> dict[str, str]:
    """The numbers of reports, and the short names they lead to; the files are not read beyond that."""
    found: dict[str, str] = {}
    for name, path in files(folder).items():
        line = _NUMBER_LINE.search(path.read_text(encoding="utf-8"))
        if line and line[1]:
            found.setdefault(line[1], name)
    return found


def find(wanted: str, folder: Path = FOLDER) -> str:
    """The short name for a name or number as people type it: FCX 304, Device CPOWNED."""
    asked = wanted.strip().lower()
    known = names(folder)
    numbered = {number.lower(): name for number, name in numbers(folder).items()}
    words = asked.split()
    # A name of several words is a short name with underscores, or one behind its menu.
    for typed in dict.fromkeys(("_".join(words), "".join(words), *words[-1:])):
        if typed in known:
            return typed
        if typed in numbered:
            return numbered[typed]
    menu = menus.find(asked)
    if menu is not None:
        raise QueryError(
            f"{menu.number} is a menu of reports, not one of them", cure=say("report_menu", name=asked)
        )
    near = difflib.get_close_matches("_".join(words), [*known, *numbered], 4, 0.5)
    raise QueryError(
        f"there is no report {wanted!r}",
        expected=f"a name such as {', '.join(near)}" if near else None,
        cure=say("reports"),
    )


def load(wanted: str, folder: Path = FOLDER) -> Definition:
    """The report of that short name or number, read and checked."""
    from zlens.reports.definition_file import read

    path = files(folder)[find(wanted, folder)]
    return read(path.read_text(encoding="utf-8"), str(path), path.stem)


def group_spans(columns: tuple[Column, ...]) -> list[tuple[str, int, int]]:
    """The runs of neighboring columns of one group: group, first, last."""
    spans: list[tuple[str, int, int]] = []
    for i, column in enumerate(columns):
        if column.group is None:
            continue
        if spans and spans[-1][0] == column.group and spans[-1][2] == i - 1:
            spans[-1] = (column.group, spans[-1][1], i)
        else:
            spans.append((column.group, i, i))
    return spans
