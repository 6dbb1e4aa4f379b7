"""Tests that open, zoom, brush, link and export every view, with z/VM and z/OS demo files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from chromium import VIEWS, Views, opened, ready
from iterations import iterations, quick_subset


def test_overview_explains_saves_and_zooms(page: Page, address: str, tmp_path: Path):
    opened(page, address, "overview", system="ZLSIM")
    the_menu_has_every_view(page)
    a_number_explains_itself(page)
    a_chart_is_saved_as_a_picture(page, tmp_path)
    zooming_a_chart_zooms_all(page)
    keys_lead_through_the_page(page)


def the_menu_has_every_view(page: Page) -> None:
    links = page.locator('nav[aria-label="Views"] a')
    found = [re.sub(r"^.*#/([a-z]+).*$", r"\1", link.get_attribute("href") or "") for link in links.all()]
    assert found == list(VIEWS)


def test_findings_are_requested_before_schema(page: Page, address: str):
    held: list[Route] = []
    page.route("**/api/v1/schema*", lambda route: held.append(route))
    with page.expect_request("**/api/v1/findings/stream*"):
        page.goto(address)
    held[0].continue_()
    ready(page, "overview")
    expect(page.locator("section[aria-label=Findings] li").first).to_be_visible()
    expect(page.locator("section[aria-label=Findings] h2")).to_contain_text(
        re.compile(r"\d+ of \d+ checked rules hold$")
    )


def test_findings_request_has_system_of_address(page: Page, address: str):
    with page.expect_request("**/api/v1/findings/stream*") as request:
        page.goto(f"{address}#/overview?system=ZLSIM")
    assert "?system=ZLSIM&" in request.value.url
    # Fetched again, because the web UI may have consumed its own response body; a browser repeats the request
    # if the server has just closed an idle connection.
    lines = page.evaluate("url => fetch(url).then((answer) => answer.text())", request.value.url).splitlines()
    assert {row["system"] for line in lines for row in json.loads(line)["rows"]} == {"ZLSIM"}
    # For an unknown system, the web UI shows the first one, with its findings.
    page.goto("about:blank")
    page.goto(f"{address}#/overview?system=NOBODY")
    ready(page, "overview")
    expect(page.locator("section[aria-label=Findings] li").first).to_be_visible()


# The first has little data for most views; the baselines show the last.
@pytest.mark.parametrize("system", quick_subset(1, ["ZLZ1", "ZLDEMO", "ZLSIM"]))
def test_views_open(page: Page, address: str, system: str):
    """Every view opens and finishes loading without errors, also for systems with little data for it."""
    opened(page, address, "overview", system=system)
    for view in VIEWS:
        if iterations(True, False):
            page.goto("about:blank")
        if system == "ZLZ1" and view == "guests":
            # z/OS has service classes and jobs instead of guests.
            view = "workloads"
        if system == "ZLDEMO" and view == "cpumf":
            # A machine of 2005 has no counters: there is no such view, and a link to it opens the overview.
            opened(page, address, view, "overview", system=system)
            expect(page.locator('nav a[href*="/cpumf"]')).to_have_count(0)
            continue
        opened(page, address, view, system=system)
        assert page.locator('[role="alert"]').count() == 0, view
        assert page.locator("main").inner_text().strip(), view


@pytest.fixture(scope="module")
def offline(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(offline=True)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("view", quick_subset(2, VIEWS), indirect=True)
def test_exported_view_is_self_contained(views: Views, offline: Page, view: str, tmp_path: Path):
    page = views.at(view)
    expect(page.locator('[role="alert"]')).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Export", exact=True).click()
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    text = path.read_text(encoding="utf-8")
    assert "written by zlens" in text.lower()
    assert "<script" not in text
    urls: list[str] = []
    offline.on("request", lambda request: urls.append(request.url))
    offline.goto(path.as_uri())
    shown = offline.locator(f'[data-testid="view-{view}"]').inner_text()
    assert [url for url in urls if not url.startswith(("file:", "data:"))] == []
    title = page.locator('nav a[aria-current="page"]').inner_text()
    assert title in text
    assert len(shown) > 20


#: Views whose links are also opened in a second page.
LINKED = iterations(VIEWS, ("overview", "guests"))


@pytest.mark.parametrize("view", quick_subset(2, VIEWS), indirect=True)
def test_brush_zooms_view_and_link_restores_it(views: Views, view: str):
    page = views.at(view, leaves=True)
    strip = page.locator('[data-testid="strip"] canvas')
    box = strip.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 40, steps=4)
    page.mouse.up()
    page.wait_for_url(re.compile(r"from=\d+.*to=\d+"))
    ready(page, view)
    window = page.locator('[data-testid="window"]').inner_text()
    assert "(15\N{NO-BREAK SPACE}min)" in window
    expect(page.locator('[role="alert"]')).to_have_count(0)
    if view in LINKED:
        # A user who opens the link sees the same window.
        other = page.context.new_page()
        other.goto(page.url)
        ready(other, view)
        assert other.locator('[data-testid="window"]').inner_text() == window
        other.close()
    # The browser's Back button leads to the complete recording.
    page.go_back()
    ready(page, view)
    assert "(60\N{NO-BREAK SPACE}min)" in page.locator('[data-testid="window"]').inner_text()


def keys_lead_through_the_page(page: Page) -> None:
    page.keyboard.press("g")
    page.keyboard.press("f")
    ready(page, "findings")
    page.keyboard.press("+")
    page.wait_for_url(re.compile("from="))
    page.keyboard.press("0")
    expect(page).not_to_have_url(re.compile("from="))
    dark = page.evaluate("document.documentElement.dataset.theme")
    page.keyboard.press("d")
    assert page.evaluate("document.documentElement.dataset.theme") != dark
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("l")
    expect(page.get_by_role("status").filter(has_text="link copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == page.url


def zooming_a_chart_zooms_all(page: Page) -> None:
    over = page.locator('[data-testid="chart-busy"] .u-over')
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + 30, steps=4)
    page.mouse.up()
    page.wait_for_url(re.compile(r"from=\d+.*to=\d+"))
    ready(page, "overview")
    times = page.evaluate("[...document.querySelectorAll('[data-testid^=chart] .u-over')].length")
    assert times > 3
    assert "(15\N{NO-BREAK SPACE}min)" in page.locator('[data-testid="window"]').inner_text()
    over.dblclick()
    expect(page).not_to_have_url(re.compile("from="))


def a_number_explains_itself(page: Page) -> None:
    page.locator('[data-testid="figures-tv"]').click()
    panel = page.locator('[data-testid="explain"]')
    # The clicked values come first; names in it are links; it closes with the view.
    expect(panel.get_by_test_id("clicked")).to_contain_text(re.compile(r"Median\s*1\.0.*p95.*Max", re.DOTALL))
    expect(panel.get_by_role("heading", level=3)).to_have_text(re.compile("^T/V ratio: "))
    panel.get_by_role("button", name="processor.user_time").first.click()
    expect(panel.get_by_role("heading", level=2)).to_have_text("processor.user_time")
    expect(panel.get_by_test_id("clicked")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    page.locator('[data-testid="figures-tv"]').click()
    expect(panel).to_have_count(1)
    page.get_by_role("navigation").get_by_role("link", name="Findings").press("Enter")
    expect(panel).to_have_count(0)
    page.go_back()
    ready(page, "overview")


def a_chart_is_saved_as_a_picture(page: Page, folder: Path) -> None:
    frame = page.locator('[data-testid="chart-busy"]')
    for form in ("PNG", "SVG"):
        frame.locator("summary").click()
        with page.expect_download() as waiting:
            frame.get_by_role("button", name=f"Save as {form}").click()
        path = folder / waiting.value.suggested_filename
        waiting.value.save_as(path)
        data = path.read_bytes()
        if form == "PNG":
            assert data.startswith(b"\x89PNG")
            assert len(data) > 5_000
        else:
            assert b"<polyline" in data
            assert b"Busy (%)" in data


def test_finding_shows_evidence_and_links_to_view(page: Page, address: str):
    opened(page, address, "findings", system="ZLSIM")
    page.locator('[data-testid="finding-PAG-003"]').click()
    ready(page, "findings")
    article = page.get_by_role("article", name="Paging volume busy")
    expect(article).to_contain_text("Spread the load over more volumes.")
    expect(article).to_contain_text("Published by another vendor")
    expect(article.locator('[data-testid="chart-evidence"] .u-over')).to_be_visible()
    article.get_by_role("button", name="Show in I/O and paging").click()
    ready(page, "io")
    assert "device=D010" in page.url
