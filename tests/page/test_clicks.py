"""What is shown leads on: events, legends, lines and titles are clicked, and what has no data is drawn."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import parse_qs

from playwright.sync_api import Page, Route, expect

from asking import asked
from browsing import opened, ready


def settings(page: Page) -> dict[str, str]:
    return {key: values[0] for key, values in parse_qs(page.url.partition("?")[2]).items()}


def test_an_event_opens_its_guest_with_five_minutes_around_it(page: Page, address: str):
    opened(page, address, "overview", system="ZLSIM")
    page.get_by_test_id("events").get_by_role("button", name=re.compile("logon user BATCH1")).click()
    ready(page, "guests")
    now = settings(page)
    assert now["user"] == "BATCH1"
    assert int(now["to"]) - int(now["from"]) == 300


def test_a_click_on_a_legend_hides_a_line(page: Page, address: str):
    opened(page, address, "overview", system="ZLSIM")
    chart = page.get_by_test_id("chart-top-guests")
    entry = chart.get_by_role("button", name=re.compile("^LINUX01"))
    expect(chart.locator(".host")).to_have_attribute("aria-label", re.compile("LINUX01 from"))
    entry.click()
    expect(entry).to_have_attribute("aria-pressed", "false")
    expect(chart.locator(".host")).not_to_have_attribute("aria-label", re.compile("LINUX01 from"))
    entry.click()
    expect(chart.locator(".host")).to_have_attribute("aria-label", re.compile("LINUX01 from"))


def test_a_device_keeps_its_color_in_another_window(page: Page, address: str):
    def colors() -> dict[str, str]:
        entries = page.get_by_test_id("chart-response").locator("li")
        entries.first.wait_for()
        return dict(
            entries.evaluate_all(
                "all => all.map(e => [e.title, e.querySelector('i').style.background])",
            )
        )

    opened(page, address, "io", system="ZLSIM")
    before = colors()
    opened(page, address, "io", **{"system": "ZLSIM", "from": "1715672200", "to": "1715672800"})
    after = colors()
    both = before.keys() & after.keys()
    assert list(before) != list(after)
    assert len(both) > 2
    assert {name: before[name] for name in both} == {name: after[name] for name in both}


def test_a_line_and_a_title_open_what_they_show(page: Page, address: str):
    opened(page, address, "overview", system="ZLSIM")
    over = page.locator('[data-testid="chart-top-guests"] .u-over')
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box
    for y in range(2, int(box["height"]), 3):
        page.mouse.move(box["x"] + box["width"] * 0.45, box["y"] + y)
        if over.evaluate("e => e.style.cursor") == "pointer":
            page.mouse.down()
            page.mouse.up()
            break
    ready(page, "guests")
    assert settings(page)["user"].startswith("LINUX")
    opened(page, address, "overview", system="ZLSIM")
    page.get_by_test_id("chart-machine").get_by_role(
        "button", name="Machine, all processors of a type", exact=True
    ).click()
    ready(page, "machine")


def test_the_map_opens_at_the_worst_interval_and_explains_its_frames(page: Page, address: str, demo: Path):
    opened(page, address, "machine", system="ZLSIM")
    [row] = asked(
        demo / "sim.monwrite",
        "SELECT strftime(interval_end AT TIME ZONE 'UTC' + INTERVAL 2 HOUR, '%H:%M:%S') AS at "
        "FROM cec ORDER BY phys_total_pct DESC LIMIT 1",
    )
    expect(page.get_by_role("group", name="moment")).to_contain_text(str(row["at"]))


def test_an_offline_processor_is_drawn_and_named(page: Page, address: str):
    """Records of one processor are taken away from the middle of the recording."""

    def without(route: Route) -> None:
        answer = route.fetch()
        body = answer.json()
        question = json.loads(route.request.post_data or "{}")
        if question.get("table") == "cpu" and question.get("buckets"):
            at = {name: n for n, name in enumerate(body["columns"])}
            times = sorted({row[at["t"]] for row in body["rows"]})
            gone = set(times[20:40])
            body["rows"] = [row for row in body["rows"] if row[at["cpu_id"]] != 0 or row[at["t"]] not in gone]
        route.fulfill(response=answer, json=body)

    page.route("**/api/v1/aggregate", without)
    opened(page, address, "processors", system="ZLSIM")
    canvas = page.locator('[data-testid="chart-processors"] canvas')
    box = canvas.bounding_box()
    assert box
    page.mouse.move(box["x"] + 160 + (box["width"] - 172) * 0.5, box["y"] + 10)
    expect(page.get_by_test_id("hover")).to_contain_text("offline: no record")
    page.mouse.move(box["x"] + 160 + (box["width"] - 172) * 0.9, box["y"] + 10)
    expect(page.get_by_test_id("hover")).not_to_contain_text("offline")


def test_a_click_on_a_legend_hides_a_state_in_every_bar(page: Page, address: str):
    opened(page, address, "guests", system="ZLSIM")
    bars = page.locator('[data-testid="table-guests"] svg')
    running = bars.locator("rect.running")
    count = running.count()
    assert count > 5
    color = running.first.get_attribute("fill")
    waiting = bars.locator("rect.idle, rect.dormant").first
    before = float(waiting.get_attribute("x") or 0)
    entry = page.get_by_role("list", name="states").get_by_role("button", name="running")
    entry.click()
    expect(running).to_have_count(0)
    assert float(waiting.get_attribute("x") or 0) < before
    entry.click()
    expect(running).to_have_count(count)
    assert running.first.get_attribute("fill") == color


def test_a_click_on_a_legend_hides_a_part_of_bars(page: Page, address: str, tmp_path: Path):
    opened(page, address, "cpumf", system="ZLSIM")
    frame = page.get_by_test_id("chart-sourcing-by-processor")
    entries = frame.locator(".legend button")
    names = entries.all_inner_texts()

    def drawn() -> str:
        frame.locator("summary").click()
        with page.expect_download() as saved:
            frame.get_by_role("button", name="Save as SVG").click()
        saved.value.save_as(tmp_path / "bars.svg")
        return (tmp_path / "bars.svg").read_text(encoding="utf-8")

    whole = drawn()
    entries.first.click()
    expect(entries.first).to_have_attribute("aria-pressed", "false")
    rest = drawn()
    assert f">{names[0]}<" in whole
    assert f">{names[0]}<" not in rest
    assert f">{names[1]}<" in rest
    assert rest.count("<rect") < whole.count("<rect")


def test_a_picture_says_where_it_comes_from(page: Page, address: str, tmp_path: Path):
    opened(page, address, "overview", **{"system": "ZLSIM", "from": "1715672200", "to": "1715672500"})
    frame = page.get_by_test_id("chart-busy")
    frame.locator("summary").click()
    with page.expect_download() as saved:
        frame.get_by_role("button", name="Save as SVG").click()
    saved.value.save_as(tmp_path / "busy.svg")
    text = (tmp_path / "busy.svg").read_text(encoding="utf-8")
    for words in (
        "ZLSIM, 2024-05-14 09:37:00 to 2024-05-14 09:42:00 (UTC+02:00)",
        "sim.monwrite",
        "zvm-monitor",
        "Synthetic data",
    ):
        assert words in text
