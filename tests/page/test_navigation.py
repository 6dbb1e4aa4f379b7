"""Tests of titles, focus, scroll positions, the size of targets, and the header."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from chromium import VIEWS, Views, opened, ready
from patience import until

#: Controls smaller than 24 pixels that are not within a sentence or a number.
SMALL = """() => [...document.querySelectorAll("button:not(.bare), select, summary, input, li > a, nav a")]
  .map((each) => [each, each.getBoundingClientRect()])
  .filter(([, box]) => box.width > 1 && box.height > 1 && (box.width < 23.9 || box.height < 23.9))
  .map(([each, box]) => `${each.outerHTML.slice(0, 120)} ${box.width}x${box.height}`)"""


def test_change_of_view_sets_title_focus_and_scroll(page: Page, address: str):
    opened(page, address, "overview", system="ZLSIM")
    assert page.title() == "Overview \N{MIDDLE DOT} ZLSIM \N{MIDDLE DOT} zlens"
    page.evaluate("scrollTo(0, 500)")
    until(lambda: page.evaluate("history.state?.scroll") == 500)
    page.keyboard.press("g")
    page.keyboard.press("p")
    ready(page, "processors")
    assert page.title() == "Processors \N{MIDDLE DOT} ZLSIM \N{MIDDLE DOT} zlens"
    assert page.evaluate("document.activeElement.id") == "main"
    assert page.evaluate("scrollY") == 0
    page.go_back()
    ready(page, "overview")
    # What loads above moves the content, and the browser moves the position with it.
    until(lambda: page.evaluate("scrollY") >= 500)


@pytest.mark.parametrize("width", [1024, 1280, 2560])
def test_header_has_one_row_with_every_view(page: Page, address: str, width: int):
    page.set_viewport_size({"width": width, "height": 768})
    opened(page, address, "sql", system="ZLSIM")
    assert page.evaluate("document.querySelector('header').getBoundingClientRect().height") < 40
    assert page.evaluate("(nav => nav.scrollWidth <= nav.clientWidth)(document.querySelector('nav'))")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_targets_have_24_pixels(page: Page, address: str):
    small = {}
    for view in ("overview", "findings", "processors", "machine", "guests", "sql"):
        opened(page, address, view, system="ZLSIM")
        small[view] = page.evaluate(SMALL)
    assert not any(small.values()), small


#: Tall drawings that are not in the frame of a chart, which has the menu.
UNFRAMED = """() => [...document.querySelectorAll("main :is(canvas, svg)")]
  .filter((each) => each.getBoundingClientRect().height > 100 && !each.closest("[data-testid^=chart-]"))
  .map((each) => each.closest("[data-testid]").dataset.testid)"""
#: Charts with a drawing or a menu, and tables.
EXPORTS = """() => [
  ...[...document.querySelectorAll("main [data-testid^=chart-]")]
    .filter((each) => each.querySelector("canvas, svg, .menu")),
  ...document.querySelectorAll("main [data-testid^=table-]")].map((each) => each.dataset.testid)"""
#: The chart or table whose export has the focus; null outside of the view.
FOCUSED = """() => {
  const each = document.activeElement;
  if (!each.closest("main")) return null;
  return each.matches("summary[aria-label^=Export], button") && /⋮|Copy CSV/.test(each.textContent)
    ? each.closest("[data-testid^=chart-], [data-testid^=table-]").dataset.testid : "";
}"""


@pytest.mark.long
@pytest.mark.parametrize(
    "view", [view for view in VIEWS if view not in ("compare", "reports")], indirect=True
)
def test_keyboard_exports_csv_of_charts_and_tables(views: Views, view: str):
    page = views.at(view, leaves=True)
    assert page.evaluate(UNFRAMED) == []
    everything = page.evaluate(EXPORTS)
    page.evaluate("document.getElementById('main').focus()")
    reached = []
    for _ in range(1500):
        page.keyboard.press("Tab")
        name = page.evaluate(FOCUSED)
        if name is None:
            break
        if not name or name in reached:
            continue
        reached.append(name)
        page.evaluate("navigator.clipboard.writeText('')")
        page.keyboard.press("Enter")
        if name.startswith("chart-"):
            until(
                lambda: (page.keyboard.press("Tab"), page.evaluate("document.activeElement.textContent"))[
                    1
                ].endswith("as CSV")
            )
            page.keyboard.press("Enter")
            # The focus is where it was before.
            assert page.evaluate(FOCUSED) == name
        until(lambda: "," in page.evaluate("navigator.clipboard.readText()"))
    assert sorted(reached) == sorted(everything)


def test_result_is_shown_with_its_own_query(page: Page, address: str):
    query = "SELECT userid FROM guest LIMIT 3"
    opened(page, address, "sql", system="ZLSIM", q=query)
    expect(page.get_by_test_id("sql-status")).to_contain_text("3 rows in")
    expect(page.get_by_test_id("sql-earlier")).to_have_count(0)
    page.locator("#query").fill("SELECT 1")
    expect(page.get_by_test_id("sql-status")).to_have_text("")
    expect(page.get_by_test_id("sql-earlier").locator("pre")).to_have_text(query)
    page.get_by_role("button", name="Edit this query").click()
    expect(page.locator("#query")).to_have_text(query)
    expect(page.get_by_test_id("sql-status")).to_contain_text("3 rows in")


def test_all_rows_of_a_query_are_exported(page: Page, address: str):
    opened(page, address, "sql", system="ZLSIM", q="SELECT userid FROM guest", rows="1000")
    # The page shows a part of the rows.
    expect(page.get_by_test_id("sql-status")).to_contain_text("First 1,000 rows")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Export CSV").click()
    lines = saved.value.path().read_text().splitlines()
    assert lines[0] == "userid"
    assert len(lines) > 1001
    with page.expect_download() as saved:
        page.get_by_role("button", name="Export Parquet").click()
    assert saved.value.suggested_filename == "zlens-sql.parquet"
    assert saved.value.path().read_bytes()[:4] == b"PAR1"


def test_times_are_in_the_zone_of_the_named_system(page: Page, address: str):
    # ZLSIM is two hours east of UTC, ZLZ1 one.
    opened(page, address, "sql", system="ZLSIM", q="SELECT interval_end FROM load WHERE system = 'ZLZ1'")
    expect(page.get_by_test_id("sql-status")).to_contain_text("times in UTC+01:00")
    opened(page, address, "sql", system="ZLSIM", q="SELECT interval_end FROM load")
    expect(page.get_by_test_id("sql-status")).to_contain_text(
        "times in UTC: the systems are in several zones"
    )
