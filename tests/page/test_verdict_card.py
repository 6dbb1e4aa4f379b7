"""Tests of the verdict on the overview: its text, its links, and that nothing below it moves."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route, expect

from chromium import opened, ready

CARD = '[data-testid="verdict"]'


def test_verdict_is_first_card_and_links_to_proof(page: Page, address: str):
    opened(page, address, "overview", system="ZLDEMO")
    card = page.locator(CARD)
    expect(card).to_contain_text("CPU 3 was offline from 09:07:20 to 09:13:40: the processors (3 online)")
    expect(card).to_contain_text("LNXBAT01 logged on at 09:04:31")
    verdict, peak = card.bounding_box(), page.locator('[data-testid="happened"]').bounding_box()
    assert verdict
    assert peak
    assert verdict["y"] < peak["y"]
    card.get_by_role("link", name="CPU 3 was offline").click()
    ready(page, "processors")
    assert "cpu=3" in page.url
    expect(page.locator('[data-testid="window"]')).to_contain_text("09:02:00 to 2010-03-09 09:19:00")
    page.go_back()
    ready(page, "overview")
    card.get_by_role("link", name="the processors (3 online)").click()
    ready(page, "findings")
    assert "rule=CPU-002" in page.url


def test_verdict_of_window_is_requested_after_charts(page: Page, address: str):
    """It needs as much time of the server as all charts."""
    opened(page, address, "overview", system="ZLDEMO")
    expect(page.locator(CARD)).to_contain_text("CPU 3 was offline")
    held: list[Route] = []
    page.route("**/api/v1/aggregate", lambda route: held.append(route))
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url) if "/verdict" in request.url else None)
    page.evaluate("location.hash += '&from=1268119800&to=1268121600'")
    page.wait_for_timeout(1500)
    assert held
    assert requested == []
    with page.expect_request("**/api/v1/verdict*"):
        page.unroute("**/api/v1/aggregate")


@pytest.mark.long
@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_verdict_arrives_without_layout_shift(page: Page, address: str, width: int):
    page.set_viewport_size({"width": width, "height": 900})
    answers = []
    page.route("**/api/v1/verdict*", lambda route: answers.append(route))
    page.goto(f"{address}/#/overview?system=ZLSIM")
    page.wait_for_selector('[data-testid="view-overview"][data-ready="true"]')
    # Everything else has arrived when nothing moves for a while.
    expect(page.locator('[data-testid="chart-busy"] canvas').first).to_be_visible()
    page.wait_for_timeout(2000)
    assert answers
    below = page.locator('[data-testid="happened"]')
    before = below.bounding_box()
    for answer in answers:
        answer.continue_()
    expect(page.locator(CARD)).to_contain_text("BATCH1 logged on at 09:49:20")
    # Heights of text lines are rounded to fractions of a pixel.
    after = below.bounding_box()
    assert before
    assert after
    assert after["y"] == pytest.approx(before["y"], abs=0.5)
    page.locator(CARD).get_by_role("button", name="Show all").click()
    expect(page.locator(CARD)).to_contain_text("Checked as causes")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
