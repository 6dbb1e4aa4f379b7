"""Charts as inline SVG: bars and lines, for self-contained HTML.

Colors are those of Okabe and Ito, which people with color vision deficiency can distinguish; text has the
color of the document, so that charts are readable in dark mode.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from zlens.rendering.text_lines import with_unit

COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999")
WIDTH, HEIGHT = 760, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 12, 34, 46
#: Average width of a character of the labels.
_LETTER = 7.5
#: Maximum number of bars; a chart with more shows the first of them and says so in its title.
MOST_BARS = 60


class ChartSeries(Struct, frozen=True):
    """Values of a chart, one for each of its places; None leaves a gap."""

    name: str
    values: Sequence[float | None]


class Chart(Struct, frozen=True):
    """kind `bars`: places are names. `lines`: places are numbers along the axis."""

    title: str
    kind: str
    places: Sequence[str] | Sequence[float]
    series: tuple[ChartSeries, ...]
    unit: str
    along: str = ""


def as_data(chart: Chart) -> dict[str, Any]:
    """Return the chart as an object for programs and the web UI."""
    series = [{"name": line.name, "values": list(line.values)} for line in chart.series]
    return asdict(chart) | {"places": list(chart.places), "series": series}


def svg(chart: Chart) -> str:
    """Return the chart as one <svg> element; "" if it has no value."""
    chart = _cut(chart)
    values = [value for line in chart.series for value in line.values if value is not None]
    if not values:
        return ""
    low, high, step = axis(min(0.0, *values), max(0.0, *values))
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(chart.title)}" '
        'xmlns="http://www.w3.org/2000/svg">',
        f"<title>{escape(chart.title)}</title>",
        *_grid(low, high, step, chart.unit),
        *(_bars(chart, low, high) if chart.kind == "bars" else _lines(chart, low, high)),
        *_legend(chart.series, chart.unit),
        "</svg>",
    ]
    return "\n".join(parts)


def axis(low: float, high: float) -> tuple[float, float, float]:
    """Return ends and step of an axis for this range: about five steps of 1, 2 or 5 times a power of ten."""
    # Values that differ by less than any power of ten count as one value.
    if high - low < 1e-300:
        high = low + 1
    raw = (high - low) / 5
    power = 10 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw * (1 - 1e-9))
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, step


def _cut(chart: Chart) -> Chart:
    if chart.kind != "bars" or len(chart.places) <= MOST_BARS:
        return chart
    series = tuple(ChartSeries(line.name, line.values[:MOST_BARS]) for line in chart.series)
    title = f"{chart.title} (the first {MOST_BARS} of {len(chart.places):,})"
    return replace(chart, title=title, places=chart.places[:MOST_BARS], series=series)


def _y(value: float, low: float, high: float) -> float:
    return _TOP + (HEIGHT - _TOP - _BOTTOM) * (high - value) / (high - low)


def _grid(low: float, high: float, step: float, unit: str) -> list[str]:
    parts = [f'<text x="4" y="14" class="u">{escape(unit)}</text>'] if unit else []
    for index in range(round((high - low) / step) + 1):
        value = low + index * step
        y = _y(value, low, high)
        parts.append(f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="g"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_number(value)}</text>')
    return parts


def _bars(chart: Chart, low: float, high: float) -> list[str]:
    slot = (WIDTH - _LEFT - _RIGHT) / max(1, len(chart.places))
    width = slot * 0.8 / max(1, len(chart.series))
    zero = _y(0.0, low, high)
    parts = []
    every = max(1, math.ceil(len(chart.places) * 70 / (WIDTH - _LEFT - _RIGHT)))
    for index, place in enumerate(chart.places):
        left = _LEFT + index * slot + slot * 0.1
        for number, line in enumerate(chart.series):
            value = line.values[index]
            if value is None:
                continue
            y = _y(value, low, high)
            parts.append(
                f'<rect x="{left + number * width:.1f}" y="{min(y, zero):.1f}" width="{width:.1f}" '
                f'height="{abs(y - zero):.1f}" fill="{COLORS[number % len(COLORS)]}">'
                f"{_hover(str(place), line.name, value, chart.unit)}</rect>"
            )
        if index % every == 0:
            middle, below = left + slot * 0.4, HEIGHT - _BOTTOM + 16
            label = escape(_fitting(str(place), slot * every))
            parts.append(f'<text x="{middle:.1f}" y="{below}" text-anchor="middle">{label}</text>')
    return parts


def _lines(chart: Chart, low: float, high: float) -> list[str]:
    places = [float(place) for place in chart.places]
    first, last, step = axis(min(places), max(places))
    first, last = min(places), max(max(places), min(places) + step / 1000)

    def across(place: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * (place - first) / (last - first)

    parts = []
    tick = math.ceil(first / step - 1e-9) * step
    while tick <= last + step * 1e-9:
        x = across(tick)
        element = f'<text x="{x:.1f}" y="{HEIGHT - _BOTTOM + 16}" text-anchor="middle">{_number(tick)}</text>'
        parts.append(element)
        tick += step
    along = escape(chart.along)
    parts.append(f'<text x="{(WIDTH + _LEFT) / 2:.0f}" y="{HEIGHT - 10}" text-anchor="middle">{along}</text>')
    for number, line in enumerate(chart.series):
        color = COLORS[number % len(COLORS)]
        for run in _runs(places, line.values):
            points = " ".join(f"{across(x):.1f},{_y(y, low, high):.1f}" for x, y in run)
            parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>')
        for place, value in zip(places, line.values, strict=True):
            if value is not None:
                x, y = across(place), _y(value, low, high)
                hover = _hover(f"{place:,.6g}", line.name, value, chart.unit)
                parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{color}">{hover}</circle>')
    return parts


def _runs(places: Sequence[float], values: Sequence[float | None]) -> list[list[tuple[float, float]]]:
    """Return the runs of known points; a line does not bridge gaps."""
    runs: list[list[tuple[float, float]]] = [[]]
    for place, value in zip(places, values, strict=True):
        if value is None:
            runs.append([])
        else:
            runs[-1].append((place, value))
    return [run for run in runs if len(run) > 1]


def _fitting(label: str, width: float) -> str:
    """Truncate a label to the width between its neighbors."""
    max_length = max(8, int(width / _LETTER))
    return label if len(label) <= max_length else label[: max_length - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _legend(series: Sequence[ChartSeries], unit: str) -> list[str]:
    parts, x = [], max(float(_LEFT), 14 + _LETTER * len(unit))
    for number, line in enumerate(series):
        element = f'<rect x="{x:.0f}" y="4" width="12" height="12" fill="{COLORS[number % len(COLORS)]}"/>'
        parts.append(element)
        parts.append(f'<text x="{x + 16:.0f}" y="14">{escape(line.name)}</text>')
        x += 30 + _LETTER * len(line.name)
    return parts


def _hover(place: str, name: str, value: float, unit: str) -> str:
    """Return a tooltip with the exact value."""
    text = f"{place}, {name}: {with_unit(f'{value:,.6g}', unit)}"
    return f"<title>{escape(text)}</title>"


def _number(value: float) -> str:
    return f"{value:,.6g}" if value else "0"
