"""Tests of the peak card on the overview: it shows the causes that the demo data contains."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from chromium import opened, ready

CARD = '[data-testid="happened"]'


def test_peak_card_shows_vary_off_and_logon(page: Page, address: str):
    opened(page, address, "overview", system="ZLDEMO")
    card = page.locator(CARD)
    expect(card).to_contain_text(
        "Worst minute: 09:10:00 to 09:11:00, 99.8% busy, 46.0 points above the usual"
    )
    events = card.locator("section", has_text="Events, 09:00:00 to 09:24:00").locator("li")
    expect(events.filter(has_text="Vary off processor")).to_contain_text("09:07:20")
    expect(events.filter(has_text=re.compile("Logon guest LNXBAT01"))).to_contain_text("09:04:31")
    findings = card.locator("section", has_text="Findings of this time")
    expect(findings).to_contain_text("VARY OFF while busy CPU 3")
    expect(findings).to_contain_text("Logon before a rise guest LNXBAT01")
    guests = card.locator("section", has_text="Guests: largest growth").locator("li")
    expect(guests.first).to_contain_text("LNXBAT01")
    expect(card.locator('[data-testid="moved"]')).to_contain_text("Machine busy")
    # It is the first card, visible without scrolling.
    box = card.bounding_box()
    assert box is not None
    assert box["y"] < 400
    # Inferred events are marked.
    event = page.locator("li", has_text="device 030D: vary on").last
    expect(event).to_contain_text("vary on inferred")


@pytest.mark.long
def test_peak_card_links_to_views(page: Page, address: str):
    opened(page, address, "overview", system="ZLDEMO")
    card = page.locator(CARD)
    card.get_by_role("link", name="09:10:00 to 09:11:00").click()
    ready(page, "processors")
    expect(page.locator('[data-testid="window"]')).to_contain_text(
        "09:10:00 to 2010-03-09 09:11:00 (60\N{NO-BREAK SPACE}s)"
    )
    page.go_back()
    ready(page, "overview")
    card.get_by_role("link", name="CPU 3").first.click()
    ready(page, "processors")
    assert "cpu=3" in page.url
    expect(page.locator('[data-testid="window"]')).to_contain_text("09:05:00 to 2010-03-09 09:19:00")
    page.go_back()
    ready(page, "overview")
    card.get_by_role("link", name="LNXBAT01", exact=True).click()
    ready(page, "guests")
    assert "user=LNXBAT01" in page.url
    page.go_back()
    ready(page, "overview")
    card.get_by_role("link", name="VARY OFF while busy").click()
    ready(page, "findings")
    assert "rule=CPU-014" in page.url
    page.go_back()
    ready(page, "overview")
    card.get_by_role("button", name="Zoom to the peak").click()
    ready(page, "overview")
    expect(page.locator('[data-testid="window"]')).to_contain_text("(14 min) of 60 min")
    expect(card).to_contain_text("Worst minute: 09:10:00 to 09:11:00")
