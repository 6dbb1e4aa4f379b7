"""Test of the panel with the explanation of a number."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from chromium import opened


def test_explanation_has_sections_of_one_title(page: Page, address: str):
    """`cpu.busy_pct` is a column of a measure and of several reports, described alike."""
    opened(page, address, "processors", system="ZLDEMO")
    page.get_by_test_id("table-processors").get_by_role("button", name="Explain Busy").first.click()
    panel = page.get_by_test_id("explain")
    titles = panel.get_by_role("heading", level=3)
    expect(titles.nth(1)).to_be_visible()
    assert len(titles.all_inner_texts()) > len(set(titles.all_inner_texts()))
