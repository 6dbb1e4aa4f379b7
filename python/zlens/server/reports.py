"""Classic reports as text, csv, json and html, or as tables for the web UI."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from zlens import reports
from zlens._native import Lines
from zlens.catalog import groups
from zlens.catalog.reports.definition import ReportColumn, ReportDefinition, ReportTable, load_report
from zlens.errors import InputError, QueryError
from zlens.inputs.options import parse_selection
from zlens.reports import column_facts, header, style
from zlens.reports.rows import Block, Part, fetch, rows_in_order, rows_sql
from zlens.server import json_values
from zlens.server.workspace import Workspace
from zlens.session.session import CoreSession

#: Maximum rows of a report returned as tables; the other formats contain all rows.
MOST = 50_000


def answer(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    definition = load_report(request["name"])
    with workspace.open_narrow(
        request["system"],
        request["from"],
        request["to"],
        request["input"],
        selection={**parse_selection(request), **_groups(request["group"])},
    ) as session:
        options = reports.ReportOptions.from_values(request)
        if request["format"] == "table":
            return _tables(reports.apply_options(definition, session, options), session)
        text = reports.render(definition, session, request["format"], options=options)
        return {"name": definition.name, "format": request["format"], "text": text}


def _groups(lines: str | None) -> dict[str, Any]:
    """Return the option of groups in the lines of a file of groups; QueryError if they are invalid."""
    if lines is None:
        return {}
    try:
        groups.parse(lines, "group")
    except InputError as error:
        raise QueryError(error.message, expected=error.expected, cure=error.cure) from None
    return {"group_lines": lines}


def _tables(definition: ReportDefinition, session: CoreSession) -> dict[str, Any]:
    tables: list[dict[str, Any]] = []
    facts_shown: list[str] = []
    notes: dict[str, None] = {}
    more = False
    for block in fetch(definition, session):
        facts_shown += [f"{name} {value}" for name, value in _facts(block, session) if value]
        notes.update(dict.fromkeys(header.footnotes(definition, block, session)))
        for table, parts in block.shown:
            rows: list[list[Any]] = []
            for row in (row for part in parts for row in _rows(table, part)):
                if len(rows) == MOST:
                    more = True
                    break
                rows.append(row)
            tables.append(
                {
                    "key": table.key,
                    "title": table.title,
                    "block": block.name,
                    "columns": _columns(table),
                    "rows": rows,
                    "sql": rows_sql(table, table.rows[0], definition.block),
                }
            )
    return {
        "name": definition.name,
        "fcx": definition.number,
        "title": definition.title,
        "facts": list(dict.fromkeys(facts_shown)),
        "tables": tables,
        "notes": [note.replace("\u00a0", " ") for note in notes],
        "more": more,
    }


def _rows(table: ReportTable, part: Part) -> Iterator[list[Any]]:
    """Yield the rows of a table in printed order, including the fixed cells of each kind of row."""
    leading = [[("row", section.rows.export_name)] for section in part]
    names = [column.key for column in table.columns]
    fixed = [[section.rows.cells.get(name) for name in names] for section in part]
    for chunk in Lines.json(rows_in_order(part), leading, names, fixed, timed=bool(table.time)):
        for line in chunk.removeprefix(",\n").split(",\n"):
            yield [json_values.json_value(value) for value in json.loads(line).values()]


def _facts(block: Block, session: CoreSession) -> list[tuple[str, str]]:
    """Return labels and values of the header of a report for a system."""

    def format_time(time: Any) -> str:
        return style.stamp(session.display(time, block.system)) if time else ""

    machine = "-".join(
        part
        for part in (header.first_value(block, "machine_type"), header.first_value(block, "model"))
        if part
    )
    return [
        ("System", block.name),
        ("From", format_time(block.start)),
        ("To", format_time(block.end)),
        ("Machine", machine),
        ("Level", header.level(block)),
        ("Synthetic data, not measured", "by zlens demo" if block.synthetic else ""),
    ]


def _columns(table: ReportTable) -> list[dict[str, Any]]:
    columns: list[dict[str, Any]] = [{"key": "row", "heading": "Row", "unit": "", "type": "text"}]
    if table.time:
        columns += [
            {"key": "interval_end", "heading": "Interval end", "unit": "", "type": "time"},
            {"key": "flag", "heading": "Flag", "unit": "", "type": "text"},
        ]
    return columns + [_column(column) for column in table.columns]


def _column(column: ReportColumn) -> dict[str, Any]:
    return {
        "key": column.key,
        "heading": column.name,
        "unit": column_facts.unit(column),
        "type": column.type,
        "decimals": column.decimals,
        "measures": list(column.measures),
        "status": column_facts.status(column),
        "text": column_facts.text(column),
    }
