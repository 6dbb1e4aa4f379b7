"""What to show of a report: subjects, rows of intervals, order and number of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from zlens.catalog.reports.definition import ReportDefinition
from zlens.errors import QueryError
from zlens.reports.by_time import add_intervals

if TYPE_CHECKING:
    from zlens.session.session import CoreSession


class ReportOptions(Struct, frozen=True):
    """Options of a report.

    only     subjects to show, by name or pattern: a device, some guests
    by_time  the same, with the rows of every interval
    sort     column that sorts the rows, by its key or heading: numbers from the highest, texts from A
    top      maximum number of rows over the window, and of each interval
    """

    only: tuple[str, ...] = ()
    by_time: tuple[str, ...] = ()
    sort: str | None = None
    top: int | None = None


def apply_options(
    definition: ReportDefinition, session: CoreSession, options: ReportOptions
) -> ReportDefinition:
    """Return the report with what the options select; QueryError if it cannot be shown so."""
    if options.by_time or session.options.every_s:
        definition = add_intervals(definition, blank=not options.by_time)
    if options.top is not None and options.top < 1:
        raise QueryError(f"a report of the top {options.top} rows", expected="1 or more")
    if options.only or options.by_time:
        from zlens.reports.subject_filter import filter_subjects

        definition = filter_subjects(definition, [*options.only, *options.by_time], session)
    if options.sort is not None:
        return _sort(definition, options.sort, options.top)
    tables = tuple(replace(table, top=options.top) for table in definition.tables)
    return replace(definition, tables=tables)


def _sort(definition: ReportDefinition, name: str, top: int | None) -> ReportDefinition:
    """Return the report with the tables that have a column sorted by it; QueryError if none has."""
    requested = name.strip().lower()
    keys_by_table = [
        [column.key for column in table.columns if requested in (column.key, column.name.lower())]
        for table in definition.tables
    ]
    if not any(keys_by_table):
        keys = dict.fromkeys(column.key for table in definition.tables for column in table.columns)
        raise QueryError(f"{definition.name} has no column {name!r}", expected=f"one of {', '.join(keys)}")
    tables = tuple(
        replace(table, sort=keys[0], top=top) if keys else table
        for table, keys in zip(definition.tables, keys_by_table, strict=True)
    )
    return replace(definition, tables=tables)
