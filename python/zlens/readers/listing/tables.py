"""Raw tables of listings, created when a report needs them."""

from __future__ import annotations

import re

from msgspec import Struct

from zlens._native import ListingRows
from zlens.catalog import listings
from zlens.catalog.reports import definition
from zlens.catalog.reports.definition import ReportDefinition, ReportTable

#: Maximum number of tables with different columns for a report that is not in the catalog.
MAX_TABLES = 9


class ListingTarget(Struct):
    """A raw table with its rows.

    table   its definition; None if the report is not in the catalog, which has `heads`
    timed   its rows start with times
    placed  number of rows with assigned times
    """

    name: str
    rows: ListingRows
    table: ReportTable | None
    heads: tuple[str, ...] = ()
    timed: bool = False
    placed: int = 0


class ListingTables:
    """The raw tables of all files, created when a report needs them."""

    def __init__(self) -> None:
        #: By name, and whether rows start with times: a report by time has rows of intervals, too.
        self.targets: dict[tuple[str, bool], ListingTarget] = {}

    def of(self, report: ReportDefinition, table: ReportTable) -> ListingTarget:
        name, timed = listings.table_name(report, table), bool(table.time)
        target = self.targets.get((name, timed))
        if target is None:
            columns = [(listings.column_name(column), listings.kind(column)) for column in table.columns]
            # Peaks repeat rows of intervals; a line whose label has no kind is not read.
            labels = [
                (definition.PEAK, ""),
                *((rows.label, listings.row_kind(rows)) for rows in table.rows if rows.label),
            ]
            time_column = listings.time_column(report.name, table.key)
            time_index = [column.key for column in table.columns].index(time_column) if time_column else None
            names = [name for name, _ in columns]
            subject = [names.index(column) for column in listings.subject(name, names)]
            totals = _total_labels(table)
            rows = ListingRows(columns, labels, totals, timed=timed, subject=subject, moment=time_index)
            target = self.targets[name, timed] = ListingTarget(name, rows, table, timed=timed)
        return target

    def unknown(self, name: str, columns: tuple[str, ...], timed: bool) -> ListingTarget | None:
        """Return a raw table of a report outside the catalog; None if it has too many tables."""
        for number in range(1, MAX_TABLES + 1):
            table_name = name if number == 1 else f"{name}_{number}"
            target = self.targets.get((table_name, False))
            if target is None:
                subject = [columns.index(column) for column in listings.subject(table_name, columns)]
                texts = [(column, "text") for column in columns]
                rows = ListingRows(texts, [], [], timed=timed, subject=subject)
                target = ListingTarget(table_name, rows, None, columns, timed=timed)
                self.targets[table_name, False] = target
            if target.heads == columns:
                return target
        return None


def distinct_columns(names: list[str]) -> tuple[str, ...]:
    """Return column names from headings: lower case, numbered where they repeat."""
    distinct: list[str] = []
    for name in names:
        base_name = re.sub(r"[^a-z0-9]+", "_", name.lower().replace("%", "pct_")).strip("_") or "column"
        base_name = f"c_{base_name}" if base_name[0].isdigit() else base_name
        base_name = f"{base_name}_" if base_name in listings.leading() else base_name
        count = 1
        name_to_add = base_name
        while name_to_add in distinct:
            count += 1
            name_to_add = f"{base_name}_{count}"
        distinct.append(name_to_add)
    return tuple(distinct)


def _total_labels(table: ReportTable) -> list[list[tuple[int, str]]]:
    """Return the texts by column that identify totals among rows with a time."""
    keys = [column.key for column in table.columns]
    fixed_texts = [
        [(keys.index(key), text) for key, text in rows.cells.items() if text]
        for rows in table.rows
        if rows.kind != "interval" and not rows.label
    ]
    return [texts for texts in fixed_texts if texts]
