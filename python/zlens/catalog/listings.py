"""Raw tables of listings, one for each table in the definitions of reports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from msgspec import Struct

from zlens.catalog import measures
from zlens.catalog.raw_columns import LISTED, RawColumn
from zlens.catalog.raw_tables import load_tables
from zlens.catalog.reports import definition
from zlens.catalog.reports.definition import ReportColumn, ReportDefinition, ReportTable
from zlens.schema import document
from zlens.schema.facts import FACTS
from zlens.schema.validators import Key, ListOf, SingleLine, Spec

PATH = FACTS / "listings.toml"
#: Sources of listings: with rows by time, and of reports without times.
SOURCES = ("listing", "listing-means")
#: Suffix of the column with a value's precision.
PRECISION_SUFFIX = "_half"
#: Sources whose numbers were printed, and so rounded.
ROUNDED_SOURCES = (*SOURCES, "rmf-text")
#: Prefix of the tables of RMF's reports.
RMF = "rmf_"


def precision_column(column: str) -> str:
    """Return the name of the column with the precision of a printed number."""
    return column + PRECISION_SUFFIX


def precision(column: RawColumn) -> RawColumn:
    """Return the column with the precision of a column of printed numbers."""
    text = f"{column.name} is printed with this precision: +-"
    return RawColumn(precision_column(column.name), "float", column.unit, text)


#: Prefixes of the first lines of all formats.
_BEGINS = ("D0R2 ", "__ISO", "_IntEnd")


class HeaderlessListing(Struct, frozen=True):
    """Listing without the usual header.

    begins  pattern of its first line
    time    the column of times in UTC, if any
    """

    begins: re.Pattern[str]
    report: str
    table: str | None
    time: str | None

    def system(self, line: str) -> str | None:
        """Return the substitute system name from the line; None if it names none."""
        match = self.begins.fullmatch(f"{line.strip()} ")
        return f"unknown-{match['system']}" if match and "system" in match.groupdict() else None


_FORM = Spec(
    (
        Key("begins", SingleLine(), "regular expression of its first line"),
        Key("report", SingleLine(), "the report whose tables it has"),
        Key("table", SingleLine(), "the table; if missing, the table with the headings", default=None),
        Key("time", SingleLine(), "the column that has the time of a row, in UTC", default=None),
        Key("source", SingleLine(), "publication"),
        Key("status", SingleLine(), "certainty"),
    )
)
_LINE = Spec(
    (
        Key("report", SingleLine(), "the report that has the line"),
        Key("table", SingleLine(), "the table that its parts are of"),
        Key("form", SingleLine(), "regular expression of the line; its groups are columns of the table"),
        Key("source", SingleLine(), "publication"),
        Key("status", SingleLine(), "certainty"),
    )
)
_APART = Spec(
    (
        Key("tables", ListOf(SingleLine(), 1), "REPORT.TABLE, or a report with all its tables"),
        Key("columns", ListOf(SingleLine(), into=tuple), "columns; all, if they are missing", default=()),
        Key("why", SingleLine(), "why they feed no role"),
    )
)
_FORMS = Spec(
    (
        Key("form", ListOf(_FORM, 1, 100), "listings without the usual header"),
        Key("line", ListOf(_LINE, 0, 100), "lines that are of another table than those around them"),
        Key("apart", ListOf(_APART, 0, 100), "columns that provide no role"),
    )
)


@cache
def forms() -> tuple[HeaderlessListing, ...]:
    """Return the formats in facts/listings.toml."""
    entries = document.load(PATH, _FORMS)["form"]
    return tuple(
        HeaderlessListing(re.compile(each["begins"]), each["report"], each["table"], each["time"])
        for each in entries
    )


@cache
def lines_of(report: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return a report's lines that belong to another table than their neighbors: table and pattern."""
    entries = document.load(PATH, _FORMS)["line"]
    return tuple((each["table"], re.compile(each["form"])) for each in entries if each["report"] == report)


@cache
def unmapped_reasons() -> dict[str, str]:
    """Return why tables, and columns as TABLE.COLUMN, feed no role."""
    reasons = {}
    for each in document.load(PATH, _FORMS)["apart"]:
        for report_name, _, table_key in (name.partition(".") for name in each["tables"]):
            report = definition.load_report(report_name)
            for table in [report.table(table_key)] if table_key else report.tables:
                name = table_name(report, table)
                reasons.update(
                    {f"{name}.{column}": each["why"] for column in each["columns"]} or {name: each["why"]}
                )
    return reasons


def match_headerless(line: str) -> HeaderlessListing | None:
    """Return the format whose first line this is."""
    if not line.lstrip().startswith(_BEGINS):
        return None
    padded = f"{line.strip()} "
    return next((form for form in forms() if form.begins.fullmatch(padded)), None)


def time_column(report: str, table: str) -> str | None:
    """Return the column of a table with the time of a row, in UTC."""
    return next((form.time for form in forms() if (form.report, form.table) == (report, table)), None)


def table_name(report: ReportDefinition, table: ReportTable) -> str:
    """Return the raw table of a table of a report: listing_prclog, listing_smtmet_cores."""
    return LISTED + (report.name if len(report.tables) == 1 else f"{report.name}_{table.key}")


def column_name(column: ReportColumn) -> str:
    """Return the raw column name; the name of a leading column gets an underscore."""
    return f"{column.key}_" if column.key in leading() else column.key


def kind(column: ReportColumn) -> str:
    """Return the type of a column's values: float for numbers, int for integer identifiers, text, time."""
    if column.type == "number":
        return "float"
    if column.type == "time":
        return "time"
    is_own_measure = [name.rpartition(".")[2] for name in column.measures] == [column.key]
    if is_own_measure and column.type in ("id", "text") and not column.hexadecimal:
        types = {each.type for _, each in measures.columns_named(column.measures[0])}
        return "int" if types == {"int"} else "text"
    return "text"


def is_number(column: ReportColumn) -> bool:
    return column.type == "number"


def columns(table: ReportTable) -> tuple[RawColumn, ...]:
    """Return the columns of a raw table: those of the report, and the precision of each number."""
    raw_columns: list[RawColumn] = []
    for column in table.columns:
        name, unit = column_name(column), _unit(column)
        text = column.text or f"{column.name}, as printed"
        if is_number(column):
            number = RawColumn(name, "float", unit, text)
            raw_columns += [number, precision(number)]
        else:
            raw_columns.append(RawColumn(name, kind(column), "", text))
    return _columns(raw_columns)


def unknown_columns(kinds: Mapping[str, str]) -> tuple[RawColumn, ...]:
    """Return the columns of a table that is not in the catalog, from their types by heading."""
    return _columns(
        RawColumn(heading, kind, "", f"the column {heading} of the listing")
        for heading, kind in kinds.items()
    )


@cache
def leading() -> frozenset[str]:
    """Return the names of the columns that every raw table of a listing has."""
    return frozenset(column.name for column in _columns(()))


def _columns(others: Iterable[RawColumn]) -> tuple[RawColumn, ...]:
    return load_tables("listing_tables").columns("listing", others)


def _unit(column: ReportColumn) -> str:
    if column.unit or not column.measures:
        return column.unit
    return next((measured.unit for _, measured in measures.columns_named(column.measures[0])), "")


def subject(name: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns, among the given ones, that distinguish the rows of one interval.

    Columns of the subject that are not printed are replaced by those that every part of a folded report
    repeats; the rows of a report that is not in the catalog are identified by their first column.
    """
    report, key = tables().get(name, ("", ""))
    if not report:
        return tuple(names[:1])
    table = definition.load_report(report).table(key)
    shown = {column.column: column for column in reversed(table.columns)}
    identifying = {shown[each].key: shown[each] for each in table.subject if each in shown}
    if len(identifying) < len(table.subject):
        texts = [column for column in table.columns if not is_number(column)]
        identifying |= {column.key: column for column in texts if column.keep}
        if not any(column.type in ("id", "text") for column in identifying.values()):
            identifying |= {column.key: column for column in texts[:1]}
    return tuple(column_name(column) for column in identifying.values())


@cache
def tables() -> dict[str, tuple[str, str]]:
    """Return all raw tables of listings: report and table by name."""
    tables_by_name = {}
    for name in definition.names():
        report = definition.load_report(name)
        for table in report.tables:
            tables_by_name[table_name(report, table)] = (name, table.key)
    return tables_by_name
