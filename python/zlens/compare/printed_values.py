"""Values of listings that no measure has: every number of a table, as printed."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from zlens.catalog import listings
from zlens.catalog.comparison_metrics import ComparedMetric, compared_metrics
from zlens.catalog.expressions import quote
from zlens.catalog.raw_columns import LISTED
from zlens.catalog.reports import definition
from zlens.catalog.reports.definition import ReportColumn, ReportDefinition
from zlens.compare.series import Key, Point
from zlens.session.session import CoreSession

#: Maximum number of subjects of a number that are compared, those with the largest differences.
_MOST = 10
#: Rows that are neither means of others nor repeated; a report over the entire time has only means.
_ROWS = "(row_kind IN ('interval', 'row') OR row_kind = 'mean' AND \"only\") AND flag IS NULL"


class PrintedSeries:
    """The numbers of one raw table of a listing, by the texts that identify its rows.

    query  SELECT of system, time, subject and, for each metric, the value and its precision
    """

    def __init__(self, name: str, by: Sequence[str], columns: Sequence[ReportColumn]) -> None:
        report, _ = listings.tables()[name]
        self.by = by
        self.metrics = [_metric(name, definition.load_report(report), by, column) for column in columns]
        subject = [f"coalesce(CAST({quote(each)} AS VARCHAR), '')" for each in by]
        numbers = [
            quote(each)
            for metric in self.metrics
            for each in (metric.column, listings.precision_column(metric.column))
        ]
        selected = ", ".join(["system", "interval_end", *subject, *numbers])
        self.query = f"SELECT {selected} FROM {quote(name)} WHERE {_ROWS} ORDER BY interval_end, line_number"

    def values(
        self, rows: Iterable[Sequence[Any]]
    ) -> tuple[dict[tuple[str, Key], list[Point]], dict[tuple[str, Key], float]]:
        """Return the points of each metric, and the maximum change of their mean by rounding."""
        points: dict[tuple[str, Key], list[Point]] = {}
        precisions: dict[tuple[str, Key], list[float]] = {}
        count = len(self.by)
        for system, end, *rest in rows:
            for index, metric in enumerate(self.metrics):
                value, precision = rest[count + 2 * index : count + 2 * index + 2]
                if value is not None:
                    key = system, (metric.key, tuple(rest[:count]))
                    points.setdefault(key, []).append((end, float(value), 1.0))
                    precisions.setdefault(key, []).append(precision or 0.0)
        return points, {key: math.fsum(each) / len(each) for key, each in precisions.items()}


def printed_series(session: CoreSession, measured: Collection[str]) -> Iterator[PrintedSeries]:
    """Yield the series of the listings of an input, without the columns that measures have there."""
    tables = {name for source in session.sources for name in source.tables if name.startswith(LISTED)}
    if not tables:
        # Reading all reports would take longer than most queries.
        return
    # A ratio of two rows is itself a comparison.
    ratios = {(each.report, each.ratios) for each in listings.ListingsFile.load().separated}
    for name in sorted(tables & listings.tables().keys()):
        report, key = listings.tables()[name]
        if (report, key) in ratios:
            continue
        table = definition.load_report(report).table(key)
        columns = [
            column
            for column in table.columns
            if column.type == "number" and _names(column).isdisjoint(measured)
        ]
        names = [listings.column_name(column) for column in table.columns]
        # The texts of such a table say how its rows differ, which is what is compared.
        by = () if table.as_printed else listings.subject(name, names)
        columns = [column for column in columns if listings.column_name(column) not in by]
        if columns:
            yield PrintedSeries(name, by, columns)


def _names(column: ReportColumn) -> set[str]:
    """Return the columns of measures that a number is the value of."""
    return {column.key, *(measure.rpartition(".")[2] for measure in column.measures)}


def _metric(name: str, report: ReportDefinition, by: Sequence[str], column: ReportColumn) -> ComparedMetric:
    """Return how a number is compared: like the measure of the same name, if that is compared."""
    own = listings.column_name(column)
    by_measure = {metric.key: metric for metric in compared_metrics()}
    by_column = {metric.column: metric for metric in reversed(compared_metrics())}
    known = next(
        (by_measure[each] for each in column.measures if each in by_measure), by_column.get(column.key)
    )
    unit = listings.unit(column)
    return ComparedMetric(
        group=f"{report.name.upper()} as printed",
        table=name,
        column=own,
        heading=known.heading if known else column.name,
        unit=unit,
        by=tuple(by),
        form=known.form if known else "points" if unit == "%" else "ratio",
        direction=known.direction if known else "none",
        across=known.across if known else False,
        most=_MOST if by else 0,
        published=known.published if known else "",
        published_form=known.published_form if known else "",
    )
