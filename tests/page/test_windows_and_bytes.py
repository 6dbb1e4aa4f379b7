"""Tests of windows as text, other days, the bytes of a value, and busy with a varied-off processor online."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import lake_builder
from chromium import opened, ready, served, watched
from zlens import demo


@pytest.fixture(scope="module")
def recordings(demo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a server over the demo and twenty minutes of each of three days."""
    path = tmp_path_factory.mktemp("days") / "days.monwrite"
    numbers = [day * 1440 + minute for day in range(3) for minute in range(20)]
    lake_builder.write(path, lake_builder.recording(numbers))
    with served(str(path), str(demo_folder / demo.MONWRITE_NAME)) as found:
        yield found


@pytest.fixture
def shown(browser: Browser, recordings: str) -> Iterator[Page]:
    with watched(browser, recordings) as page:
        yield page


def test_window_field_shows_other_days(shown: Page, recordings: str) -> None:
    opened(shown, recordings, "processors", system="LAKETEST")
    field = shown.get_by_role("textbox", name="Window")
    field.fill("yesterday 11:02-11:06")
    field.press("Enter")
    expect(shown.get_by_test_id("window")).to_contain_text("2026-03-03 11:02:00 to 2026-03-03 11:06:00")
    days = shown.get_by_test_id("days").get_by_role("button")
    expect(days).to_have_count(3)
    expect(days.nth(1)).to_have_attribute("aria-current", "true")
    expect(days.nth(0)).to_contain_text("Mon 2026-03-02")
    days.nth(2).click()
    expect(shown.get_by_test_id("window")).to_contain_text("2026-03-04 11:02:00 to 2026-03-04 11:06:00")
    # A window without data says what there is.
    field.fill("2026-02-01 9-10")
    field.press("Enter")
    expect(shown.get_by_test_id("wrong-window")).to_contain_text(
        "LAKETEST has no interval in 2026-02-01 09:00:00 to 10:00:00"
    )
    for words, kind, address_has in (
        ("11:03 to 11:05", "time", "from=1772618580&system=LAKETEST&to=1772618700"),
        ("CPU 2", "processor", "cpu=2"),
        ("vary on", "event", "from="),
        ("zldemo", "system", "system=ZLDEMO"),
    ):
        shown.keyboard.press("Control+k")
        shown.get_by_role("combobox", name="search").fill(words)
        option = (
            shown.get_by_test_id("search").get_by_role("option").filter(has_text=re.compile(f"^\\s*{kind}"))
        )
        option.first.click()
        expect(shown).to_have_url(re.compile(re.escape(address_has)))


def test_peak_shows_its_bytes_and_assumed_line(shown: Page, recordings: str) -> None:
    opened(shown, recordings, "overview", system="ZLDEMO")
    ready(shown, "overview")
    busy = shown.get_by_test_id("chart-busy")
    expect(busy).to_contain_text("with CPU 3 online (assumed)")
    expect(busy).to_contain_text("Dotted: assumed. The demand of each partition is what it used")
    expect(shown.get_by_test_id("chart-tv")).not_to_contain_text("assumed")
    shown.get_by_test_id("happened").get_by_role("button", name=re.compile("busy$")).click()
    origin = shown.get_by_test_id("origin")
    expect(origin).to_contain_text("99.7751%, interval that ended 2010-03-09 09:11:00")
    # The bytes of the first processor's field are those that are marked.
    field = origin.locator("tbody tr").first.locator("td").last.inner_text()
    marked = origin.get_by_role("region", name="Bytes of the record").first.locator("mark").first.inner_text()
    assert re.fullmatch("[0-9a-f]{16}", field)
    assert field in marked.replace(" ", "")
