"""Definitions of reports: the schema of their files, and the available files.

A report is data, not a program. It has one or more tables; a table has a query over the measures, columns
that show the results of the query, and kinds of row (means, totals, interval rows). The structs are the
schema of the files; `_skeleton.toml` explains every key to authors. This module reads no measurements.
"""

import difflib
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, field
from msgspec.structs import replace

from zlens.catalog import aggregation, layouts
from zlens.catalog import measures as catalog_measures
from zlens.catalog.reports import menus
from zlens.errors import CatalogError, QueryError
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactTable, Prose, doc, one_of
from zlens.schema.wording import phrase

FOLDER = FACTS / "reports"

#: Certainty that a column shows what its heading states; the catalog's statuses.
STATUSES = tuple(catalog_measures.STATUSES)
#: Statuses that add a footnote to the report.
REMARKABLE = ("constructed", "derived", "unverified")
MEAN_RULES = ("mean", "plain", "sum", "min", "max", "first", "last", "mix", "none")

LABEL_WIDTH = 8
TIME_HEADING = ("Interval", "End Time")

_NUMBER_LINE = re.compile(r'^number\s*=\s*"([^"]*)"', re.MULTILINE)
_TITLE_LINE = re.compile(r'^title\s*=\s*"([^"]*)"', re.MULTILINE)


Name = Annotated[
    str,
    Meta(pattern="^[a-z_][a-z0-9_]*$", max_length=200, title="a name of lower-case letters, digits and _"),
]
_Query = Annotated[
    str,
    Meta(
        pattern=r"^(\s*(?i:SELECT|WITH)\s[^;]*)?$",
        title="one SELECT (or WITH ... SELECT) without a semicolon",
    ),
]
_Measure = Annotated[str, Meta(pattern=r"^[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*$", title="table.column")]
_TotalRule = Literal["sum", "mean", "min", "max", "mix", "count", "none"]


class ReportColumnKeys(FactTable, frozen=True, kw_only=True):
    """One column: contents, width and documentation. Columns may share keys, or take them from a base."""

    column: Annotated[Name, doc("the column of the query that it shows; default: its key")] = ""
    name: Annotated[str, doc("its full name; default: its heading")] = ""
    head: Annotated[
        str | None, Meta(title="a text, with | between lines", description="the lines of its heading")
    ] = field(default=None, name="heading")
    group: Annotated[Name | None, doc("the heading over several columns that it is under")] = None
    type: Annotated[Literal["number", "id", "text", "time", "bool"], doc("the type of its values")] = "number"
    width: Annotated[int, Meta(ge=1, le=200, description="its width in characters")] = 0
    decimals: Annotated[int, Meta(ge=0, le=9, description="its digits after the decimal point")] = 0
    align: Annotated[
        str, one_of(("left", "right"), "the alignment; default: numbers and ids right, others left")
    ] = ""
    keep: Annotated[bool, doc("whether it is on every part of a folded report")] = False
    hexadecimal: Annotated[bool, doc("whether its texts are hexadecimal numbers")] = False
    mean: Annotated[str, one_of(MEAN_RULES, "how its mean is computed")] = ""
    total: Annotated[_TotalRule, doc("how its total is computed")] = "none"
    measures: Annotated[
        tuple[_Measure, ...], doc("the measures that it shows: unit, text, source and status come from there")
    ] = ()
    text: Annotated[Prose, doc("its description, if the measures do not describe it")] = ""
    unit: Annotated[str, doc("the unit of its values")] = ""
    source_note: Annotated[Prose, doc("a remark on its source beyond the measures")] = ""
    status: Annotated[str, one_of(STATUSES, "status of its source; default: the status of its measures")] = ""
    missing: Annotated[str, doc("why it may have no value, beyond what measures need")] = ""


class SharedKeys(ReportColumnKeys, frozen=True, kw_only=True):
    """Keys that several columns share."""

    columns: Annotated[tuple[Name, ...], Meta(min_length=1, description="the columns that share them")]


class ReportColumn(ReportColumnKeys, frozen=True, kw_only=True):
    """A column of a table.

    key           the name of its values in CSV and JSON
    leading_zero  whether numbers below 1 have a zero before the point
    """

    key: str
    leading_zero: bool = False

    @property
    def heading(self) -> tuple[str, ...]:
        """The lines of its heading."""
        return tuple((self.head or "").split("|"))

    @property
    def is_amount(self) -> bool:
        """Whether its values are counts or times of an interval, so that means are per interval."""
        measure = self.averaging_measure if self.measures else None
        return (
            measure is not None
            and measure.aggregate in ("counter", "time")
            and self.unit in ("", measure.unit)
        )

    @property
    def averaging_measure(self) -> catalog_measures.MeasureColumn | None:
        """The measure whose rule averages it; a column without measures is weighted by interval length."""
        if not self.measures:
            return replace(catalog_measures.LEADING[0], name=self.column, type="float", aggregate="gauge")
        measured = catalog_measures.columns_named(self.measures[0])
        return next(
            (column for _, column in measured if "mean" in aggregation.available_statistics(column)), None
        )


class RowKind(FactTable, frozen=True):
    """One kind of row of a table."""

    kind: Annotated[Literal["mean", "total", "peak", "interval", "row", "query"], doc("subject of its rows")]
    label: Annotated[str, doc("the text instead of the time")] = ""
    named: Annotated[bool, doc("whether its first column has the label, too")] = False
    of: Annotated[
        Literal["mean", "interval", "row"],
        doc("total: the kind of row it adds up; row or query: interval, if each row is of one"),
    ] = "mean"
    by: Annotated[tuple[Name, ...], doc("total: one row per value of these columns")] = ()
    rule: Annotated[_TotalRule | None, doc("total: one rule for every number column")] = None
    cells: Annotated[dict[str, str], doc("fixed texts by column key")] = {}
    query: Annotated[_Query, doc("its own query; of a total of rows: the rows of intervals to add")] = ""
    adds: Annotated[tuple[Name, ...], doc("total of rows: columns that its query gives")] = ()
    blank: Annotated[bool, doc("whether a blank line separates intervals")] = False
    overall: Annotated[bool, doc("query: over all members, whatever groups are shown")] = False
    order: Annotated[tuple[Name, ...], doc("query: columns that sort its rows")] = ()

    @property
    def time_label(self) -> str:
        """The text in a column of times."""
        return WINDOW if self.named else self.label

    @property
    def export_name(self) -> str:
        """The name of such a row in CSV and JSON: its kind, or its label if it has its own query."""
        return self.label.strip("<>. ").lower() if self.kind == "query" and self.label else self.kind


class ReportTableKeys(FactTable, frozen=True, kw_only=True):
    """One table without its columns: its query, and the presentation of its rows."""

    key: Annotated[Name, doc("its name in CSV and JSON")] = ""
    query: Annotated[_Query, doc("the query of its rows")] = ""
    title: Annotated[str, doc("its heading")] = ""
    title_values: Annotated[_Query, doc("the query of block and values that replace braces in the title")] = (
        ""
    )
    time: Annotated[Name | None, doc("the query's column of times")] = None
    subject: Annotated[tuple[Name, ...], doc("the columns that identify its rows")] = ()
    measures: Annotated[
        tuple[Name, ...], doc("measures that columns show by their keys, if they name no others")
    ] = ()
    groups: Annotated[dict[str, Prose], doc("headings over neighboring columns, by key")] = {}
    rows: Annotated[tuple[RowKind, ...], doc("the kinds of its rows")] = ()
    sort: Annotated[
        Name | None, doc("the column that sorts its rows, numbers from the highest; default: the subject")
    ] = None
    peak: Annotated[
        Name | None, doc("the column whose highest value selects the interval in the row of peaks")
    ] = None
    lines: Annotated[dict[str, str], doc("if rows contain names: the value column of each name column")] = {}
    as_printed: Annotated[
        bool, doc("whether its rows of a listing are printed with their own columns and digits")
    ] = False
    line_count: Annotated[
        int, Meta(ge=0, le=1000, description="the number of names in its rows; 0: its columns are counted")
    ] = 0


#: The label of rows of peaks.
PEAK = ">>Peak>>"
#: The label of rows over the window that have none, next to those of intervals.
WINDOW = ">>Whole>"


def with_peaks(rows: Sequence[RowKind], peak: str | None) -> tuple[RowKind, ...]:
    """Return the rows of a table with those of its peaks before the rows of intervals, if it has both."""
    kinds = [kind.kind for kind in rows]
    if peak is None or "interval" not in kinds or "peak" in kinds:
        return tuple(rows)
    first = kinds.index("interval")
    return (*rows[:first], RowKind(kind="peak", label=PEAK, query=rows[first].query), *rows[first:])


def with_intervals(table: "ReportTable", *, blank: bool = False) -> "ReportTable":
    """Return a table with rows of intervals, if it can have them and has none.

    blank   whether a blank line separates the rows of several subjects
    """
    if not table.has_intervals or any("interval" in (rows.kind, rows.of) for rows in table.rows):
        return table
    rows = (replace(rows, label=rows.label or WINDOW) if table.query_by_time else rows for rows in table.rows)
    intervals = RowKind(kind="interval", query=table.query_by_time, blank=blank)
    return replace(table, time="interval_end", rows=with_peaks([*rows, intervals], table.peak))


class ReportTableFile(ReportTableKeys, frozen=True, kw_only=True):
    """A table with what it takes from another one, and what its columns share."""

    base: Annotated[
        str,
        Meta(
            pattern=r"^[a-z0-9_]+\.[a-z0-9_]+$",
            title="report.table",
            description="the table whose keys and columns it inherits",
        ),
    ] = ""
    base_rows: Annotated[bool, doc("whether the rows of its base come before its own")] = False
    order: Annotated[tuple[Name, ...], doc("its columns, and inherited columns of its base")] = ()
    columns: Annotated[dict[Name, ReportColumnKeys], doc("its columns, by key")] = {}
    shared: Annotated[tuple[SharedKeys, ...], doc("keys that several columns share")] = ()


class ReportTable(ReportTableKeys, frozen=True, kw_only=True):
    """A table of a report."""

    columns: tuple[ReportColumn, ...]
    #: Its query with a row for each subject and interval, instead of one for each subject; empty: none.
    query_by_time: str = ""
    #: Maximum number of rows of subjects, over the window and for each interval; None: all.
    top: int | None = None
    #: Whether its rows are those that a listing has.
    is_listed: bool = False

    @property
    def has_intervals(self) -> bool:
        """Whether it has rows of intervals, or can have them."""
        if self.is_listed or not self.time:
            own = any("interval" in (rows.kind, rows.of) for rows in self.rows)
            return own or bool(self.query_by_time)
        return self.time == "interval_end"

    def has_subjects(self, rows: RowKind) -> bool:
        """Whether rows of this kind are of its subjects, not totals of them."""
        if rows.kind != "query":
            return rows.kind != "total"
        return rows.of != "interval" and all(other.kind not in ("mean", "row") for other in self.rows)

    @property
    def shown(self) -> int:
        """The number of columns or names for which it shows values."""
        return self.line_count or len(self.columns)


class Footnote(FactTable, frozen=True):
    """A footnote."""

    text: Annotated[Prose, doc("the footnote")]
    when: Annotated[
        _Query, doc("a query that returns a row if it applies; its values may be in the text")
    ] = ""


class MissingColumns(FactTable, frozen=True):
    """Columns of the classic report that zlens omits because no public source provides them."""

    columns: Annotated[tuple[Prose, ...], Meta(min_length=1, description="their headings")]
    role: Annotated[Prose, doc("the role or record that would provide them")]
    why: Annotated[Prose, doc("why no input provides them")]


class ReportKeys(FactTable, frozen=True, kw_only=True):
    """A report without its tables."""

    title: Annotated[Prose, doc("its title")]
    text: Annotated[Prose, doc("its description")]
    source: Annotated[Prose, doc("where it is described")]
    status: Annotated[str, one_of(STATUSES, "how well it is known")]
    needs: Annotated[Prose, doc("the records it needs")]
    number: Annotated[str, doc("its number")] = ""
    block: Annotated[Name, doc("the query's column with a header for each value")] = "system"
    members: Annotated[
        _Query, doc("the systems of each block, if the table of systems has no such column")
    ] = ""
    opening: Annotated[
        int, Meta(ge=0, le=99, description="its position among the first reports; 0: not first")
    ] = 0
    before: Annotated[
        str,
        Meta(
            pattern=r"^(\d+\.\d+)?$",
            title="a level such as 6.4",
            description="the first level of z/VM that it does not describe; '': it describes all",
        ),
    ] = ""
    leading_zero: Annotated[bool, doc("whether it prints a zero before the decimal point: 0.43, not .43")] = (
        False
    )
    means: Annotated[
        Literal["weighted", "plain"], doc("by the rules of the catalog, or plain like those of IBM's report")
    ] = "weighted"
    kept: Annotated[bool, doc("whether its ledger has days of a lake without raw tables, by day")] = False
    untimed: Annotated[str, doc("why none of its tables has rows of intervals")] = ""
    notes: Annotated[tuple[Footnote, ...], doc("its footnotes")] = ()
    absent: Annotated[tuple[MissingColumns, ...], doc("columns it leaves out")] = ()


class ReportFile(ReportKeys, frozen=True, kw_only=True):
    """A report."""

    tables: Annotated[tuple[ReportTableFile, ...], doc("its tables")] = ()


class ReportDefinition(ReportKeys, frozen=True, kw_only=True):
    """A report with complete tables.

    name   its short name, the name of its file
    group  its group in the list of reports, the name of its folder
    """

    name: str
    group: str
    tables: tuple[ReportTable, ...]
    file: str

    def describes(self, releases: Iterable[object]) -> bool:
        """Return whether it describes systems of any of these releases; some may be unknown."""
        levels = [layouts.release_key(str(release or ""))[:2] for release in releases if self.before]
        before = layouts.release_key(self.before)
        return not levels or any(not level or level < before for level in levels)

    def table(self, key: str) -> ReportTable:
        """Return the table of a key; KeyError if there is none."""
        return {table.key: table for table in self.tables}[key]

    @property
    def shown_count(self) -> int:
        """The number of its columns; a table with names in rows counts its names."""
        return sum(table.shown for table in self.tables)

    @property
    def known_count(self) -> int:
        """The number of known columns of the classic report: those of zlens and the absent ones."""
        return self.shown_count + sum(len(absent.columns) for absent in self.absent)


@cache
def files(folder: Path = FOLDER) -> dict[str, Path]:
    """Return the report files in a folder and its group folders, by report name.

    A leading underscore hides a file.
    """
    paths: dict[str, Path] = {}
    for path in sorted([*folder.glob("[!_]*.toml"), *folder.glob("*/[!_]*.toml")]):
        other = paths.setdefault(path.stem, path)
        if other is not path:
            raise CatalogError(f"the report {path.stem} is also in {other.parent.name}", file=str(path))
    return dict(sorted(paths.items()))


def names(folder: Path = FOLDER) -> list[str]:
    """Return short names of the reports in a folder."""
    return list(files(folder))


@cache
def numbers(folder: Path = FOLDER) -> dict[str, str]:
    """Return short names of reports by their numbers, without parsing the files."""
    return _by_line(_NUMBER_LINE, folder)


@cache
def titles(folder: Path = FOLDER) -> dict[str, str]:
    """Return short names of reports by their titles, without parsing the files."""
    return _by_line(_TITLE_LINE, folder)


def _by_line(line_of: re.Pattern[str], folder: Path) -> dict[str, str]:
    names_by_text: dict[str, str] = {}
    for name, path in files(folder).items():
        line = line_of.search(path.read_text(encoding="utf-8"))
        if line and line[1]:
            names_by_text.setdefault(line[1], name)
    return names_by_text


def resolve_name(text: str, folder: Path = FOLDER) -> str:
    """Return the short name for a name or number as typed: FCX 304, Device CPOWNED."""
    lowered = text.strip().lower()
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
    # Commands of Performance Toolkit append a subject: DEVICE 0120, USER LINUX01.
    first = "_".join(words[:-1])
    if report := first if first in short_names else numbered.get(first):
        cure = phrase("report_subject", name=report, subject=words[-1].upper())
        near = [name for name in short_names if name.startswith(report)]
    raise QueryError(
        f"there is no report {text!r}",
        expected=f"a name such as {', '.join(near)}" if near else None,
        cure=cure,
    )


def _titled(words: Sequence[str], folder: Path) -> list[str]:
    """Return reports whose titles begin with several words, which may be abbreviated: IND LOAD."""
    return [
        name
        for title, name in titles(folder).items()
        if 1 < len(words) <= len(heading := re.findall(r"\w+", title.lower()))
        and all(word.startswith(cut) for cut, word in zip(words, heading, strict=False))
    ]


def load_report(name: str, folder: Path = FOLDER) -> ReportDefinition:
    """Read and check the report with that short name or number."""
    from zlens.catalog.reports.definition_file import read

    path = files(folder)[resolve_name(name, folder)]
    return read(path.read_text(encoding="utf-8"), str(path), path.stem, folder)


def group_spans(columns: tuple[ReportColumn, ...]) -> list[tuple[str, int, int]]:
    """Return runs of neighboring columns of one group: group, first index, last index."""
    spans: list[tuple[str, int, int]] = []
    for i, column in enumerate(columns):
        if column.group is None:
            continue
        if spans and spans[-1][0] == column.group and spans[-1][2] == i - 1:
            spans[-1] = (column.group, spans[-1][1], i)
        else:
            spans.append((column.group, i, i))
    return spans
