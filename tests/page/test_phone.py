"""Tests of the web UI on a phone: no horizontal scrolling, and findings come first."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from chromium import VIEWS, opened, watched
from patience import until

PHONE = {"width": 390, "height": 844}
#: The positions of the parts of the first rows.
_BOXES = """rows => rows.slice(0, 6).map((row) =>
  [...row.children].map((part) => part.getBoundingClientRect().toJSON()))"""


@pytest.fixture
def phone(browser: Browser, address: str) -> Iterator[Page]:
    with watched(browser, address, viewport=PHONE, is_mobile=True, has_touch=True) as page:
        yield page


def fits(page: Page, address: str, view: str, system: str) -> None:
    opened(page, address, view, system=system)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], (view, system)


def test_selected_finding_is_in_sight_on_phone(phone: Page, address: str):
    opened(phone, address, "findings", system="ZLSIM")
    phone.get_by_test_id("finding-SMT-008").click()
    article = phone.locator("article")
    until(lambda: (article.bounding_box() or {"y": 9999})["y"] < PHONE["height"] / 2)


@pytest.mark.long
def test_every_view_fits_phone(phone: Page, address: str):
    for view in VIEWS:
        fits(phone, address, view, "ZLSIM")


def test_view_fits_phone_with_findings_first(phone: Page, address: str):
    for view, system in (
        ("overview", "ZLZ1"),
        ("workloads", "ZLZ1"),
        ("reports", "ZLZ1"),
        ("reports", "ZLSIM"),
        ("guests", "ZLSIM"),
        ("overview", "ZLSIM"),
    ):
        fits(phone, address, view, system)
    header = phone.locator("header").first.bounding_box()
    assert header is not None
    assert header["height"] < 48
    findings = phone.get_by_label("Findings", exact=True).bounding_box()
    tile = phone.get_by_test_id("chart-busy").bounding_box()
    assert findings is not None
    assert tile is not None
    assert findings["y"] < tile["y"]
    menu = phone.get_by_label("View", exact=True)
    width = menu.bounding_box()
    assert width is not None
    assert width["width"] > 110, "the name of a view is cut off"
    menu.select_option("guests")
    phone.wait_for_selector('[data-testid="view-guests"][data-ready="true"]')


def test_results_of_search_and_fleet_fit_phone(phone: Page, address: str):
    """A name and its text, or a finding and its value, do not overlap."""
    opened(phone, address, "fleet", system="ZLSIM")
    phone.locator('[aria-label="Findings of all systems"] li button').first.wait_for()
    boxes = phone.locator('[aria-label="Findings of all systems"] li button').evaluate_all(_BOXES)
    opened(phone, address, "overview", system="ZLSIM")
    phone.get_by_role("button", name="Search").click()
    phone.get_by_role("combobox", name="search").fill("busy")
    phone.locator("#found li").first.wait_for()
    boxes += phone.locator("#found li").evaluate_all(_BOXES)
    for row in boxes:
        for at, one in enumerate(row):
            assert one["right"] <= PHONE["width"], row
            for other in row[at + 1 :]:
                first, last = sorted((one, other), key=lambda box: float(box["top"]))
                beside = one["right"] <= other["left"] or other["right"] <= one["left"]
                assert beside or first["bottom"] <= last["top"] + 1, (one, other)
        # Text has room for words.
        assert all(part["width"] > 120 for part in row if part["height"] > 60), row


def test_numbers_are_targets_of_24_pixels(page: Page, address: str):
    opened(page, address, "machine", system="ZLSIM")
    number = page.locator("main button.bare").first
    number.evaluate("one => one.scrollIntoView({ block: 'center' })")
    box = number.bounding_box()
    assert box is not None
    assert box["height"] < 24
    for dy in (-11, 11):
        point = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2 + dy]
        assert number.evaluate("(one, [x, y]) => document.elementFromPoint(x, y) === one", point), dy
