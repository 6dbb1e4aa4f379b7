"""Time series of metrics by interval."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any

from zlens.catalog import aggregation
from zlens.catalog import measures as catalog
from zlens.catalog.comparison_metrics import ComparedMetric
from zlens.catalog.expressions import literal, quote
from zlens.engine.cancellation import check_canceled

#: Rows between two checks for cancellation.
_ROWS = 10_000
#: A metric and its subject: the values of its columns `by`.
Key = tuple[str, tuple[str, ...]]
#: Interval end, and the numerator and denominator measured in the interval.
Point = tuple[dt.datetime, float, float]


class MetricSeries:
    """Numerators and denominators of metrics of one table, in order of time.

    by       columns that have separate values; other row keys are aggregated
    beneath  further columns that this series does not aggregate
    rows     SELECT of system, source, interval_end, the subject as k0, k1, ... and, for each metric, the
             numerator and denominator as a0, b0, a1, b1, ...
    """

    def __init__(
        self,
        table: str,
        by: Sequence[str],
        where: Sequence[tuple[str, str]],
        metrics: Sequence[ComparedMetric],
        beneath: Sequence[str] = (),
    ) -> None:
        self.table, self.by, self.where = table, by, where
        self.metrics = metrics
        self.beneath = beneath
        measured = catalog.load_measure(table)
        columns = [column for metric in metrics if (column := measured.column(metric.column))]
        condition = " AND ".join(
            [aggregation.unflagged_sql(), *(f"{quote(name)} = {literal(value)}" for name, value in where)]
        )
        pinned = [name for name, _ in where]
        keys = [*by, *beneath]
        rows = aggregation.interval_rows_sql(measured, columns, quote(table), keys, condition, pinned)
        texts = [f"CAST({quote(name)} AS VARCHAR)" for name in by]
        texts += [f"coalesce(CAST({quote(name)} AS VARCHAR), '')" for name in beneath]
        subject = "".join(f", {text} AS k{at}" for at, text in enumerate(texts))
        parts = ", ".join(
            f"{value} * {weight} AS a{at}, CASE WHEN {value} IS NOT NULL THEN {weight} END AS b{at}"
            for at, column in enumerate(columns)
            for value, weight in ((quote(column.name), quote(aggregation.weight_column(column))),)
        )
        self.rows = f"SELECT system, source, interval_end{subject}, {parts} FROM ({rows})"
        self.query = f"{self.rows} ORDER BY interval_end"

    def separate_subjects(self) -> MetricSeries | None:
        """Return the metrics that are means over subjects, by subject; None if there are no such metrics."""
        measured = catalog.load_measure(self.table)
        pinned = {name for name, _ in self.where}
        beneath = [name for name in measured.key if name not in self.by and name not in pinned]
        means = [
            metric
            for metric in self.metrics
            if (column := measured.column(metric.column)) and aggregation.subject_rule(column) == "mean"
        ]
        return MetricSeries(self.table, self.by, self.where, means, beneath) if beneath and means else None

    def points(self, rows: Iterable[Sequence[Any]]) -> dict[tuple[str, Key], list[Point]]:
        """Return the points of each metric that have a denominator, by system and key.

        `rows` are those of `query`.
        """
        by_source: dict[tuple[str, str, Key], list[Point]] = {}
        by = len(self.by) + len(self.beneath)
        for number, row in enumerate(rows):
            if number % _ROWS == 0:
                check_canceled()
            system, source, end, *rest = row
            if None in rest[:by]:
                continue
            subject = tuple(rest[:by])
            for index, metric in enumerate(self.metrics):
                above, below = rest[by + 2 * index : by + 2 * index + 2]
                if above is not None and below is not None and below > 0:
                    points = by_source.setdefault((system, source, (metric.key, subject)), [])
                    points.append((end, float(above), float(below)))
        selected: dict[tuple[str, Key], list[Point]] = {}
        # If several sources describe a system, use the one with most points, so that times do not count
        # twice.
        for (system, _, key), points in sorted(
            by_source.items(), key=lambda entry: (-len(entry[1]), entry[0][1])
        ):
            selected.setdefault((system, key), points)
        return selected
