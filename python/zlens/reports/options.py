"""What to show of a report: subjects, rows of intervals, order and number of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from zlens.catalog.reports.definition import ReportDefinition
from zlens.errors import QueryError
from zlens.reports.by_time import add_intervals
from zlens.schema.validators import Integer, Key, ListOf, Text

if TYPE_CHECKING:
    from zlens.session.session import CoreSession


_NAME = Text(120, 1)
#: The options of a report, as documents and requests give them.
KEYS = (
    Key("only", ListOf(_NAME, 0, 50), "only these subjects; * and ? match any characters", default=[]),
    Key("by_time", ListOf(_NAME, 0, 50), "the same, with the rows of every interval", default=[]),
    Key("sort", _NAME, "column that sorts the rows: numbers from the highest, texts from A", default=None),
    Key(
        "top",
        Integer(1, 100_000),
        "maximum number of rows over the window, and of each interval",
        default=None,
    ),
)


class ReportOptions(Struct, frozen=True):
    """Options of a report; KEYS describes them."""

    only: tuple[str, ...] = ()
    by_time: tuple[str, ...] = ()
    sort: str | None = None
    top: int | None = None

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> ReportOptions:
        """Return the options among values by the names of KEYS, lists as sequences of any kind."""
        only, by_time, sort, top = (values[key.name] for key in KEYS)
        return cls(tuple(only), tuple(by_time), sort, top)


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
