"""Tests of the overview's links: events, legends, lines and titles are clickable."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qs

from playwright.sync_api import Page, expect

from chromium import opened, ready


def settings(page: Page) -> dict[str, str]:
    return {key: values[0] for key, values in parse_qs(page.url.partition("?")[2]).items()}


def test_overview_elements_link_to_views(page: Page, address: str, tmp_path: Path):
    opened(page, address, "overview", system="ZLSIM")
    a_click_on_a_legend_hides_a_line(page)
    an_event_opens_its_guest_with_five_minutes_around_it(page)
    opened(page, address, "overview", system="ZLSIM")
    a_line_opens_its_guest(page)
    opened(page, address, "overview", system="ZLSIM")
    page.get_by_test_id("chart-machine").get_by_role(
        "button", name="Machine, all processors of a type", exact=True
    ).click()
    ready(page, "machine")
    opened(page, address, "overview", **{"system": "ZLSIM", "from": "1715672200", "to": "1715672500"})
    a_picture_says_where_it_comes_from(page, tmp_path)


def an_event_opens_its_guest_with_five_minutes_around_it(page: Page) -> None:
    page.get_by_test_id("events").get_by_role("button", name=re.compile("Logon guest BATCH1")).click()
    ready(page, "guests")
    now = settings(page)
    assert now["user"] == "BATCH1"
    assert int(now["to"]) - int(now["from"]) == 300


def a_click_on_a_legend_hides_a_line(page: Page) -> None:
    chart = page.get_by_test_id("chart-top-guests")
    entry = chart.get_by_role("button", name=re.compile("^LINUX01"))
    expect(chart.locator(".host")).to_have_attribute("aria-label", re.compile("LINUX01 from"))
    entry.click()
    expect(entry).to_have_attribute("aria-pressed", "false")
    expect(chart.locator(".host")).not_to_have_attribute("aria-label", re.compile("LINUX01 from"))
    entry.click()
    expect(chart.locator(".host")).to_have_attribute("aria-label", re.compile("LINUX01 from"))


def a_line_opens_its_guest(page: Page) -> None:
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


def a_picture_says_where_it_comes_from(page: Page, tmp_path: Path) -> None:
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
