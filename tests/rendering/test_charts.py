"""Tests of charts: well-formed, escaped, and true to their values."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from zlens.rendering import charts
from zlens.rendering.charts import Chart, ChartSeries

SVG = "{http://www.w3.org/2000/svg}"


def drawn(chart: Chart) -> ElementTree.Element:
    return ElementTree.fromstring(charts.svg(chart))


def test_bars_are_as_high_as_their_values() -> None:
    series = (ChartSeries("entitled", [50.0, 100.0]), ChartSeries("gets", [25.0, None]))
    root = drawn(Chart("A <b> & c", "bars", ["x", "y"], series, "%"))
    bars = [one for one in root.findall(f"{SVG}rect") if one.find(f"{SVG}title") is not None]
    heights = [float(one.attrib["height"]) for one in bars]
    assert heights[2] == pytest.approx(2 * heights[0], abs=0.2)
    assert heights[0] == pytest.approx(2 * heights[1], abs=0.2)
    assert len(bars) == 3
    assert [one.findtext(f"{SVG}title") for one in bars] == [
        "x, entitled: 50%",
        "x, gets: 25%",
        "y, entitled: 100%",
    ]
    assert root.findtext(f"{SVG}title") == "A <b> & c"


def test_line_has_gap_at_unknown_value() -> None:
    series = (ChartSeries("a", [1.0, 2.0, None, 3.0, 4.0]),)
    root = drawn(Chart("t", "lines", [1.0, 2.0, 3.0, 4.0, 5.0], series, "s", "n"))
    assert len(root.findall(f"{SVG}polyline")) == 2
    assert len(root.findall(f"{SVG}circle")) == 4


def test_chart_without_values_is_empty() -> None:
    assert charts.svg(Chart("t", "bars", ["a"], (ChartSeries("a", [None]),), "")) == ""


def test_bars_are_limited_with_note() -> None:
    many = [str(at) for at in range(500)]
    root = drawn(Chart("t", "bars", many, (ChartSeries("a", [1.0] * 500),), ""))
    assert "of 500" in (root.findtext(f"{SVG}title") or "")
    assert len(root.findall(f"{SVG}rect")) == charts.MOST_BARS + 1


@given(st.floats(-1e12, 1e12), st.floats(-1e12, 1e12))
@example(0.0, 5e-324)
def test_axis_holds_its_values(one: float, other: float) -> None:
    low, high, step = charts.axis(min(one, other), max(one, other))
    room = 1e-6 * step
    assert low <= min(one, other) + room
    assert high >= max(one, other) - room
    assert 1 <= (high - low) / step <= 12
    power = step / 10 ** math.floor(math.log10(step) + 1e-9)
    assert any(power == pytest.approx(times) for times in (1, 2, 5))


def test_labels_are_shortened_to_fit() -> None:
    long = "CP, non-chargeable"
    few = drawn(Chart("t", "bars", [long, "b"], (ChartSeries("a", [1.0, 2.0]),), ""))
    many = drawn(Chart("t", "bars", [long] * 9, (ChartSeries("a", [1.0] * 9),), ""))
    assert long in [one.text for one in few.findall(f"{SVG}text")]
    assert long not in [one.text for one in many.findall(f"{SVG}text")]
    assert any((one.text or "").startswith("CP, non") for one in many.findall(f"{SVG}text"))


def test_unit_does_not_overlap_legend() -> None:
    root = drawn(Chart("t", "bars", ["a"], (ChartSeries("a", [1.0]),), "% of all processors"))
    box = next(one for one in root.findall(f"{SVG}rect") if one.find(f"{SVG}title") is None)
    assert float(box.attrib["x"]) > 7 * len("% of all processors")
