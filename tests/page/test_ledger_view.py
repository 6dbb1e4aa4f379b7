"""Tests of the view of ledgers: each is selected by name, and one without data says what it needs."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from chromium import opened, ready


def test_ledgers_are_selected_and_say_what_they_need(page: Page, address: str):
    opened(page, address, "ledger", system="ZLDEMO")
    view = page.locator('[data-testid="view-ledger"]')
    expect(view).to_contain_text("CPU time, 2097-D3E01 CP")
    select = page.locator('[data-testid="ledger-name"]')
    select.select_option("msu")
    ready(page, "ledger")
    assert "ledger=msu" in page.url
    expect(view).to_contain_text("MSU, 2097-D3E01 CP")
    expect(view.locator("tr", has_text="CICSAOR1").first).to_contain_text("33.57")
    expect(view).to_contain_text("Highest hour of the four-hour average, in MSU")
    expect(view.locator("table", has_text="4h Avg").locator("tr", has_text="ZLZOS")).to_contain_text("153.0")
    select.select_option("energy")
    expect(view).to_contain_text("It needs a power meter")
    expect(view.locator("table")).to_have_count(0)
    page.go_back()
    expect(view).to_contain_text("MSU, 2097-D3E01 CP")
