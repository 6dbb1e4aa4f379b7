"""Ctrl-K, the link to the view, and terms that explain themselves."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from browsing import opened, ready


@pytest.mark.parametrize(
    ("words", "kind", "view", "address_has"),
    [
        ("linux03", "guest", "guests", "user=LINUX03"),
        ("page08", "device", "io", "device=D017"),
        ("zlsim2", "partition", "machine", "in=IFL%2FZLSIM2"),
        ("prclog", "report", "reports", "name=prclog"),
        ("processors", "view", "processors", "#/processors"),
    ],
)
def test_ctrl_k_finds_and_opens(
    page: Page, address: str, words: str, kind: str, view: str, address_has: str
) -> None:
    opened(page, address, "overview", system="ZLSIM")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="search").fill(words)
    first = page.get_by_test_id("search").get_by_role("option").first
    expect(first).to_contain_text(re.compile(f"^{kind} {words}|^{kind}", re.IGNORECASE))
    expect(first).to_contain_text(re.compile(words, re.IGNORECASE))
    page.keyboard.press("Enter")
    ready(page, view)
    assert address_has in page.url
    expect(page.get_by_test_id("search")).to_be_hidden()


def test_ctrl_k_explains_a_measure(page: Page, address: str) -> None:
    opened(page, address, "overview", system="ZLSIM")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="search").fill("load.busy_pct")
    page.get_by_test_id("search").get_by_role("option").first.click()
    expect(page.get_by_test_id("explain")).to_contain_text("load.busy_pct")


def test_the_first_tab_leads_to_the_view(page: Page, address: str) -> None:
    opened(page, address, "overview", system="ZLSIM")
    page.keyboard.press("Tab")
    link = page.get_by_role("link", name="Skip to the view")
    expect(link).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    assert "#/overview" in page.url


def test_a_term_explains_itself_where_it_stands(page: Page, address: str) -> None:
    opened(page, address, "overview", system="ZLSIM")
    term = page.get_by_test_id("chart-tv").locator("h2 dfn")
    expect(term).to_have_attribute("title", re.compile("^T/V: T/V ratio"))
    opened(page, address, "machine", system="ZLSIM")
    legend = page.get_by_test_id("chart-management").locator(".legend dfn").first
    expect(legend).to_have_attribute("title", re.compile("^LPMGT: PR/SM time"))
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("vertical high")
