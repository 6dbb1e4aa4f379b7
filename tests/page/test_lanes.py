"""Tests of the capacity chart and the lanes: both show the demo's processor that is varied off."""

from __future__ import annotations

import csv
import io

from playwright.sync_api import Page, expect

from chromium import opened, ready


def test_capacity_chart_steps_at_vary_off(page: Page, address: str):
    """The demo varies CPU 3 off at 09:07:20 and on at 09:13:40."""
    opened(page, address, "overview", system="ZLDEMO")
    chart = page.locator('[data-testid="chart-capacity"]')
    expect(chart.locator(".legend")).to_contain_text("Not attributed")
    chart.locator("summary").click()
    chart.get_by_role("button", name="Copy data as CSV").click()
    rows = list(csv.DictReader(io.StringIO(page.evaluate("navigator.clipboard.readText()"))))
    online = {row["time"][11:16]: float(row["Capacity"]) for row in rows}
    assert len(online) == 60
    assert {minute for minute, count in online.items() if count < 3.5} == {
        f"09:{minute:02d}" for minute in range(8, 15)
    }
    # Below the line, nothing is left out: guests, CP, what is not attributed, and idle.
    for row in rows:
        parts = [float(row[name] or 0) for name in row if name not in ("time", "time_utc_s", "Capacity")]
        assert abs(sum(parts) - float(row["Capacity"])) < 1e-3
    chart.get_by_label("Stacked subjects").select_option("partitions-IFL")
    ready(page, "overview")
    expect(chart.locator(".legend")).to_contain_text("ZLTEST")


def test_lanes_zoom_and_select_by_keyboard(page: Page, address: str):
    opened(page, address, "lanes", system="ZLDEMO")
    lanes = page.locator('[data-testid="lane-rows"]')
    visible = page.locator('[data-testid="visible"]')
    expect(visible).to_have_text("2010-03-09 08:30:00 to 09:30:00")
    lanes.get_by_role("group").focus()
    page.keyboard.press("w")
    expect(visible).to_have_text("2010-03-09 08:45:00 to 09:15:00")
    page.keyboard.press("d")
    expect(visible).to_have_text("2010-03-09 08:52:30 to 09:22:30")
    page.keyboard.press("a")
    page.keyboard.press("s")
    expect(visible).to_have_text("2010-03-09 08:30:00 to 09:30:00")
    # What is read aloud names the row and its value.
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(lanes.locator('[aria-live="polite"]').last).to_contain_text("Counters were reset")
    # Two presses of the space bar select what is between them.
    page.keyboard.press(" ")
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    page.keyboard.press(" ")
    ready(page, "lanes")
    expect(page.locator('[data-testid="window-changes"]')).to_contain_text("Totals")


def test_selected_lanes_print_totals_and_changes(page: Page, address: str):
    start = 1268121900  # 2010-03-09 09:05:00, local time
    opened(page, address, "lanes", system="ZLDEMO", **{"from": start, "to": start + 600})
    changes = page.locator('[data-testid="window-changes"]')
    expect(changes).to_contain_text("09:05:00 to 09:15:00")
    expect(changes).to_contain_text("10 intervals")
    expect(
        changes.locator("section", has=page.get_by_role("heading", name="Guests")).locator("dt").first
    ).to_contain_text("LNXBAT01")
    expect(changes.locator("section", has_text="Largest changes")).to_contain_text("Paging")
    # A drag selects another window.
    box = page.locator('[data-testid="lane-rows"] canvas').bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 60)
    page.mouse.up()
    ready(page, "lanes")
    expect(changes).not_to_contain_text("09:05:00 to 09:15:00")
