"""Tests of tables and tiles: headings, digits, fixed columns, wide tables and complete titles."""

from __future__ import annotations

import json
import re

from playwright.sync_api import Page, Route, expect

from chromium import opened, quiet, ready


def test_tables_and_tiles_render(page: Page, address: str):
    opened(page, address, "io", system="ZLSIM")
    heads_have_unit_and_statistic_and_numbers_four_digits(page)
    decimal_points_of_a_column_are_below_each_other(page, "devices")
    page.set_viewport_size({"width": 700, "height": 800})
    the_first_column_stays_and_a_wide_table_shows_that_it_is(page)
    a_column_without_values_is_named_below(page)
    page.set_viewport_size({"width": 1280, "height": 800})
    opened(page, address, "guests", system="ZLSIM")
    decimal_points_of_a_column_are_below_each_other(page, "guests")
    opened(page, address, "overview", system="ZLSIM")
    titles_are_whole_and_figures_have_their_own_line(page)
    page.set_viewport_size({"width": 390, "height": 800})
    quiet(page)
    titles_are_whole_and_figures_have_their_own_line(page)


def heads_have_unit_and_statistic_and_numbers_four_digits(page: Page) -> None:
    table = page.get_by_test_id("table-devices")
    response = table.locator("th", has_text=re.compile("^Resp")).first
    expect(response.locator("small")).to_have_text(re.compile(r"^ms mean$"))
    at = [one.inner_text() for one in table.locator("th").all()].index(response.inner_text())
    cells = [row.locator("td").nth(at) for row in table.locator("tbody tr").all()]
    # All cells have the decimals of the typical value.
    digits = [len(re.sub(r"^0*\.?0*|\.", "", cell.inner_text().strip())) for cell in cells]
    assert 3 <= sorted(digits)[len(digits) // 2] <= 4
    assert all(1 <= count <= 5 for count in digits)
    for cell in cells[:5]:
        hover = (cell.get_attribute("title") or "").split()
        assert hover[1] == "ms"
        assert 5 <= len(re.sub(r"^0*\.?0*|\.", "", hover[0])) <= 6


def the_first_column_stays_and_a_wide_table_shows_that_it_is(page: Page) -> None:
    table = page.get_by_test_id("table-devices")
    frame, rows = table.locator(".frame"), table.get_by_role("region")
    expect(frame).to_have_class(re.compile(r"\bafter\b"))
    first = table.locator("tbody tr").first.locator("td").first
    before = first.bounding_box()
    rows.evaluate("e => { e.scrollLeft = e.scrollWidth }")
    expect(frame).not_to_have_class(re.compile(r"\bafter\b"))
    assert first.bounding_box() == before
    rows.evaluate("e => { e.scrollLeft = 0 }")
    expect(frame).to_have_class(re.compile(r"\bafter\b"))


def titles_are_whole_and_figures_have_their_own_line(page: Page) -> None:
    for title in page.locator("main section h2").all():
        assert title.evaluate("e => e.scrollWidth <= e.clientWidth + 1"), title.inner_text()
    for tile in ("busy", "paging", "machine"):
        title = page.get_by_test_id(f"chart-{tile}").locator("h2").bounding_box()
        figures = page.get_by_test_id(f"figures-{tile}").bounding_box()
        assert title is not None
        assert figures is not None
        assert figures["y"] >= title["y"] + title["height"]


def decimal_points_of_a_column_are_below_each_other(page: Page, name: str) -> None:
    # Spaces as wide as a digit and as a decimal point.
    digit, point = "\N{FIGURE SPACE}", "\N{PUNCTUATION SPACE}"
    number = re.compile(rf"-?\d+((\.\d+)|{point})?{digit}*")
    table = page.get_by_test_id(f"table-{name}")
    heads = table.locator("th").count()
    rows = [
        row.locator("td").all_text_contents() for row in table.locator("tbody tr:not([aria-hidden])").all()
    ]
    assert len(rows) > 5
    numeric = 0
    for at in range(heads):
        cells = [one for row in rows if number.fullmatch(one := row[at].strip(" \n"))]
        assert len({len(cell.replace(point, ".").partition(".")[2]) for cell in cells}) <= 1, cells
        for cell in cells:
            shown = cell.strip()
            assert len(shown.replace(".", "").lstrip("-0")) <= (4 if "." in shown else 15), cells
        numeric += bool(cells)
    assert numeric > 5


def a_column_without_values_is_named_below(page: Page) -> None:
    def without(route: Route) -> None:
        answer = route.fetch()
        body = answer.json()
        question = json.loads(route.request.post_data or "{}")
        if question.get("table") == "device" and "disc_s_mean" in body["columns"]:
            at = body["columns"].index("disc_s_mean")
            for row in body["rows"]:
                row[at] = None
        route.fulfill(response=answer, json=body)

    heads = page.get_by_test_id("table-devices").locator("th")
    expect(heads.filter(has_text=re.compile("^Disc"))).to_have_count(1)
    page.route("**/api/v1/aggregate", without)
    page.reload()
    ready(page, "io")
    expect(heads.filter(has_text=re.compile("^Disc"))).to_have_count(0)
    expect(page.get_by_test_id("table-devices").locator(".lacking")).to_contain_text("Disc")
    page.unroute("**/api/v1/aggregate")
