"""Reports as CSV: a header row of keys, then every row with its exact values.

The kind of row, the system and, if rows have a time, the time (UTC, ISO 8601) and the flag of the interval
precede the columns of the report. An empty line separates the tables of a report.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from zlens._native import Lines
from zlens.catalog.reports.definition import ReportDefinition, ReportTable
from zlens.reports.rows import fetch, rows_in_order

if TYPE_CHECKING:
    from zlens.session.session import CoreSession


def chunks(definition: ReportDefinition, session: CoreSession) -> Iterator[str]:
    blocks = fetch(definition, session)
    for index, table in enumerate(definition.tables):
        names = [*fields(definition, table), *(column.key for column in table.columns)]
        yield ("\n" if index else "") + ",".join(names) + "\n"
        first = [table.key] if len(definition.tables) > 1 else []
        for block in blocks:
            for part in block.tables[index][1]:
                leading = [[*first, section.rows.export_name, block.name] for section in part]
                yield from Lines.csv(rows_in_order(part), leading, timed=bool(table.time))


def fields(definition: ReportDefinition, table: ReportTable) -> list[str]:
    """Return the names of the fields that precede the columns of the report."""
    names = ["table"] if len(definition.tables) > 1 else []
    names += ["row", definition.block]
    return names + (["interval_end", "flag"] if table.time else [])
