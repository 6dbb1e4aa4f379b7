"""Definitions of reports: files of the catalog, read and checked here.

A report is data, not a program. It has one or more tables; a table has a query over the measures, columns
that show the results of the query, and kinds of row (means, totals, interval rows). `_skeleton.toml` explains
every key to authors. Nothing here reads measurements.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from zlens.catalog import aggregation
from zlens.catalog import measures as catalog_measures
from zlens.catalog.reports import menus
from zlens.errors import CatalogError, QueryError
from zlens.schema.facts import FACTS
from zlens.schema.wording import phrase

FOLDER = FACTS / "reports"

#: How certain it is that a column shows what its heading says; the catalog's statuses.
STATUSES = tuple(catalog_measures.STATUSES)
#: Statuses that add a footnote to the report.
REMARKABLE = ("constructed", "derived", "unverified")
TYPES = ("number", "id", "text", "time", "bool")
KINDS = ("mean", "total", "interval", "row", "query")
MEAN_RULES = ("mean", "plain", "sum", "min", "max", "first", "last", "mix", "none")
#: Means of a report: weighted by the rules of the catalog, or plain as IBM's report prints them.
MEANS = ("weighted", "plain")
TOTAL_RULES = ("sum", "mean", "min", "max", "mix", "count", "none")

LABEL_WIDTH = 8
TIME_HEADING = ("Interval", "End Time")

_NUMBER_LINE = re.compile(r'^number\s*=\s*"([^"]*)"', re.MULTILINE)
_TITLE_LINE = re.compile(r'^title\s*=\s*"([^"]*)"', re.MULTILINE)


class ReportColumn(Struct, frozen=True):
    """One column: contents, width and documentation."""

    key: str
    column: str  # the column of the query that it shows
    name: str  # its full name on one line
    heading: tuple[str, ...]
    group: str | None
    type: str
    width: int
    decimals: int
    align: str
    keep: bool  # repeated on every part of a folded report
    hexadecimal: bool  # its texts are numbers in hexadecimal
    mean: str
    total: str
    measures: tuple[
        str, ...
    ]  # table.column of the measures it shows; unit, source and status come from there
    text: str  # its description, if the measures have none
    unit: str
    source_note: str  # a remark on its source beyond that of the measures
    status: str  # its own status; '' = that of its measures
    missing: str  # why it may be dotted, and what would give it, beyond what the measures need

    @property
    def averaging_measure(self) -> catalog_measures.MeasureColumn | None:
        """The measure whose rule averages it; a column without measures is weighted by interval length."""
        if not self.measures:
            return replace(catalog_measures.LEADING[0], name=self.column, type="float", aggregate="gauge")
        measured = catalog_measures.columns_named(self.measures[0])
        return next(
            (column for _, column in measured if "mean" in aggregation.available_statistics(column)), None
        )


class ColumnGroup(Struct, frozen=True):
    """A heading over several neighboring columns."""

    key: str
    heading: str


class RowKind(Struct, frozen=True):
    """One kind of row of a table."""

    kind: str
    label: str
    of: str  # total: the kind of row it adds up
    by: tuple[str, ...]  # total: one row for each of these columns of the query
    rule: str | None  # total: one rule for every number column instead of the columns' own
    cells: dict[str, str]  # fixed texts by column key
    query: str  # its own query, in place of that of the table; total of rows: the rows of intervals to add
    adds: tuple[str, ...]  # total of rows: the columns that its query gives; others are added as shown
    blank: bool  # a blank line between intervals
    overall: bool  # query: over all members, never over the user's groups
    order: tuple[str, ...]  # query: columns of it that sort its rows before those of the subject

    @property
    def export_name(self) -> str:
        """The name of such a row in csv and json: its kind, or its label if it has its own query."""
        return self.label.strip("<>. ").lower() if self.kind == "query" and self.label else self.kind


class ReportTable(Struct, frozen=True):
    key: str
    title: str
    title_values: str  # query of block and values that stand in the title in braces
    query: str
    time: str | None
    subject: tuple[str, ...]
    columns: tuple[ReportColumn, ...]
    groups: tuple[ColumnGroup, ...]
    rows: tuple[RowKind, ...]
    #: If names are in rows instead of headings: columns of names, each with the column of their values.
    lines: dict[str, str]
    line_count: int  # number of names in its rows; 0 = its columns are counted

    @property
    def shown(self) -> int:
        """The number of columns or names for which it shows values."""
        return self.line_count or len(self.columns)

    def group(self, key: str) -> ColumnGroup:
        return next(group for group in self.groups if group.key == key)


class Footnote(Struct, frozen=True):
    """A footnote; with `when`, only if that query returns a row, whose values may be in the text."""

    text: str
    when: str


class MissingColumns(Struct, frozen=True):
    """Columns of the classic report that ours leaves out, because no public source provides them."""

    columns: tuple[str, ...]  # their headings
    role: str  # the role or record that would provide them
    why: str


class ReportDefinition(Struct, frozen=True):
    name: str
    number: str
    title: str
    group: str
    text: str
    source: str
    status: str
    needs: str
    block: str  # the column of every query for whose values there is a header block each
    opening: int  # place among the reports that the page shows first, from 1; 0: not among them
    members: str  # query of system and block, if the table `system` has no such column
    tables: tuple[ReportTable, ...]
    notes: tuple[Footnote, ...]
    absent: tuple[MissingColumns, ...]
    file: str

    def table(self, key: str) -> ReportTable:
        """The table of a key. Raises KeyError."""
        return {table.key: table for table in self.tables}[key]

    @property
    def shown_count(self) -> int:
        """The number of its columns; a table with names in rows counts its names."""
        return sum(table.shown for table in self.tables)

    @property
    def known_count(self) -> int:
        """The number of known columns of the classic report: ours and the absent ones."""
        return self.shown_count + sum(len(absent.columns) for absent in self.absent)


@cache
def files(folder: Path = FOLDER) -> dict[str, Path]:
    """The report files in a folder and its group folders, by report name.

    A leading underscore hides a file.
    """
    paths: dict[str, Path] = {}
    for path in sorted([*folder.glob("[!_]*.toml"), *folder.glob("*/[!_]*.toml")]):
        other = paths.setdefault(path.stem, path)
        if other is not path:
            raise CatalogError(f"the report {path.stem} is also in {other.parent.name}", file=str(path))
    return dict(sorted(paths.items()))


def names(folder: Path = FOLDER) -> list[str]:
    """Short names of the reports in a folder."""
    return list(files(folder))


def folder_of(group: str) -> str:
    """The folder name of a group of reports: `pci_functions` for `PCI functions`."""
    return re.sub(r"[^a-z0-9 ]", "", group.lower()).replace(" ", "_")


@cache
def numbers(folder: Path = FOLDER) -> dict[str, str]:
    """Short names of reports by their numbers, without parsing the files."""
    return _by_line(_NUMBER_LINE, folder)


@cache
def titles(folder: Path = FOLDER) -> dict[str, str]:
    """Short names of reports by their titles, without parsing the files."""
    return _by_line(_TITLE_LINE, folder)


def _by_line(line_of: re.Pattern[str], folder: Path) -> dict[str, str]:
    names_by_text: dict[str, str] = {}
    for name, path in files(folder).items():
        line = line_of.search(path.read_text(encoding="utf-8"))
        if line and line[1]:
            names_by_text.setdefault(line[1], name)
    return names_by_text


def resolve_name(wanted: str, folder: Path = FOLDER) -> str:
    """The short name for a name or number as typed: FCX 304, Device CPOWNED."""
    lowered = wanted.strip().lower()
    short_names = names(folder)
    numbered = {number.lower(): name for number, name in numbers(folder).items()}
    words = lowered.split()
    # A name of several words is a short name with underscores, or follows the name of its menu.
    for typed in dict.fromkeys(("_".join(words), "".join(words), *words[-1:])):
        if typed in short_names:
            return typed
        if typed in numbered:
            return numbered[typed]
    called = _titled(words, folder)
    if len(called) == 1:
        return called[0]
    menu = menus.find(lowered)
    if menu is not None:
        raise QueryError(
            f"{menu.number} is a menu of reports, not a report", cure=phrase("report_menu", name=lowered)
        )
    near = difflib.get_close_matches("_".join(words), [*short_names, *numbered], 4, 0.5)
    cure = phrase("reports")
    # As commands of Performance Toolkit name a subject: DEVICE 0120, USER LINUX01.
    first = "_".join(words[:-1])
    if of := first if first in short_names else numbered.get(first):
        cure = phrase("report_subject", name=of, subject=words[-1].upper())
        near = [name for name in short_names if name.startswith(of)]
    raise QueryError(
        f"there is no report {wanted!r}",
        expected=f"a name such as {', '.join(near)}" if near else None,
        cure=cure,
    )


def _titled(words: Sequence[str], folder: Path) -> list[str]:
    """Reports whose titles begin with several words, each of them perhaps cut: IND LOAD."""
    return [
        name
        for title, name in titles(folder).items()
        if 1 < len(words) <= len(heading := re.findall(r"\w+", title.lower()))
        and all(word.startswith(cut) for cut, word in zip(words, heading, strict=False))
    ]


def load_report(wanted: str, folder: Path = FOLDER) -> ReportDefinition:
    """The report with that short name or number, read and checked."""
    from zlens.catalog.reports.definition_file import read

    path = files(folder)[resolve_name(wanted, folder)]
    return read(path.read_text(encoding="utf-8"), str(path), path.stem)


def group_spans(columns: tuple[ReportColumn, ...]) -> list[tuple[str, int, int]]:
    """Runs of neighboring columns of one group: group, first index, last index."""
    spans: list[tuple[str, int, int]] = []
    for i, column in enumerate(columns):
        if column.group is None:
            continue
        if spans and spans[-1][0] == column.group and spans[-1][2] == i - 1:
            spans[-1] = (column.group, spans[-1][1], i)
        else:
            spans.append((column.group, i, i))
    return spans
