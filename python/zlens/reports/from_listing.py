"""Reports of listings: the rows that a report printed, read with its own definition."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from zlens.catalog import listings, measures
from zlens.catalog.expressions import literal, quote
from zlens.catalog.reports.definition import (
    ReportColumn,
    ReportDefinition,
    ReportTable,
    RowKind,
    with_intervals,
)
from zlens.catalog.reports.titles import IN_TITLE, fill_title
from zlens.reports.rows import has_table_data, has_times

if TYPE_CHECKING:
    from zlens.session.session import CoreSession

#: Kinds of rows that are neither means nor totals.
_PLAIN = ("interval", "row")
#: Time of the nearest row above that has one: labeled rows that follow belong to the same interval.
_ABOVE = (
    "last_value(CASE WHEN row_kind = 'interval' THEN interval_end END IGNORE NULLS) "
    "OVER (PARTITION BY r.file, r.system ORDER BY line_number)"
)
_TIME = (
    f"CASE WHEN row_kind IN ('interval', 'row') THEN interval_end ELSE coalesce({_ABOVE}, interval_end) END"
)


def read_from_listing(definition: ReportDefinition, session: CoreSession) -> ReportDefinition:
    """Return the report with tables over its own rows of a listing, if the input has them.

    Tables for which other data of the input has rows are computed from measures.
    """
    printed = [info.source in listings.SOURCES for info in session.systems]
    if not any(printed):
        return definition
    tables = tuple(
        _table(definition, _as_printed(definition, table, session) if table.as_printed else table, session)
        if _has_table_rows(definition, table, session)
        and (all(printed) or not has_table_data(table, session))
        else table
        for table in definition.tables
    )
    return replace(definition, tables=tables, members="")


def _has_table_rows(definition: ReportDefinition, table: ReportTable, session: CoreSession) -> bool:
    name = listings.table_name(definition, table)
    return any(name in source.tables for source in session.sources)


def _as_printed(definition: ReportDefinition, table: ReportTable, session: CoreSession) -> ReportTable:
    """Return the table with the columns that have values, and the digits that they were printed with."""
    names = [listings.column_name(column) for column in table.columns]
    values = ", ".join(
        f"CAST(max(-round(log10(2 * {quote(listings.precision_column(name))}))) AS INTEGER)"
        if column.type == "number"
        else f"CASE WHEN count(nullif({quote(name)}, '')) > 0 THEN 0 END"
        for name, column in zip(names, table.columns, strict=True)
    )
    (digits,) = session.sql(f"SELECT {values} FROM {quote(listings.table_name(definition, table))}").rows
    shown = tuple(
        replace(column, decimals=max(0, decimals))
        for column, decimals in zip(table.columns, digits, strict=True)
        if decimals is not None
    )
    subject = tuple(name for name in table.subject if name in {column.column for column in shown})
    return replace(table, columns=shown, subject=subject)


def _table(definition: ReportDefinition, table: ReportTable, session: CoreSession) -> ReportTable:
    table = _with_read_intervals(definition, table, session)
    columns: list[ReportColumn] = []
    for column in table.columns:
        # A query column that the report shows twice is printed twice.
        is_repeated = any(other.column == column.column for other in columns)
        columns.append(replace(column, column=column.key) if is_repeated else column)
    added = _columns_not_in_catalog(definition, table, session)
    raw = _selected(definition, table, columns, added)
    columns[:0] = added
    claimed: set[tuple[str, bool]] = set()
    labels = Counter(kind.export_name for kind in table.rows if kind.label)
    rows: list[RowKind] = []
    for kind in table.rows:
        if kind.kind == "peak":
            # Not read, because it repeats an interval of the listing.
            intervals = f"SELECT * FROM ({raw}) AS printed WHERE row_kind = 'interval'"
            rows.append(replace(kind, query=intervals))
            continue
        names = [name for name in _names(kind) if (name, has_times(kind)) not in claimed]
        claimed.update((name, has_times(kind)) for name in names)
        condition = f"row_kind IN ({', '.join(map(literal, names))})" if names else "false"
        if kind.label and labels[kind.export_name] > 1:
            condition += f" AND {'' if has_times(kind) else 'NOT '}within"
        query = f"SELECT * FROM ({raw}) AS printed WHERE {condition}"
        shown = kind.kind if kind.kind in _PLAIN else "query"
        rows.append(replace(kind, kind=shown, query=query, order=("line_number",)))
    title_values = _title_values(definition, table, session)
    return replace(
        table,
        title=table.title if title_values else fill_title(table.title, {}, lambda time: time),
        title_values=title_values,
        query=raw,
        columns=tuple(columns),
        subject=(*table.subject, *(column.column for column in added)),
        rows=tuple(rows),
        sort=None,
        query_by_time="",
        is_listed=True,
    )


def _title_values(definition: ReportDefinition, table: ReportTable, session: CoreSession) -> str:
    """Return the query of the values in the title; those that are columns of the rows come from the rows."""
    query, block = table.title_values, quote(definition.block)
    if not query or not session.queries.query_has_data(query):
        return ""
    columns = {column.key: quote(listings.column_name(column)) for column in table.columns}
    shown = [name for name, _ in IN_TITLE.findall(table.title) if name in columns]
    if not shown or definition.block != "system":
        return query
    values = ", ".join(f"min({columns[name]}) AS {quote(name)}" for name in shown)
    raw = quote(listings.table_name(definition, table))
    replaced = ", ".join(f"coalesce(t.{quote(name)}, own.{quote(name)}) AS {quote(name)}" for name in shown)
    return (
        f"SELECT t.* REPLACE ({replaced}) FROM ({query}) AS t "
        f"LEFT JOIN (SELECT {block}, {values} FROM {raw} GROUP BY {block}) AS own ON own.{block} = t.{block}"
    )


def _with_read_intervals(
    definition: ReportDefinition, table: ReportTable, session: CoreSession
) -> ReportTable:
    """Return the table with rows of intervals if the listing has them: it was printed by time."""
    if table.time or not table.query_by_time:
        return table
    name = quote(listings.table_name(definition, table))
    found = session.sql(f"SELECT 1 FROM {name} WHERE row_kind = 'interval' LIMIT 1").rows
    return with_intervals(table, blank=table.subject != (definition.block,)) if found else table


def _columns_not_in_catalog(
    definition: ReportDefinition, table: ReportTable, session: CoreSession
) -> list[ReportColumn]:
    """Return the columns that only the listing has, from left to right; their values are in `other`."""
    name = quote(listings.table_name(definition, table))
    headings = session.sql(
        "SELECT split_part(text, '=', 1) AS heading FROM (SELECT unnest(texts) AS text, "
        "generate_subscripts(texts, 1) AS position FROM (SELECT DISTINCT string_split(other, '; ') AS texts "
        f"FROM {name} WHERE other IS NOT NULL)) GROUP BY heading ORDER BY min(position), heading"
    ).rows
    used = {name for column in table.columns for name in (column.key, column.column)}
    added: list[ReportColumn] = []
    for (heading,) in headings:
        key = re.sub("[^a-z0-9]+", "_", heading.lower()).strip("_") or "other"
        while key in used:
            key += "_"
        used.add(key)
        column = ReportColumn(
            key=key,
            column=key,
            name=heading,
            head=heading,
            type="text",
            width=len(heading),
            keep=True,
            text="a column of the listing that is not in the catalog",
            status="verified",
        )
        added.append(column)
    return added


def _names(rows: RowKind) -> tuple[str, ...]:
    """Return the names of the rows of a kind in the raw table."""
    if rows.label:
        return (listings.row_kind(rows),)
    if rows.kind not in _PLAIN and (has_times(rows) or any(rows.cells.values())):
        return ("total",)
    return _PLAIN


def _selected(
    definition: ReportDefinition,
    table: ReportTable,
    columns: Sequence[ReportColumn],
    added: Sequence[ReportColumn],
) -> str:
    """Return the rows of the raw table, with the column names of the report's query."""
    raw_by_name = {
        # A mark without a heading is printed as blanks where there is none.
        column.column: f"coalesce({name}, '')"
        if listings.kind(column) == "text" and not any(column.heading)
        else name
        for column in columns
        for name in (quote(listings.column_name(column)),)
    }
    block = definition.block
    values = [f"{raw} AS {quote(name)}" for name, raw in raw_by_name.items() if name != block]
    values += [f"{_other_value(column.name)} AS {quote(column.column)}" for column in added]
    values += [f"NULL AS {quote(name)}" for name in table.subject if name not in raw_by_name]
    if table.time and table.time not in raw_by_name:
        values.append(f"{_TIME} AS {quote(table.time)}")
    has_column = block != "system" and measures.load_measure("system").column(block) is not None
    owner, join = 'r."system"', ""
    if has_column:
        owner = f"coalesce(own.{quote(block)}, {owner})"
        join = f'LEFT JOIN (SELECT DISTINCT "system", {quote(block)} FROM "system") AS own USING ("system") '
    return (
        f"SELECT {owner} AS {quote(block)}, {', '.join(values)}, NULL AS flag, line_number, row_kind, "
        f"{_ABOVE} IS NOT NULL AS within FROM {quote(listings.table_name(definition, table))} AS r {join}"
        "WHERE r.flag IS DISTINCT FROM 'repeated'"
    )


def _other_value(heading: str) -> str:
    """Return the value under a heading from the texts of columns that are not in the catalog."""
    begin = literal(f"{heading}=")
    texts = f"list_filter(string_split(other, '; '), lambda text: starts_with(text, {begin}))"
    return f"{texts}[1][{len(heading) + 2}:]"
