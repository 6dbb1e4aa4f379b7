"""Definitions of reports: the schema of their files, and the available files.

A report is data, not a program. It has one or more tables; a table has a query over the measures, columns
that show the results of the query, and kinds of row (means, totals, interval rows). The structs are the
schema of the files; `_skeleton.toml` explains every key to authors. This module reads no measurements.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from functools import cache
from itertools import starmap
from pathlib import Path
from typing import Annotated, Any

from msgspec import Struct
from msgspec.structs import replace

from zlens.catalog import aggregation
from zlens.catalog import measures as catalog_measures
from zlens.catalog.reports import menus
from zlens.errors import CatalogError, QueryError
from zlens.schema.facts import FACTS
from zlens.schema.validators import (
    Boolean,
    Choice,
    DocumentErrors,
    Integer,
    ListOf,
    MapOf,
    Prose,
    SingleLine,
    Text,
    Unchecked,
    spec_of,
)
from zlens.schema.wording import phrase

FOLDER = FACTS / "reports"

#: Certainty that a column shows what its heading states; the catalog's statuses.
STATUSES = tuple(catalog_measures.STATUSES)
#: Statuses that add a footnote to the report.
REMARKABLE = ("constructed", "derived", "unverified")
TYPES = ("number", "id", "text", "time", "bool")
KINDS = ("mean", "total", "interval", "row", "query")
MEAN_RULES = ("mean", "plain", "sum", "min", "max", "first", "last", "mix", "none")
#: Means of a report: weighted by the rules of the catalog, or plain like those of IBM's report.
MEANS = ("weighted", "plain")
TOTAL_RULES = ("sum", "mean", "min", "max", "mix", "count", "none")

LABEL_WIDTH = 8
TIME_HEADING = ("Interval", "End Time")

_NUMBER_LINE = re.compile(r'^number\s*=\s*"([^"]*)"', re.MULTILINE)
_TITLE_LINE = re.compile(r'^title\s*=\s*"([^"]*)"', re.MULTILINE)


class Query(Struct, frozen=True):
    """Validator of one SELECT, in which references to means are expanded."""

    empty: bool = False

    def describe(self) -> str:
        return "one SELECT (or WITH ... SELECT) without a semicolon"

    def schema(self) -> dict[str, Any]:
        return Prose(self.empty).schema()

    def parse(self, text: str) -> Any:
        return text

    def check(self, value: Any, where: str, problem: DocumentErrors) -> str:
        query = Prose(self.empty).check(value, where, problem)
        if query and (query.split(maxsplit=1)[0].upper() not in ("SELECT", "WITH") or ";" in query):
            raise problem.value(where, query, self.describe())
        try:
            return aggregation.expand_references(query)
        except CatalogError as error:
            raise problem.general_error(
                f"{where}: {error.message}", error.cure, error.expected, where
            ) from None


class HeadingLines(Struct, frozen=True):
    """Validator of the lines of a heading, separated by |."""

    def describe(self) -> str:
        return "a text, with | between lines"

    def schema(self) -> dict[str, Any]:
        return SingleLine(200, 0).schema()

    def parse(self, text: str) -> Any:
        return text

    def check(self, value: Any, where: str, problem: DocumentErrors) -> tuple[str, ...]:
        if not isinstance(value, str):
            raise problem.value(where, value, self.describe())
        return tuple(SingleLine(200, 0).check(value, where, problem).split("|"))


#: Keys and columns are quoted in SQL: only plain lower-case names are allowed.
NAME = Text(200, 1, re.compile(r"[a-z_][a-z0-9_]*"), "a name of lower-case letters, digits and _")
_NAMES = ListOf(NAME, into=tuple)
_MEASURE = Text(200, 1, re.compile(r"[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*"), "table.column")
_TABLE = Text(200, 1, re.compile(r"[a-z0-9_]+\.[a-z0-9_]+"), "report.table")
_WORDS = Prose(empty=True)


class ReportColumn(Struct, frozen=True, kw_only=True):
    """One column: contents, width and documentation."""

    #: The name of its values in CSV and JSON; in a file the key of its row.
    key: str
    column: Annotated[str, NAME, "the column of the query that it shows; default: its key"] = ""
    name: Annotated[str, _WORDS, "its full name; default: its heading"] = ""
    heading: Annotated[tuple[str, ...], HeadingLines(), "the lines of its heading"]
    group: Annotated[str | None, NAME, "the heading over several columns that it is under"] = None
    type: Annotated[str, Choice(TYPES), "the type of its values"] = "number"
    width: Annotated[int, Integer(1, 200), "its width in characters"]
    decimals: Annotated[int, Integer(0, 9), "its digits after the decimal point"] = 0
    align: Annotated[
        str, Choice(("left", "right")), "the alignment; default: numbers and ids right, others left"
    ] = ""
    keep: Annotated[bool, Boolean(), "whether it is repeated on every part of a folded report"] = False
    hexadecimal: Annotated[bool, Boolean(), "whether its texts are numbers in hexadecimal"] = False
    mean: Annotated[str, Choice(MEAN_RULES), "how its mean is computed"] = ""
    total: Annotated[str, Choice(TOTAL_RULES), "how its total is computed"] = "none"
    measures: Annotated[
        tuple[str, ...],
        ListOf(_MEASURE, into=tuple),
        "the measures that it shows: unit, text, source and status come from there",
    ] = ()
    text: Annotated[str, Prose(), "its description, if the measures do not describe it"] = ""
    unit: Annotated[str, _WORDS, "the unit of its values"] = ""
    source_note: Annotated[str, Prose(), "a note on its source, in addition to the note of the measures"] = ""
    status: Annotated[str, Choice(STATUSES), "status of its source; default: the status of its measures"] = ""
    missing: Annotated[str, _WORDS, "why it may have no value, beyond what the measures need"] = ""

    @property
    def averaging_measure(self) -> catalog_measures.MeasureColumn | None:
        """The measure whose rule averages it; a column without measures is weighted by interval length."""
        if not self.measures:
            return replace(catalog_measures.LEADING[0], name=self.column, type="float", aggregate="gauge")
        measured = catalog_measures.columns_named(self.measures[0])
        return next(
            (column for _, column in measured if "mean" in aggregation.available_statistics(column)), None
        )


class RowKind(Struct, frozen=True):
    """One kind of row of a table."""

    kind: Annotated[str, Choice(KINDS), "subject of its rows"]
    label: Annotated[str, _WORDS, "the text instead of the time"] = ""
    of: Annotated[str, Choice(("mean", "interval", "row")), "total: the kind of row it adds up"] = "mean"
    by: Annotated[tuple[str, ...], _NAMES, "total: one row for each value of these columns"] = ()
    rule: Annotated[str | None, Choice(TOTAL_RULES), "total: one rule for every number column"] = None
    cells: Annotated[dict[str, str], MapOf(_WORDS, 0), "fixed texts by column key"] = {}
    query: Annotated[
        str, Query(empty=True), "its own query; of a total of rows: the rows of intervals to add"
    ] = ""
    adds: Annotated[tuple[str, ...], _NAMES, "total of rows: the columns that its query returns"] = ()
    blank: Annotated[bool, Boolean(), "whether a blank line separates intervals"] = False
    overall: Annotated[bool, Boolean(), "query: over all members, whatever groups are shown"] = False
    order: Annotated[tuple[str, ...], _NAMES, "query: columns that sort its rows"] = ()

    @property
    def export_name(self) -> str:
        """The name of such a row in CSV and JSON: its kind, or its label if it has its own query."""
        return self.label.strip("<>. ").lower() if self.kind == "query" and self.label else self.kind


class SharedKeys(Struct, frozen=True):
    """Keys that a table inherits from another one, and keys that its columns share."""

    base: Annotated[str, _TABLE, "the table whose keys and columns it inherits"] = ""
    base_rows: Annotated[bool, Boolean(), "whether the rows of its base come before its own"] = False
    order: Annotated[tuple[str, ...], _NAMES, "its columns, and inherited columns of its base"] = ()
    measures: Annotated[tuple[str, ...], _NAMES, "measures that columns show by their keys"] = ()
    columns: Annotated[dict[str, dict[str, Any]], MapOf(MapOf(Unchecked(), 0), 0), "its columns, by key"] = {}
    shared: Annotated[
        list[dict[str, Any]], ListOf(MapOf(Unchecked())), "keys that several columns share"
    ] = []
    rows: Annotated[list[Any], ListOf(Unchecked()), "the kinds of its rows"] = []


class ReportTable(Struct, frozen=True):
    """One table: its query, and the presentation of its rows."""

    key: Annotated[str, NAME, "its name in CSV and JSON"]
    query: Annotated[str, Query(), "the query of its rows"]
    title: Annotated[str, _WORDS, "its heading"] = ""
    title_values: Annotated[
        str, Query(empty=True), "the query of block and values that replace braces in the title"
    ] = ""
    time: Annotated[str | None, NAME, "the query's column of times"] = None
    subject: Annotated[tuple[str, ...], _NAMES, "the columns that identify its rows"] = ()
    measures: Annotated[
        tuple[str, ...],
        _NAMES,
        "measures whose columns with the same keys are shown, if columns name no others",
    ] = ()
    groups: Annotated[dict[str, str], MapOf(Prose(), 0), "headings over neighboring columns, by key"] = {}
    columns: Annotated[
        tuple[ReportColumn, ...], MapOf(spec_of(ReportColumn, dict), 0), "its columns, by key"
    ] = ()
    rows: Annotated[tuple[RowKind, ...], ListOf(spec_of(RowKind), into=tuple), "the kinds of its rows"] = ()
    lines: Annotated[
        dict[str, str],
        MapOf(_WORDS, 0),
        "if rows contain names: the value column of each name column",
    ] = {}
    line_count: Annotated[
        int, Integer(0, 1000), "the number of names in its rows; 0: its columns are counted"
    ] = 0

    @property
    def shown(self) -> int:
        """The number of columns or names for which it shows values."""
        return self.line_count or len(self.columns)


def _table(columns: dict[str, dict[str, Any]], **values: Any) -> ReportTable:
    """Return a table; defaults of its columns follow from their keys, headings and types."""
    return ReportTable(columns=tuple(starmap(_column, columns.items())), **values)


def _column(key: str, values: dict[str, Any]) -> ReportColumn:
    kind = values["type"]
    defaults = {
        "column": key,
        "name": " ".join(line.strip() for line in values["heading"] if line.strip()),
        "align": "right" if kind in ("number", "id") else "left",
        "mean": "mix" if kind != "number" else "",
    }
    return ReportColumn(
        key=key, **values | {name: values[name] or default for name, default in defaults.items()}
    )


class Footnote(Struct, frozen=True):
    """A footnote."""

    text: Annotated[str, Prose(), "the footnote"]
    when: Annotated[
        str, Query(empty=True), "a query that returns a row if it applies; its values may be in the text"
    ] = ""


class MissingColumns(Struct, frozen=True):
    """Columns of the classic report that zlens omits because no public source provides them."""

    columns: Annotated[tuple[str, ...], ListOf(Prose(), 1, into=tuple), "their headings"]
    role: Annotated[str, Prose(), "the role or record that would provide them"]
    why: Annotated[str, Prose(), "why no input provides them"]


class ReportDefinition(Struct, frozen=True):
    """A report."""

    name: Annotated[str, Prose(), "its short name, the name of its file"]
    title: Annotated[str, Prose(), "its title"]
    group: Annotated[str, Prose(), "the group in the list of reports"]
    text: Annotated[str, Prose(), "its description"]
    source: Annotated[str, Prose(), "where it is described"]
    status: Annotated[str, Choice(STATUSES), "how well it is known"]
    needs: Annotated[str, Prose(), "the records it needs"]
    number: Annotated[str, _WORDS, "its number"] = ""
    block: Annotated[str, NAME, "the column of every query with a header for each value"] = "system"
    members: Annotated[
        str, Query(empty=True), "the systems of each block, if the table of systems has no such column"
    ] = ""
    opening: Annotated[int, Integer(0, 99), "its position among the first reports; 0: not first"] = 0
    means: Annotated[str, Choice(MEANS), "how its means are weighted"] = "weighted"
    tables: Annotated[
        tuple[ReportTable, ...], ListOf(spec_of(ReportTable, _table), into=tuple), "its tables"
    ] = ()
    notes: Annotated[tuple[Footnote, ...], ListOf(spec_of(Footnote), into=tuple), "its footnotes"] = ()
    absent: Annotated[
        tuple[MissingColumns, ...], ListOf(spec_of(MissingColumns), into=tuple), "columns it leaves out"
    ] = ()
    file: str = ""

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


def folder_of(group: str) -> str:
    """Return the folder name of a group of reports: `pci_functions` for `PCI functions`."""
    return re.sub(r"[^a-z0-9 ]", "", group.lower()).replace(" ", "_")


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
