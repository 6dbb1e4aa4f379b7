"""Reports by time: the rows of every interval below those of the window."""

from __future__ import annotations

from msgspec.structs import replace

from zlens.catalog.reports.definition import ReportDefinition, with_intervals
from zlens.errors import QueryError
from zlens.schema.wording import phrase


def add_intervals(definition: ReportDefinition, *, blank: bool) -> ReportDefinition:
    """Return the report with rows of intervals in all tables that can have them.

    blank   whether a blank line separates the rows of several subjects
    QueryError with the reason if no table can have such rows.
    """
    if not any(table.has_intervals for table in definition.tables):
        reason = definition.untimed or "this input has its rows only over the window"
        raise QueryError(f"{definition.name} has no rows of intervals: {reason}", cure=phrase("by_time_out"))
    tables = tuple(
        with_intervals(table, blank=blank and table.subject != (definition.block,))
        for table in definition.tables
    )
    return replace(definition, tables=tables)
