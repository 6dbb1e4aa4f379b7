"""The files of reports: their keys and consistency checks; `_skeleton.toml` explains every key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import takewhile
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from zlens.catalog import aggregation, measures
from zlens.catalog.reports.definition import (
    KINDS,
    LABEL_WIDTH,
    MEAN_RULES,
    MEANS,
    STATUSES,
    TOTAL_RULES,
    TYPES,
    ColumnGroup,
    Footnote,
    MissingColumns,
    ReportColumn,
    ReportDefinition,
    ReportTable,
    RowKind,
    group_spans,
)
from zlens.catalog.reports.titles import IN_TITLE
from zlens.errors import CatalogError
from zlens.schema import document
from zlens.schema.validators import (
    Boolean,
    Choice,
    DocumentErrors,
    Integer,
    Key,
    ListOf,
    MapOf,
    Prose,
    SingleLine,
    Spec,
    Text,
)

#: Keys and columns are quoted in SQL: only plain lower-case names are allowed.
_NAME = Text(200, 1, re.compile(r"[a-z_][a-z0-9_]*"), "a name of lower-case letters, digits and _")
_MEASURE = Text(200, 1, re.compile(r"[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*"), "table.column")
_WORDS = Prose(empty=True)


class _QueryText(Struct, frozen=True):
    """A single SELECT, in which names of means are expanded."""

    empty: bool = False

    def describe(self) -> str:
        return "one SELECT (or WITH ... SELECT) without a semicolon"

    def schema(self) -> dict[str, Any]:
        return _WORDS.schema()

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


def _column(**values: Any) -> ReportColumn:
    """A column; defaults follow from its type and heading."""
    kind, heading = values["type"], values["heading"]
    defaults = {
        "column": values["key"],
        "name": " ".join(line.strip() for line in heading if line.strip()),
        "align": "right" if kind in ("number", "id") else "left",
        "mean": "mix" if kind != "number" else "",
    }
    return ReportColumn(**values | {key: values[key] or default for key, default in defaults.items()})


_COLUMN = Spec(
    (
        Key("key", _NAME, "the name of its values in CSV and JSON"),
        Key("column", _NAME, "the column of the query that it shows", default=""),
        Key("name", _WORDS, "its full name", default=""),
        Key("heading", ListOf(SingleLine(200, 0), into=tuple), "the lines of its heading"),
        Key("group", _NAME, "the heading over several columns that it is under", default=None),
        Key("type", Choice(TYPES), "the type of its values", default="number"),
        Key("width", Integer(1, 200), "its width in characters"),
        Key("decimals", Integer(0, 9), "its digits after the decimal point", default=0),
        Key("align", Choice(("left", "right")), "the alignment of its values", default=""),
        Key("keep", Boolean(), "whether it is repeated on every part of a folded report", default=False),
        Key("hexadecimal", Boolean(), "whether its texts are numbers in hexadecimal", default=False),
        Key("mean", Choice(MEAN_RULES), "how its mean is computed", default=""),
        Key("total", Choice(TOTAL_RULES), "how its total is computed", default="none"),
        Key("measures", ListOf(_MEASURE, into=tuple), "the measures that it shows", default=()),
        Key("text", Prose(), "its description", default=""),
        Key("unit", _WORDS, "the unit of its values", default=""),
        Key("source_note", Prose(), "a remark on its source", default=""),
        Key("status", Choice(STATUSES), "how well that is known", default=""),
        Key("missing", _WORDS, "why it may have no value", default=""),
    ),
    _column,
)
_ROWS = Spec(
    (
        Key("kind", Choice(KINDS), "what its rows are"),
        Key("label", _WORDS, "the text in place of the time", default=""),
        Key("of", Choice(("mean", "interval", "row")), "the kind of row it adds up", default="mean"),
        Key("by", ListOf(_NAME, into=tuple), "columns with a total for each value", default=()),
        Key("rule", Choice(TOTAL_RULES), "one rule for every column", default=None),
        Key("cells", MapOf(_WORDS, 0), "fixed texts by column key", default={}),
        Key("query", _QueryText(empty=True), "its own query", default=""),
        Key("adds", ListOf(_NAME, into=tuple), "total of rows: columns that its query gives", default=()),
        Key("blank", Boolean(), "whether a blank line separates intervals", default=False),
        Key("overall", Boolean(), "query: over all members, whatever groups are shown", default=False),
        Key("order", ListOf(_NAME, into=tuple), "query: columns that sort its rows", default=()),
    ),
    RowKind,
)
_GROUP = Spec((Key("key", _NAME, "its name"), Key("heading", Prose(), "its text")), ColumnGroup)
_TABLE = Spec(
    (
        Key("key", _NAME, "its name in CSV and JSON"),
        Key("title", _WORDS, "its heading", default=""),
        Key("title_values", _QueryText(empty=True), "the values in its heading", default=""),
        Key("query", _QueryText(), "the query of its rows"),
        Key("time", _NAME, "the query's column of times", default=None),
        Key("subject", ListOf(_NAME, into=tuple), "the columns that identify its rows", default=()),
        Key(
            "groups",
            ListOf(
                Spec((Key("key", _NAME, "its name"), Key("heading", Prose(), "its text")), ColumnGroup),
                into=tuple,
            ),
            "headings over several columns",
            default=(),
        ),
        Key("columns", ListOf(_COLUMN, into=tuple), "its columns", default=()),
        Key("rows", ListOf(_ROWS, into=tuple), "the kinds of its rows", default=()),
        Key("lines", MapOf(_WORDS, 0), "columns of names, each with that of their values", default={}),
        Key("line_count", Integer(0, 1000), "the number of names in its rows", default=0),
    ),
    ReportTable,
)
_NOTE = Spec(
    (
        Key("text", Prose(), "the footnote"),
        Key("when", _QueryText(empty=True), "a query that returns a row if it applies", default=""),
    ),
    Footnote,
)
_ABSENT = Spec(
    (
        Key("columns", ListOf(Prose(), 1, into=tuple), "the headings of the columns it leaves out"),
        Key("role", Prose(), "what would provide them"),
        Key("why", Prose(), "why nothing provides them"),
    ),
    MissingColumns,
)
_REPORT = Spec(
    (
        Key("name", Prose(), "its short name, that of its file"),
        Key("number", _WORDS, "its number", default=""),
        Key("title", Prose(), "its title"),
        Key("group", Prose(), "the group in the list of reports"),
        Key("text", Prose(), "its description"),
        Key("source", Prose(), "where it is described"),
        Key("status", Choice(STATUSES), "how well it is known"),
        Key("needs", Prose(), "the records it needs"),
        Key("block", _NAME, "the column with a header for each value", default="system"),
        Key("members", _QueryText(empty=True), "the systems of each block", default=""),
        Key("opening", Integer(0, 99), "its place among the reports shown first; 0: none", default=0),
        Key("means", Choice(MEANS), "how its means are weighted", default="weighted"),
        Key("tables", ListOf(_TABLE, into=tuple), "its tables", default=()),
        Key("notes", ListOf(_NOTE, into=tuple), "its footnotes", default=()),
        Key("absent", ListOf(_ABSENT, into=tuple), "columns it leaves out", default=()),
    ),
)


@lru_cache(maxsize=128)
def read(text: str, file: str, stem: str) -> ReportDefinition:
    """The definition in the text of its file; CatalogError names an error in it."""
    problem = DocumentErrors(file, root="the report", text=text)
    values = _REPORT.check(document.parse_toml(text, file), "", problem)
    if values["name"] != stem:
        raise problem.value("name", values["name"], f'the name of its file, "{stem}"')
    mean = "plain" if values.pop("means") == "plain" else "mean"
    tables = values.pop("tables")
    if not tables:
        raise problem.general_error("the report has no table", "add [[tables]]")
    _once([table.key for table in tables], "tables", problem)
    for number, table in enumerate(tables, 1):
        _check_columns(table, f"tables[{number}]", problem)
        _check_rows(table, mean, f"tables[{number}]", problem)
    return ReportDefinition(**values, tables=tuple(_with_means(table, mean) for table in tables), file=file)


def _with_means(table: ReportTable, mean: str) -> ReportTable:
    """The table with the report's rule for columns without their own."""
    columns = (column if column.mean else replace(column, mean=mean) for column in table.columns)
    return replace(table, columns=tuple(columns))


def _once(keys: list[str], where: str, problem: DocumentErrors) -> None:
    for number, key in enumerate(keys, 1):
        if key in keys[: number - 1]:
            raise problem.general_error(
                f'{where}[{number}].key is "{key}" again', "give it another key", None, where
            )


def _check_columns(table: ReportTable, where: str, problem: DocumentErrors) -> None:
    error = problem.general_error
    if not table.columns:
        raise error(f"{where} has no column", "add [[tables.columns]]", None, where)
    if not table.subject:
        raise error(f"{where}.subject is empty", "name columns", "the columns that identify its rows", where)
    if bool(IN_TITLE.search(table.title)) != bool(table.title_values):
        raise error(
            f"{where} has only one of title_values and names in braces in its title",
            None,
            "both or none",
            f"{where}.title",
        )
    _once([column.key for column in table.columns], f"{where}.columns", problem)
    _once([group.key for group in table.groups], f"{where}.groups", problem)
    for number, column in enumerate(table.columns, 1):
        for message, expected in _faults(table, column):
            raise error(
                f"{where}.columns[{number}] ({column.key}): {message}",
                None,
                expected,
                f"{where}.columns[{number}]",
            )
    spans = group_spans(table.columns)
    for number, group in enumerate(table.groups, 1):
        here = f"{where}.groups[{number}]"
        runs = [span for span in spans if span[0] == group.key]
        if len(runs) != 1:
            position = "over no column" if not runs else "over columns that are not neighbors"
            raise error(
                f'the group "{group.key}" is {position}', None, "one run of neighboring columns", here
            )
        _, first, last = runs[0]
        width = sum(column.width for column in table.columns[first : last + 1]) + last - first
        if len(group.heading) + 2 > width:
            message = f'the group heading "{group.heading}" is wider than its columns'
            raise error(message, None, f"at most {width - 2} characters", here)
    if bool(table.lines) != bool(table.line_count):
        raise error(
            f"{where} has only one of lines and line_count", None, "both or none", f"{where}.line_count"
        )
    unknown = {*table.lines, *table.lines.values()} - {column.key for column in table.columns}
    if unknown:
        raise error(f'lines of the column "{min(unknown)}"', None, "keys of columns", f"{where}.lines")


def _faults(table: ReportTable, column: ReportColumn) -> Iterator[tuple[str, str]]:
    """The errors of a column, with what was expected."""
    number = column.type == "number"
    if column.key in ("row", "table", "flag", "system", "interval_end"):
        yield f'the key "{column.key}" is the name of a field of every row', "another key"
    # Without measures, the report must document the column itself.
    for key in ("text", "source_note", "status"):
        if not column.measures and not getattr(column, key):
            yield f"{key} is missing", f"{key}, or measures"
    if column.decimals and not number:
        yield f'{column.decimals} decimals and the type "{column.type}"', "decimals of a number"
    if not number and {column.mean, column.total} & {"mean", "plain", "sum"}:
        yield f'its mean or total adds up a column of type "{column.type}"', "mix, last, count or none"
    for line in column.heading:
        if len(line) > column.width:
            yield f'the heading "{line}" is wider than the column', f"at most {column.width} characters"
    if column.group and column.group not in {group.key for group in table.groups}:
        yield f'it is in the group "{column.group}"', "a group of [[tables.groups]]"


def _check_rows(table: ReportTable, mean: str, where: str, problem: DocumentErrors) -> None:
    if not table.rows:
        raise problem.general_error(f"{where} has no rows", "add [[tables.rows]]", None, where)
    kinds = {rows.kind for rows in table.rows}
    if mean == "mean" and "mean" in kinds:
        for number, column in enumerate(table.columns, 1):
            measured = any(measures.columns_named(name) for name in column.measures)
            if not column.mean and measured and column.averaging_measure is None:
                here = f"{where}.columns[{number}]"
                message = f"{here} ({column.key}) is of a measure that has no mean"
                raise problem.general_error(message, None, "another rule: last, mix, none", here)
    for number, rows in enumerate(table.rows, 1):
        for message, expected in _row_faults(table, rows, kinds):
            here = f"{where}.rows[{number}]"
            raise problem.general_error(f"{here}: {message}", None, expected, here)


def _row_faults(table: ReportTable, rows: RowKind, kinds: set[str]) -> Iterator[tuple[str, str]]:
    """The errors of a kind of rows, with what was expected."""
    may_have = rows.kind == "query" or (rows.kind == "total" and rows.of == "row")
    if (rows.kind == "query" and not rows.query) or (rows.query and not may_have):
        yield (
            f'rows of kind "{rows.kind}" and a query of their own',
            'a query with kind "query", or a total of "row", only',
        )
    if bool(rows.adds) != (rows.kind == "total" and bool(rows.query)):
        yield "adds without a query of a total, or such a query without it", "both in a total of rows"
    strange = {*rows.adds} - {column.column for column in table.columns if column.total == "sum"}
    if strange:
        yield f'it adds "{min(strange)}"', 'a column with total = "sum"'
    if rows.kind in ("mean", "interval") and not table.time:
        yield f'rows of kind "{rows.kind}" need a time', "time = the query's column for it"
    if rows.kind == "row" and table.time:
        yield 'rows of kind "row" have no time', 'kind "interval", or no time in the table'
    if rows.kind == "total" and rows.of not in kinds:
        yield (
            f'a total of "{rows.of}" rows, which the table does not have',
            f"one of {', '.join(sorted(kinds))}",
        )
    if rows.kind != "total" and (rows.by or rows.rule):
        yield f'by or rule in rows of kind "{rows.kind}"', 'them in rows of kind "total" only'
    if rows.order and rows.kind != "query":
        yield f'order in rows of kind "{rows.kind}"', "it in rows with a query of their own only"
    unknown = {*rows.by} - {column.column for column in table.columns} - {*table.subject}
    if unknown:
        yield f'a total by "{min(unknown)}"', "a column of the subject, or one that is shown"
    extra = {*rows.cells} - {column.key for column in table.columns}
    if extra:
        yield f'a fixed text for the column "{min(extra)}"', "the key of a column"
    room = LABEL_WIDTH + _blank_width(table, rows)
    if table.time and len(rows.label) > room:
        yield f'the label "{rows.label}" is too long', f"at most {room} characters"


def _blank_width(table: ReportTable, rows: RowKind) -> int:
    """The width of the leading columns whose cells such a row leaves blank: a long label runs over them."""
    blanks = takewhile(lambda column: rows.cells.get(column.key) == "", table.columns)
    return sum(column.width for column in blanks)
