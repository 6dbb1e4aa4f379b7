"""Tests of Ctrl-K, the skip link and the explanations of terms."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from chromium import opened, ready

FOUND = (
    ("linux03", "guest", "guests", "user=LINUX03"),
    ("page08", "device", "io", "device=D017"),
    ("zlsim2", "partition", "machine", "in=IFL%2FZLSIM2"),
    ("prclog", "report", "reports", "name=prclog"),
    ("processors", "view", "processors", "#/processors"),
)


def test_search_opens_views_and_explains_terms(page: Page, address: str) -> None:
    opened(page, address, "overview", system="ZLSIM")
    the_first_tab_leads_to_the_view(page)
    # A term has its explanation as a title.
    term = page.get_by_test_id("chart-tv").locator("h2 dfn")
    expect(term).to_have_attribute("title", re.compile("^T/V: T/V ratio"))
    keys_go_to_the_search_field(page)
    for words, kind, view, address_has in FOUND:
        ctrl_k_finds_and_opens(page, words, kind, view, address_has)
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="search").fill("load.busy_pct")
    page.get_by_test_id("search").get_by_role("option").first.click()
    expect(page.get_by_test_id("explain")).to_contain_text("load.busy_pct")
    opened(page, address, "machine", system="ZLSIM")
    legend = page.get_by_test_id("chart-management").locator(".legend dfn").first
    expect(legend).to_have_attribute("title", re.compile("^LPMGT: PR/SM time"))
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="keys")).to_contain_text("vertical high")


def keys_go_to_the_search_field(page: Page) -> None:
    """Letters that are keys of the web UI (d: dark, g p: processors) are text in a dialog."""
    theme = page.locator("html").get_attribute("data-theme")
    page.keyboard.press("Control+k")
    page.keyboard.type("dgp")
    expect(page.get_by_role("combobox", name="search")).to_have_value("dgp")
    # Once, although the field has text.
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("search")).to_be_hidden()
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="keys")
    page.keyboard.type("dgp")
    expect(keys).to_be_visible()
    page.keyboard.press("Escape")
    assert page.locator("html").get_attribute("data-theme") == theme
    assert "#/overview" in page.url


def ctrl_k_finds_and_opens(page: Page, words: str, kind: str, view: str, address_has: str) -> None:
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="search").fill(words)
    first = page.get_by_test_id("search").get_by_role("option").first
    expect(first).to_contain_text(re.compile(f"^{kind} {words}|^{kind}", re.IGNORECASE))
    expect(first).to_contain_text(re.compile(words, re.IGNORECASE))
    page.keyboard.press("Enter")
    ready(page, view)
    assert address_has in page.url
    expect(page.get_by_test_id("search")).to_be_hidden()


def the_first_tab_leads_to_the_view(page: Page) -> None:
    page.keyboard.press("Tab")
    link = page.get_by_role("link", name="Skip to content")
    expect(link).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    assert "#/overview" in page.url
