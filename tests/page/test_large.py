"""Tests of a long recording: each pixel shows minimum, median and maximum; a zoom shows all values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, Page, Request, expect

import large_recording
from chromium import Window, opened, ready, served, window_at
from patience import until
from ui_comparison import chart_rows, copied_rows, from_chart, query_objects, running, set_to, setting

FIRST_S = large_recording.FIRST_US // 1_000_000
SPIKE_S = FIRST_S + 60 * large_recording.SPIKE


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return large_recording.write(tmp_path_factory.mktemp("large") / "large.monwrite")


@pytest.fixture(scope="module")
def place(large: Path) -> Iterator[str]:
    with served(str(large)) as found:
        yield found


@pytest.fixture(scope="module")
def large_window(browser: Browser, place: str) -> Iterator[Window]:
    with window_at(browser, place) as window:
        yield window


@pytest.fixture
def wide(large_window: Window) -> Iterator[Page]:
    with large_window.page() as page:
        yield page


def held(rows: list[dict[str, str]], name: str) -> list[tuple[float, ...]]:
    """Return time, minimum, median and maximum of every point of a line."""
    return [
        tuple(float(row[key]) for key in ("time_utc_s", f"{name} min", name, f"{name} max")) for row in rows
    ]


def program(large: Path, table: str, column: str, width: int, only: str = "true") -> list[tuple[float, ...]]:
    """Return the same from `zlens sql`; an interval belongs to the bucket in which it ends."""
    rows = query_objects(
        large,
        f"SELECT ceil(epoch(interval_end) / {width}) * {width} AS t, min({column}) AS least, "
        f"quantile_cont({column}, 0.5) AS median, max({column}) AS most "
        f"FROM {table} WHERE {only} GROUP BY t ORDER BY t",
    )
    # Sums of doubles differ in the last digit with the row order.
    return [
        pytest.approx(tuple(float(str(row[key])) for key in ("t", "least", "median", "most")), rel=1e-14)
        for row in rows
    ]


@pytest.mark.long
def test_wide_window_shows_min_median_and_max(wide: Page, place: str, large: Path):
    opened(wide, place, "overview")
    shown = held(chart_rows(wide, "busy"), "Busy")
    assert 300 < len(shown) < 500
    assert shown == program(large, "load", "busy_pct", 180)
    assert any(least < median < most for _, least, median, most in shown)
    guests = chart_rows(wide, "top-guests")
    names = [name for name in guests[0] if name.startswith("LNX") and " " not in name]
    # A guest that was busy for only one interval is among the largest, too.
    assert large_recording.SPIKY in guests[0]
    assert len(names) == 7
    assert held(guests, names[3]) == program(large, "guest", "cpu_pct", 180, f"userid = '{names[3]}'")
    # The chart's SQL has minimum and median and no mean.
    sql = from_chart(wide, "busy", "Copy SQL")
    assert "min(" in sql
    assert "quantile_cont(" in sql
    assert not re.search(r"\b(avg|mean)\(", sql)


@pytest.mark.long
def test_single_guest_interval_is_visible_at_any_zoom(wide: Page, place: str, large: Path, tmp_path: Path):
    opened(wide, place, "guests", user=large_recording.SPIKY)
    one_interval_of_a_guest_is_seen_in_the_widest_window(wide, large, tmp_path)
    begin, end = SPIKE_S - 3600, SPIKE_S + 3600
    opened(wide, place, "guests", user=large_recording.SPIKY, **{"from": begin, "to": end})
    a_narrow_window_shows_every_interval_as_it_is(wide, large, begin, end)
    opened(wide, place, "guests", user="LNX007")
    what_was_overtaken_is_ended(wide, large)


def one_interval_of_a_guest_is_seen_in_the_widest_window(wide: Page, large: Path, tmp_path: Path) -> None:
    shown = held(chart_rows(wide, "guest-cpu"), "CPU")
    assert shown == program(large, "guest", "cpu_pct", 180, f"userid = '{large_recording.SPIKY}'")
    [there] = [one for one in shown if one[3] > 50]
    assert there[0] - 180 < SPIKE_S <= there[0]
    assert (there[3], there[2] < 1) == (100.0, True)
    # The chart draws it: the band extends far above all other values.
    frame = wide.get_by_test_id("chart-guest-cpu")
    frame.locator("summary").click()
    with wide.expect_download() as waiting:
        frame.get_by_role("button", name="Save as SVG").click()
    waiting.value.save_as(tmp_path / "chart.svg")
    tree = ElementTree.parse(tmp_path / "chart.svg")
    points = [
        [float(pair.split(",")[1]) for pair in one.get("points", "").split()]
        for one in tree.iter("{http://www.w3.org/2000/svg}polygon")
    ]
    band = max(points, key=len)
    assert len(band) > 600
    assert sum(y < min(band) + (max(band) - min(band)) / 2 for y in band) == 1
    # The table's sparkline shows it as well.
    wide.locator("#find").fill("spiky")
    spark = wide.locator('[data-testid="table-guests"] svg[aria-label^="SPIKY"]')
    expect(spark).to_have_attribute("aria-label", "SPIKY: up to 100")
    [row] = [row for row in copied_rows(wide, "guests") if row["userid"] == "SPIKY"]
    assert float(row["cpu_pct_max"]) == 100
    assert float(row["cpu_pct_p95"]) < 1


def a_narrow_window_shows_every_interval_as_it_is(wide: Page, large: Path, begin: int, end: int) -> None:
    rows = chart_rows(wide, "guest-cpu")
    assert list(rows[0]) == ["time", "time_utc_s", "CPU"]
    expected = query_objects(
        large,
        "SELECT epoch(interval_end) AS t, cpu_pct FROM guest WHERE userid = 'SPIKY' "
        f"AND interval_end > to_timestamp({begin}) AND interval_end <= to_timestamp({end}) ORDER BY t",
    )
    assert len(expected) == 120
    assert [(float(row["time_utc_s"]), float(row["CPU"])) for row in rows] == [
        (row["t"], row["cpu_pct"]) for row in expected
    ]
    assert {row["t"]: row["cpu_pct"] for row in expected}[SPIKE_S] == 100


def questions(page: Page) -> list[tuple[str, dict[str, object]]]:
    """Record requests from now on: the name of each endpoint and its parameters."""
    found: list[tuple[str, dict[str, object]]] = []

    def note(request: Request) -> None:
        name = request.url.rpartition("/")[2]
        if request.method == "POST" and name in ("aggregate", "rows", "sql", "cancel"):
            found.append((name, json.loads(request.post_data or "{}")))
        elif request.method == "GET" and "/api/" in request.url:
            address = urlsplit(request.url)
            values = {key: value for key, value in parse_qsl(address.query) if key != "id"}
            found.append((address.path.rpartition("/")[2], values))

    page.on("request", note)
    return found


@pytest.mark.long
def test_brush_requests_only_its_window(wide: Page, place: str):
    opened(wide, place, "overview")
    found = questions(wide)
    box = wide.locator('[data-testid="strip"] canvas').bounding_box()
    assert box
    wide.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 40)
    wide.mouse.down()
    for share in (0.45, 0.5, 0.55):
        # The web UI sends no request during the brush.
        wide.mouse.move(box["x"] + box["width"] * share, box["y"] + 40)
        wide.wait_for_timeout(60)
        assert not found
    wide.mouse.up()
    wide.wait_for_url(re.compile(r"from=\d+.*to=\d+"))
    ready(wide, "overview")
    begin, end = int(setting(wide, "from") or 0), int(setting(wide, "to") or 0)
    assert FIRST_S < begin < end
    assert found
    for name, said in found:
        windowed = ("aggregate", "peak", "correlations", "verdict")
        assert name in windowed, "findings, schema and the like are those of the whole recording"
        assert (float(str(said["from"])), float(str(said["to"]))) == (begin, end)
    # Each request is sent once.
    bodies = [(name, json.dumps({**said, "id": ""}, sort_keys=True)) for name, said in found]
    assert len(bodies) == len(set(bodies))


def what_was_overtaken_is_ended(wide: Page, large: Path) -> None:
    found = questions(wide)
    middle = FIRST_S + 30_000
    for minutes in range(480, 60, -40):
        wide.evaluate(
            "window => { location.hash = window; }",
            f"#/guests?from={middle - minutes * 30}&to={middle + minutes * 30}&user=LNX007",
        )
        wide.wait_for_timeout(10)
    begin, end = middle - 80 * 30, middle + 80 * 30
    set_to(wide, "from", str(begin))
    ready(wide, "guests")
    until(lambda: not running(wide))
    ended = {said["id"] for name, said in found if name == "cancel"}
    requested = [
        said
        for name, said in found
        if name == "aggregate"
        and said["table"] == "guest"
        and "cpu_pct" in said["columns"]
        and "LNX007" in str(said.get("where"))
    ]
    assert len(ended) > 4
    # All requests but the last were canceled or answered before the next.
    last = [said for said in requested if (said["from"], said["to"]) == (begin, end)]
    assert len(last) == 1
    assert last[0]["id"] not in ended
    # The chart shows the last window.
    rows = chart_rows(wide, "guest-cpu")
    expected = query_objects(
        large,
        "SELECT cpu_pct FROM guest WHERE userid = 'LNX007' AND interval_end > "
        f"to_timestamp({begin}) AND interval_end <= to_timestamp({end}) ORDER BY interval_end",
    )
    assert [float(row["CPU"]) for row in rows] == [row["cpu_pct"] for row in expected]
    assert len(rows) == 80
