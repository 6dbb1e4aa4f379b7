"""A comparison as one HTML file that fetches nothing: tables, waterfalls and what happened over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from zlens.compare import text_format
from zlens.compare.comparison import Comparison, ComparisonRow, SystemComparison, WaterfallSet
from zlens.compare.series import Point
from zlens.compare.sides import SystemRun
from zlens.compare.waterfall import Waterfall
from zlens.rendering import charts
from zlens.rendering.charts import Chart, ChartSeries
from zlens.rendering.html import page

#: Charts over time, of the surest and largest differences.
_MOST_CHARTS = 6
#: Maximum points of a line; longer runs are shown as means of several intervals.
_MOST_POINTS = 240
#: Maximum bars of the chart of differences.
_MOST_BARS = 20

_STYLE = """\
th[scope=rowgroup] { text-align: left; padding-top: .8rem; }
.sure { font-weight: bold; }
.warn { border-left: .3rem solid #c80; padding-left: 1rem; }
"""


def render(comparison: Comparison) -> str:
    body = [part for compared in comparison.systems for part in _system(comparison, compared)]
    body += _list("", comparison.notes)
    titles = ", ".join(compared.title for compared in comparison.systems)
    return page(f"Comparison of {titles}", "\n".join(body), _STYLE)


def _system(comparison: Comparison, compared: SystemComparison) -> Iterator[str]:
    names = [side.name for side in comparison.sides]
    yield f"<h1>Comparison of {escape(compared.title)}</h1>"
    yield from _sides(comparison, compared)
    if compared.warnings:
        yield "<div class=warn>"
        yield from _list("Configuration differences", compared.warnings)
        yield "</div>"
    yield from _list("IBM's regression criterion, 5 %", list(text_format.criterion_lines(compared, names)))
    first, rest, alone = compared.ordered()
    yield f"<h2>{escape(text_format.headline(compared))}</h2>"
    if first:
        yield charts.svg(_ratios(first, names))
        yield from _table(first, names)
    for step in compared.steps:
        for waterfall in step.waterfalls:
            yield from _waterfall(waterfall, step, names)
    shown = [row for row in first if row.metric.column != "online"][:_MOST_CHARTS]
    if shown:
        yield "<h2>Over time</h2>"
        for row in shown:
            yield f"<h3>{escape(row.name)}</h3>"
            yield charts.svg(_over_time(row, compared, names))
    if rest:
        yield "<h2>Within the noise</h2>"
        yield from _table(rest, names)
    if alone:
        yield f"<h2>{text_format.ALONE}</h2>"
        yield from _table(alone, names)
    yield from _list("Notes", compared.notes)


def _sides(comparison: Comparison, compared: SystemComparison) -> Iterator[str]:
    yield "<div class=wide><table><thead><tr><th class=t>Side</th><th class=t>Run</th><th class=t>System</th>"
    yield "<th class=t>Time</th><th>Intervals</th></tr></thead><tbody>"
    for side, name in zip(comparison.sides, compared.systems, strict=True):
        for run in side.runs:
            if name in run.systems:
                system_run = run.systems[name]
                texts = (side.name, run.label, system_run.system, text_format.span(system_run))
                cells = "".join(f"<td class=t>{escape(text)}</td>" for text in texts)
                yield f"<tr>{cells}<td>{system_run.intervals:,}</td></tr>"
    yield "</tbody></table></div>"


def _list(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        if title:
            yield f"<h2>{escape(title)}</h2>"
        yield f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"


def _table(rows: Sequence[ComparisonRow], names: Sequence[str]) -> Iterator[str]:
    heads = [f"<th>{escape(name)}</th>" for name in names]
    for change in rows[0].changes:
        heads.append(
            f"<th>{escape(names[change.other])} : {escape(names[change.base])}</th><th class=t>Form</th>"
        )
        heads.append("<th>Noise</th><th class=t></th>")
    yield f"<div class=wide><table><thead><tr><th class=t></th><th class=t>Unit</th>{''.join(heads)}"
    yield "<th>Samples</th></tr></thead><tbody>"
    group = ""
    for row in rows:
        if row.metric.group != group:
            group = row.metric.group
            yield f"<tr><th scope=rowgroup colspan={3 + len(heads) * 3}>{escape(group)}</th></tr>"
        cells = [f"<td{_dim(value is None)}>{text_format.number(value)}</td>" for value in row.values]
        for change in row.changes:
            sure = " class=sure" if change.is_beyond_noise else ""
            why = escape(change.verdict.why)
            cells.append(
                f"<td{sure}>{text_format.format_difference(change)}</td><td class=t>{change.form}</td>"
            )
            cells.append(f"<td>{text_format.format_noise(row, change)}</td>")
            cells.append(f'<td class=t title="{why}">{_words(text_format.marks(change))}</td>')
        unit = f"<td class=t>{escape(row.metric.unit)}</td>"
        cells.append(f"<td>{text_format.format_samples(row)}</td>")
        yield f"<tr><td class=t>{escape(row.name)}</td>{unit}{''.join(cells)}</tr>"
    yield "</tbody></table></div>"


def _dim(missing: bool) -> str:
    return " class=m" if missing else ""


def _words(marks: str) -> str:
    """What the marks of the text mean."""
    known = {"*": "beyond noise", "?": "no test possible", "!": "outside 5 %", "+": "better", "-": "worse"}
    return ", ".join(known[mark] for mark in marks)


def _ratios(rows: Sequence[ComparisonRow], names: Sequence[str]) -> Chart:
    """The largest differences in percent of their base; of shares, too."""
    kept = [row for row in rows if any(change.percent is not None for change in row.changes)][:_MOST_BARS]
    series = tuple(
        ChartSeries(
            f"{names[change.other]} against {names[change.base]}",
            [row.changes[at].percent for row in kept],
        )
        for at, change in enumerate(rows[0].changes)
    )
    return Chart("Largest differences", "bars", [row.name for row in kept], series, "% of base")


def _waterfall(waterfall: Waterfall, step: WaterfallSet, names: Sequence[str]) -> Iterator[str]:
    """Parts as bars, and as a table whose rows add up."""
    base, other = names[step.base], names[step.other]
    yield f"<h2>{escape(waterfall.title)}: {escape(other)} against {escape(base)}</h2>"
    places = [part.name for part in waterfall.parts]
    yield charts.svg(
        Chart(
            waterfall.title,
            "bars",
            places,
            (ChartSeries("change", [part.change for part in waterfall.parts]),),
            waterfall.unit,
        )
    )
    rows = [(base, text_format.number(waterfall.start), "")]
    for part in waterfall.parts:
        share = f"{100 * part.change / waterfall.start:+.1f}" if waterfall.start else ""
        rows.append((part.name, text_format.format_signed(part.change), share))
    rows.append((other, text_format.number(waterfall.end), ""))
    yield "<table><thead><tr><th class=t></th>"
    yield f"<th>{escape(waterfall.unit)}</th><th>% of base</th></tr></thead><tbody>"
    for name, value, share in rows:
        yield f"<tr><td class=t>{escape(name)}</td><td>{value}</td><td>{share}</td></tr>"
    yield "</tbody></table>"
    yield from _list("", [waterfall.note] if waterfall.note else [])


def _over_time(row: ComparisonRow, compared: SystemComparison, names: Sequence[str]) -> Chart:
    """A chart of the first run of each side over the minutes since its first interval."""
    lines = [_line(row, runs[0]) if runs else {} for runs in compared.sides]
    places = sorted({minute for line in lines for minute in line})
    series = tuple(
        ChartSeries(name, [line.get(minute) for minute in places])
        for name, line in zip(names, lines, strict=True)
    )
    return Chart(row.name, "lines", places, series, row.metric.unit, "minutes")


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
