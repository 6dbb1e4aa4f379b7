"""Reports as JSON: one array of objects, column keys as names, exact values, null for missing values.

`row` is the kind of row, or the label of rows with their own query; a column of a total contains the result
of its rule, such as the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from zlens._native import Lines
from zlens.catalog.reports.definition import ReportDefinition
from zlens.reports.rows import fetch, rows_in_order

if TYPE_CHECKING:
    from zlens.session.session import CoreSession


def chunks(definition: ReportDefinition, session: CoreSession) -> Iterator[str]:
    blocks = fetch(definition, session)
    separator = "[\n"
    for index, table in enumerate(definition.tables):
        first = [("table", table.key)] if len(definition.tables) > 1 else []
        names = [column.key for column in table.columns]
        no_cells: list[str | None] = [None] * len(names)
        for block in blocks:
            for part in block.tables[index][1]:
                leading = [
                    [*first, ("row", section.rows.export_name), (definition.block, block.name)]
                    for section in part
                ]
                fixed = [no_cells] * len(part)
                lines = Lines.json(rows_in_order(part), leading, names, fixed, timed=bool(table.time))
                for position, chunk in enumerate(lines):
                    yield chunk if position else separator + chunk
                    separator = ",\n"
    yield "\n]\n" if separator == ",\n" else "[]\n"
