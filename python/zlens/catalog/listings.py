"""Raw tables of listings, one for each table in the definitions of reports."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Annotated, ClassVar

from msgspec import Meta

from zlens.catalog import measures
from zlens.catalog.raw_columns import LISTED, RawColumn
from zlens.catalog.raw_tables import load_tables
from zlens.catalog.reports import definition
from zlens.catalog.reports.definition import ReportColumn, ReportDefinition, ReportTable
from zlens.schema.structs import FactFile, FactTable, doc

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


class HeaderlessListing(FactTable, frozen=True):
    """Listing without the usual header."""

    begins: Annotated[str, doc("regular expression of its first line")]
    report: Annotated[str, doc("the report whose tables it has")]
    source: Annotated[str, doc("publication")]
    status: Annotated[str, doc("certainty")]
    table: Annotated[str | None, doc("the table; if missing, the table with the headings")] = None
    time: Annotated[str | None, doc("the column that has the time of a row, in UTC")] = None

    def system(self, line: str) -> str | None:
        """Return the substitute system name from the line; None if it names none."""
        match = re.fullmatch(self.begins, f"{line.strip()} ")
        return f"unknown-{match['system']}" if match and "system" in match.groupdict() else None


class OtherLine(FactTable, frozen=True):
    """A line of another table than those around it."""

    report: Annotated[str, doc("the report that has the line")]
    table: Annotated[str, doc("the table that its parts are of")]
    form: Annotated[str, doc("regular expression of the line; its groups are columns of the table")]
    source: Annotated[str, doc("publication")]
    status: Annotated[str, doc("certainty")]


class SeparatedTable(FactTable, frozen=True):
    """A table whose cells are separated by tabs or blanks."""

    report: Annotated[str, doc("the report that has the table")]
    table: Annotated[str, doc("the table with its rows")]
    ratios: Annotated[str, doc("the table with ratios of two rows")]
    label: Annotated[str, doc("the column of texts without a heading")]
    system: Annotated[str, doc("the column with the name of the system")]
    ratio: Annotated[str, doc("regular expression of the text of a row of ratios")]
    least: Annotated[tuple[str, ...], doc("columns that every such table has")]
    heads: Annotated[
        tuple[tuple[str, str], ...], Meta(min_length=1, description="each heading, and its column")
    ]
    source: Annotated[str, doc("publication")]
    status: Annotated[str, doc("certainty")]


class UnmappedTables(FactTable, frozen=True):
    """Tables or columns that feed no role."""

    tables: Annotated[
        tuple[str, ...], Meta(min_length=1, description="REPORT.TABLE, or a report with all its tables")
    ]
    why: Annotated[str, doc("why they feed no role")]
    columns: Annotated[tuple[str, ...], doc("columns; all, if they are missing")] = ()


class ListingsFile(FactFile, frozen=True):
    """What listings have beside headers, heads and rows."""

    path: ClassVar = "listings.toml"
    form: Annotated[
        tuple[HeaderlessListing, ...], Meta(min_length=1, description="listings without the usual header")
    ]
    line: Annotated[tuple[OtherLine, ...], doc("lines of another table than those around them")]
    separated: Annotated[tuple[SeparatedTable, ...], doc("tables with cells separated by tabs or blanks")]
    apart: Annotated[tuple[UnmappedTables, ...], doc("columns that provide no role")]


@cache
def lines_of(report: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return a report's lines that belong to another table than their neighbors: table and pattern."""
    return tuple(
        (line.table, re.compile(line.form)) for line in ListingsFile.load().line if line.report == report
    )


@cache
def unmapped_reasons() -> dict[str, str]:
    """Return why tables, and columns as TABLE.COLUMN, feed no role."""
    reasons = {}
    for unmapped in ListingsFile.load().apart:
        for report_name, _, table_key in (name.partition(".") for name in unmapped.tables):
            report = definition.load_report(report_name)
            for table in [report.table(table_key)] if table_key else report.tables:
                name = table_name(report, table)
                reasons.update(
                    {f"{name}.{column}": unmapped.why for column in unmapped.columns} or {name: unmapped.why}
                )
    return reasons


def match_headerless(line: str) -> HeaderlessListing | None:
    """Return the format whose first line this is."""
    if not line.lstrip().startswith(_BEGINS):
        return None
    padded = f"{line.strip()} "
    return next((form for form in ListingsFile.load().form if re.fullmatch(form.begins, padded)), None)


def time_column(report: str, table: str) -> str | None:
    """Return the column of a table with the time of a row, in UTC."""
    return next(
        (form.time for form in ListingsFile.load().form if (form.report, form.table) == (report, table)), None
    )


def table_name(report: ReportDefinition, table: ReportTable) -> str:
    """Return the raw table of a table of a report: listing_prclog, listing_smtmet_cores."""
    return LISTED + (report.name if len(report.tables) == 1 else f"{report.name}_{table.key}")


def row_kind(rows: definition.RowKind) -> str:
    """Return the kind of labeled rows in a raw table; rows over the window next to intervals are `whole`."""
    return "whole" if rows.label == definition.WINDOW else rows.export_name


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


def columns(table: ReportTable) -> tuple[RawColumn, ...]:
    """Return the columns of a raw table: those of the report, and the precision of each number."""
    raw_columns: list[RawColumn] = []
    for column in table.columns:
        name, its_unit = column_name(column), unit(column)
        text = column.text or f"{column.name}, as printed"
        if column.type == "number":
            number = RawColumn(name, "float", its_unit, text)
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


def unit(column: ReportColumn) -> str:
    """Return the unit of a column: its own, or that of its measure."""
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
        texts = [column for column in table.columns if column.type != "number"]
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
