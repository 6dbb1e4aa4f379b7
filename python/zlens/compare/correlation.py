"""Metrics that correlate with another one over the intervals of a run.

Uses Spearman's rank correlation (American Journal of Psychology 15, 1904): it requires no linear relation,
and a single extreme interval does not dominate it. Both metrics may depend on a third one; a correlation is
not a cause.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Sequence

from msgspec import Struct

from zlens.catalog.comparison_metrics import ComparedMetric
from zlens.compare.noise import FEWEST_INTERVALS
from zlens.compare.series import Point
from zlens.compare.sides import SystemRun
from zlens.engine.cancellation import check_canceled


class CorrelatedMetric(Struct, frozen=True):
    """A metric that correlates with another: its rank correlation, and its means in and outside a peak."""

    metric: ComparedMetric
    subject: tuple[str, ...]
    correlation: float
    value: float | None
    usual: float | None


def correlated_metrics(
    run: SystemRun,
    lead: str,
    metrics: Iterable[ComparedMetric],
    window: tuple[dt.datetime, dt.datetime],
    peak: tuple[dt.datetime, dt.datetime],
) -> list[CorrelatedMetric]:
    """Return the rank correlation of every metric with `lead` over a window, strongest first."""
    # A column may be compared in total and by subject.
    by_key = {(metric.key, len(metric.by)): metric for metric in metrics}
    leading = {end: above / below for end, above, below in _within(run.series.get((lead, ()), []), window)}
    results = []
    for (key, subject), points in run.series.items():
        check_canceled()
        metric = by_key.get((key, len(subject)))
        if metric is None or key == lead:
            continue
        in_window = _within(points, window)
        pairs = [(leading[end], above / below) for end, above, below in in_window if end in leading]
        correlation = rank_correlation(pairs)
        if correlation is None:
            continue
        inside = _within(in_window, peak)
        outside = [point for point in in_window if not peak[0] < point[0] <= peak[1]]
        value, usual = (_mean(part, metric.scale) for part in (inside, outside))
        results.append(CorrelatedMetric(metric, subject, correlation, value, usual))
    return sorted(results, key=lambda result: -abs(result.correlation))


class MetricChange(Struct, frozen=True):
    """A metric of a system: its means in a window and in the rest of the run."""

    metric: ComparedMetric
    value: float
    usual: float

    @property
    def size(self) -> float:
        """Size of the difference relative to the larger of the two, so that values from zero have a size."""
        largest = max(abs(self.value), abs(self.usual))
        return abs(self.value - self.usual) / largest if largest else 0.0


def metric_changes(
    run: SystemRun, metrics: Iterable[ComparedMetric], window: tuple[dt.datetime, dt.datetime]
) -> list[MetricChange]:
    """Return every metric of the system in a window and outside of it, largest difference first."""
    changes = []
    for metric in metrics:
        points = [] if metric.by else run.series.get((metric.key, ()), [])
        outside = [point for point in points if not window[0] < point[0] <= window[1]]
        value, usual = (_mean(part, metric.scale) for part in (_within(points, window), outside))
        if value is not None and usual is not None:
            changes.append(MetricChange(metric, value, usual))
    return sorted(changes, key=lambda change: -change.size)


def rank_correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return Spearman's rank correlation; None for too few intervals, or if one of the two never changes."""
    if len(pairs) < FEWEST_INTERVALS:
        return None
    first, second = (_ranks([pair[index] for pair in pairs]) for index in (0, 1))
    middle = (len(pairs) + 1) / 2
    above = math.fsum((a - middle) * (b - middle) for a, b in zip(first, second, strict=True))
    spreads = [math.fsum((rank - middle) ** 2 for rank in ranks) for ranks in (first, second)]
    return None if min(spreads) == 0 else above / math.sqrt(spreads[0] * spreads[1])


def _ranks(values: Sequence[float]) -> list[float]:
    """Return ranks from 1; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for index in order[start : end + 1]:
            ranks[index] = (start + end) / 2 + 1
        start = end + 1
    return ranks


def _within(points: Sequence[Point], span: tuple[dt.datetime, dt.datetime]) -> list[Point]:
    return [point for point in points if span[0] < point[0] <= span[1]]


def _mean(points: Sequence[Point], scale: float) -> float | None:
    below = math.fsum(point[2] for point in points)
    return scale * math.fsum(point[1] for point in points) / below if below > 0 else None
