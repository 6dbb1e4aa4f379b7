"""Files of reports: keys that their tables share, and consistency checks."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any

from msgspec.structs import asdict, replace

from zlens.catalog import aggregation, measures
from zlens.catalog.reports import menus
from zlens.catalog.reports.definition import (
    FOLDER,
    LABEL_WIDTH,
    ReportColumn,
    ReportColumnKeys,
    ReportDefinition,
    ReportFile,
    ReportKeys,
    ReportTable,
    ReportTableFile,
    ReportTableKeys,
    RowKind,
    files,
    group_spans,
    with_peaks,
)
from zlens.catalog.reports.titles import IN_TITLE
from zlens.errors import CatalogError
from zlens.schema import document, structs
from zlens.schema.validators import DocumentErrors

#: Keys of a table that its own columns and rows replace.
_MERGED = ("base", "base_rows", "order", "shared")
#: In the query of rows over the window: the time of an interval, if there is a row for each.
_TIME = re.compile(r"\{time(?: of (\w+))?\}")


@lru_cache(maxsize=128)
def read(text: str, file: str, stem: str, folder: Path = FOLDER) -> ReportDefinition:
    """Return the definition in the text of its file; CatalogError if it is invalid."""
    problem = DocumentErrors(file, root="the report", text=text)
    values = document.parse_toml(text, file)
    structs.refuse_controls(text, values, problem)
    report = structs.convert(values, ReportFile, problem)
    if not report.tables:
        raise problem.general_error("the report has no table", "add [[tables]]")
    mean = "plain" if report.means == "plain" else "mean"
    tables = []
    for number, entry in enumerate(_complete(values["tables"], (stem,), folder, problem), 1):
        location = f"tables[{number}]"
        table = _table(structs.convert(entry, ReportTableFile, problem), location, problem)
        for error in _column_errors(table, location):
            raise problem.general_error(*error)
        _check_rows(table, mean, location, problem)
        tables.append(_with_defaults(table, mean, report.leading_zero))
    _check_keys([table.key for table in tables], problem)
    notes = [
        replace(note, when=_expand(note.when, f"notes[{number}].when", problem))
        for number, note in enumerate(report.notes, 1)
    ]
    keys = {name: getattr(report, name) for name in ReportKeys.__struct_fields__}
    keys |= {"members": _expand(report.members, "members", problem), "notes": tuple(notes)}
    group = menus.group_of(Path(file).parent.name)
    return ReportDefinition(**keys, name=stem, group=group, tables=tuple(tables), file=file)


def _table(keys: ReportTableFile, location: str, problem: DocumentErrors) -> ReportTable:
    """Return a table; defaults of its columns follow from their keys, headings and types."""
    for name in [name for name in ("key", "query") if not getattr(keys, name)]:
        raise structs.missing_error(ReportTableKeys, name, location, problem)
    columns = [
        _column(key, column, f"{location}.columns.{key}", problem) for key, column in keys.columns.items()
    ]
    rows = [
        replace(rows, query=_expand(rows.query, f"{location}.rows[{number}].query", problem))
        for number, rows in enumerate(keys.rows, 1)
    ]
    values = {name: getattr(keys, name) for name in ReportTableKeys.__struct_fields__}
    by_time = _TIME.sub(
        lambda match: f", {match[1]}.interval_end" if match[1] else ", interval_end", keys.query
    )
    values["query"] = _TIME.sub("", keys.query)
    for name in ("query", "title_values"):
        values[name] = _expand(values[name], f"{location}.{name}", problem)
    if by_time != keys.query:
        values["query_by_time"] = _expand(by_time, f"{location}.query", problem)
    return ReportTable(**values | {"columns": tuple(columns), "rows": with_peaks(rows, keys.peak)})


def _column(key: str, keys: ReportColumnKeys, location: str, problem: DocumentErrors) -> ReportColumn:
    if keys.head is None or not keys.width:
        name = "heading" if keys.head is None else "width"
        raise structs.missing_error(ReportColumnKeys, name, location, problem)
    defaults = {
        "column": key,
        "name": " ".join(line.strip() for line in keys.head.split("|") if line.strip()),
        "align": "right" if keys.type in ("number", "id") else "left",
        "mean": "mix" if keys.type != "number" else "",
    }
    values = asdict(keys)
    return ReportColumn(
        key=key, **values | {name: values[name] or default for name, default in defaults.items()}
    )


def _expand(query: str, where: str, problem: DocumentErrors) -> str:
    """Return a query in which references to means are expanded."""
    try:
        return aggregation.expand_references(query.strip())
    except CatalogError as error:
        raise problem.general_error(f"{where}: {error.message}", error.cure, error.expected, where) from None


def _complete(
    tables: Sequence[dict[str, Any]], reports: tuple[str, ...], folder: Path, problem: DocumentErrors
) -> list[dict[str, Any]]:
    """Return the tables with keys that they inherit from others, or that their columns share.

    reports   the report itself, after the reports that are read because of it
    """
    complete: list[dict[str, Any]] = []
    for number, table in enumerate(tables, 1):
        location, name = f"tables[{number}]", table.get("base")
        base = _base(name, complete, reports, folder, location, problem) if name else {}
        own = {key: value for key, value in table.items() if key not in _MERGED}
        complete.append(base | own | _merge(base, table, location, problem))
    return complete


def _base(
    name: str,
    complete: list[dict[str, Any]],
    reports: tuple[str, ...],
    folder: Path,
    location: str,
    problem: DocumentErrors,
) -> dict[str, Any]:
    """Return the table of that name: an earlier one of the report, or one of another report."""
    report, _, key = name.partition(".")
    if report != reports[-1]:
        complete = []
        if report in files(folder) and report not in reports:
            path = files(folder)[report]
            text = document.text_of(path)
            other = DocumentErrors(str(path), root="the report", text=text)
            values = document.parse_toml(text, str(path))
            structs.convert(values, ReportFile, other)
            complete = _complete(values.get("tables", []), (*reports, report), folder, other)
    for table in complete:
        if table.get("key") == key:
            return table
    raise problem.value(f"{location}.base", name, "report.table, of this report an earlier one")


def _merge(
    base: dict[str, Any], table: dict[str, Any], location: str, problem: DocumentErrors
) -> dict[str, Any]:
    """Return the columns and rows of a table, including inherited and shared keys."""
    own_columns = dict(table.get("columns", {}))
    for number, values in enumerate(table.get("shared", []), 1):
        _check_names(values["columns"], own_columns, f"{location}.shared[{number}].columns", problem)
        shared = {key: value for key, value in values.items() if key != "columns"}
        own_columns |= {name: shared | own_columns[name] for name in values["columns"]}
    inherited = base.get("columns", {})
    columns = inherited | {name: inherited.get(name, {}) | values for name, values in own_columns.items()}
    measured = table.get("measures") or base.get("measures", [])
    if measured:
        columns = {
            name: {"measures": [f"{measure}.{name}" for measure in measured]} | values
            for name, values in columns.items()
        }
    if order := table.get("order"):
        _check_names(order, columns, f"{location}.order", problem)
        columns = {name: columns[name] for name in order}
    rows = table.get("rows", [])
    if not rows or table.get("base_rows"):
        rows = [*base.get("rows", []), *rows]
    return {"columns": columns, "rows": rows, "measures": measured}


def _check_names(
    names: Sequence[str], columns: dict[str, Any], location: str, problem: DocumentErrors
) -> None:
    for name in names:
        if name not in columns:
            expected = f"one of {', '.join(columns)}"
            raise problem.general_error(f'{location} names "{name}"', None, expected, location)


def _with_defaults(table: ReportTable, mean: str, leading_zero: bool) -> ReportTable:
    """Return the table with what the report states for its columns: means, zeros before points."""
    columns = (
        replace(column, mean=column.mean or mean, leading_zero=leading_zero) for column in table.columns
    )
    return replace(table, columns=tuple(columns))


def _check_keys(keys: list[str], problem: DocumentErrors) -> None:
    for number, key in enumerate(keys, 1):
        if key in keys[: number - 1]:
            message = f'tables[{number}].key is a duplicate: "{key}"'
            raise problem.general_error(message, "use another key", None, f"tables[{number}].key")


def _column_errors(table: ReportTable, location: str) -> Iterator[tuple[str, str | None, str | None, str]]:
    """Yield the errors of a table and its columns: message, cure, expected values and location."""
    if not table.columns:
        yield f"{location} has no column", "add [tables.columns]", None, location
    if not table.subject:
        expected = "the columns that identify its rows"
        yield f"{location}.subject is empty", "name columns", expected, location
    if bool(IN_TITLE.search(table.title)) != bool(table.title_values):
        message = f"{location} has only one of title_values and names in braces in its title"
        yield message, None, "both or none", f"{location}.title"
    for column in table.columns:
        where = f"{location}.columns.{column.key}"
        for message, expected in _faults(table, column):
            yield f"{where}: {message}", None, expected, where
    spans = group_spans(table.columns)
    for key, heading in table.groups.items():
        where = f"{location}.groups.{key}"
        runs = [span for span in spans if span[0] == key]
        if len(runs) != 1:
            position = "over no column" if not runs else "over columns that are not neighbors"
            yield f'the group "{key}" is {position}', None, "one run of neighboring columns", where
        _, first, last = runs[0]
        width = sum(column.width for column in table.columns[first : last + 1]) + last - first
        if len(heading) + 2 > width:
            message = f'the group heading "{heading}" is wider than its columns'
            yield message, None, f"at most {width - 2} characters", where
    if bool(table.lines) != bool(table.line_count):
        message = f"{location} has only one of lines and line_count"
        yield message, None, "both or none", f"{location}.line_count"
    for name, types in (("sort", "a column"), ("peak", "a number column")):
        keys = [column.key for column in table.columns if name == "sort" or column.type == "number"]
        if (key := getattr(table, name)) not in (None, *keys):
            message = f'{location}.{name} is not {types} of the table: "{key}"'
            yield message, None, f"one of {', '.join(keys)}", f"{location}.{name}"
    unknown = {*table.lines, *table.lines.values()} - {column.key for column in table.columns}
    if unknown:
        yield f'lines of the column "{min(unknown)}"', None, "keys of columns", f"{location}.lines"


def _faults(table: ReportTable, column: ReportColumn) -> Iterator[tuple[str, str]]:
    """Yield the errors of a column, with the expected values."""
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
    if column.group and column.group not in table.groups:
        yield f'it is in the group "{column.group}"', "a key of groups"


def _check_rows(table: ReportTable, mean: str, location: str, problem: DocumentErrors) -> None:
    if not table.rows:
        raise problem.general_error(f"{location} has no rows", "add [[tables.rows]]", None, location)
    kinds = {rows.kind for rows in table.rows}
    if mean == "mean" and "mean" in kinds:
        for column in table.columns:
            measured = any(measures.columns_named(name) for name in column.measures)
            if not column.mean and measured and column.averaging_measure is None:
                part_location = f"{location}.columns.{column.key}"
                message = f"{part_location} is of a measure that has no mean"
                raise problem.general_error(message, None, "another rule: last, mix, none", part_location)
    for number, rows in enumerate(table.rows, 1):
        for message, expected in _row_faults(table, rows, kinds):
            part_location = f"{location}.rows[{number}]"
            raise problem.general_error(f"{part_location}: {message}", None, expected, part_location)


def _row_faults(table: ReportTable, rows: RowKind, kinds: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the errors of a kind of rows, with the expected values."""
    may_have = rows.kind == "query" or (rows.kind == "total" and rows.of == "row")
    if (rows.kind == "query" and not rows.query) or (rows.query and not may_have):
        yield (
            f'rows of kind "{rows.kind}" and a query of their own',
            'a query with kind "query", or a total of "row", only',
        )
    if bool(rows.adds) != (rows.kind == "total" and bool(rows.query)):
        yield "adds without a query of a total, or such a query without it", "both in a total of rows"
    not_summed = {*rows.adds} - {column.column for column in table.columns if column.total == "sum"}
    if not_summed:
        yield f'it adds "{min(not_summed)}"', 'a column with total = "sum"'
    if rows.kind in ("mean", "peak", "interval") and not table.time:
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
    max_length = LABEL_WIDTH + _blank_width(table, rows)
    if table.time and len(rows.label) > max_length:
        yield f'the label "{rows.label}" is too long', f"at most {max_length} characters"


def _blank_width(table: ReportTable, rows: RowKind) -> int:
    """Return the width of the leading columns whose cells such a row leaves blank, for a long label."""
    blanks = takewhile(lambda column: rows.cells.get(column.key) == "", table.columns)
    return sum(column.width for column in blanks)
