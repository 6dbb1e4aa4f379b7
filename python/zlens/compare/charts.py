"""Charts of a comparison: the largest differences, and time series."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from zlens.compare.comparison import Comparison, ComparisonRow, SystemComparison
from zlens.compare.series import Point
from zlens.compare.sides import SystemRun
from zlens.rendering.charts import Chart, ChartSeries

#: Maximum number of charts over time, of the largest differences beyond the noise.
_MOST_CHARTS = 6
#: Maximum points of a line; longer runs are shown as means of several intervals.
_MOST_POINTS = 240
#: Maximum bars of the chart of differences.
_MOST_BARS = 20


def charts(comparison: Comparison, compared: SystemComparison) -> Iterator[Chart]:
    """Yield the charts of one system."""
    names = [side.name for side in comparison.sides]
    ordered = compared.ordered()
    first = [*ordered.beyond, *ordered.untested]
    if first:
        yield _ratios(first, names)
    for row in [row for row in first if row.metric.column != "online"][:_MOST_CHARTS]:
        yield _over_time(row, compared, names)


def _ratios(rows: Sequence[ComparisonRow], names: Sequence[str]) -> Chart:
    """Return the largest differences in percent of their base, shares included."""
    shown = [row for row in rows if any(change.percent is not None for change in row.changes)][:_MOST_BARS]
    series = tuple(
        ChartSeries(
            f"{names[change.other]} against {names[change.base]}",
            [row.changes[index].percent for row in shown],
        )
        for index, change in enumerate(rows[0].changes)
    )
    return Chart("Largest differences", "bars", [row.name for row in shown], series, "% of base")


def _over_time(row: ComparisonRow, compared: SystemComparison, names: Sequence[str]) -> Chart:
    """Return a chart of the first run of each side over the minutes since its first interval."""
    lines = [_line(row, runs[0]) if runs else {} for runs in compared.sides]
    places = sorted({minute for line in lines for minute in line})
    series = tuple(
        ChartSeries(name, [line.get(minute) for minute in places])
        for name, line in zip(names, lines, strict=True)
    )
    return Chart(f"{row.name} over time", "lines", places, series, row.metric.unit, "minutes")


def _line(row: ComparisonRow, run: SystemRun) -> dict[float, float]:
    points = run.series.get((row.metric.key, row.subject), [])
    if not points:
        return {}
    first, step = points[0][0], -(-len(points) // _MOST_POINTS)
    values = {}
    for start in range(0, len(points), step):
        chunk: list[Point] = points[start : start + step]
        below = sum(point[2] for point in chunk)
        minute = round((chunk[0][0] - first).total_seconds() / 60, 3)
        values[minute] = row.metric.scale * sum(point[1] for point in chunk) / below
    return values
