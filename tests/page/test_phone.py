"""The page on a phone: nothing scrolls sideways, and what matters most comes first."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from browsing import VIEWS, opened, watched

PHONE = {"width": 390, "height": 844}


@pytest.mark.parametrize("system", ["ZLSIM", "ZLZ1"])
@pytest.mark.parametrize("view", ["overview", "guests", "reports"])
def test_a_view_fits_a_phone(browser: Browser, address: str, view: str, system: str):
    fits(browser, address, "workloads" if (view, system) == ("guests", "ZLZ1") else view, system)


@pytest.mark.long
@pytest.mark.parametrize("view", VIEWS)
def test_every_view_fits_a_phone(browser: Browser, address: str, view: str):
    fits(browser, address, view, "ZLSIM")


def fits(browser: Browser, address: str, view: str, system: str) -> None:
    with watched(browser, address, viewport=PHONE, is_mobile=True, has_touch=True) as page:
        opened(page, address, view, system=system)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_the_header_is_one_line_and_findings_come_first(browser: Browser, address: str):
    with watched(browser, address, viewport=PHONE, is_mobile=True, has_touch=True) as page:
        opened(page, address, "overview", system="ZLSIM")
        header = page.locator("header").first.bounding_box()
        assert header is not None
        assert header["height"] < 48
        findings = page.get_by_label("findings", exact=True).bounding_box()
        tile = page.get_by_test_id("chart-busy").bounding_box()
        assert findings is not None
        assert tile is not None
        assert findings["y"] < tile["y"]
        menu = page.get_by_label("view", exact=True)
        width = menu.bounding_box()
        assert width is not None
        assert width["width"] > 110, "the name of a view is cut off"
        menu.select_option("guests")
        page.wait_for_selector('[data-testid="view-guests"][data-ready="true"]')
