"""Tests of the views of hardware counters and I/O: numbers, clicks and notes on missing data."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page, Route, expect

from chromium import opened, ready
from ui_comparison import chart_rows, copied, copied_rows, query_objects, setting

TABLE = '[data-testid="table-devices"]'


@pytest.mark.long
def test_devices_by_table_and_by_pool(page: Page, address: str, demo: Path):
    opened(page, address, "io", system="ZLSIM")
    devices_are_those_of_the_program(page, demo)
    a_device_keeps_its_color_in_another_window(page, address)
    opened(page, address, "io", system="ZLSIM")
    an_alias_pool_is_chosen(page)
    a_table_shows_every_column_of_its_measure(page, address)
    a_device_is_chosen_and_searched_for(page)


def devices_are_those_of_the_program(page: Page, demo: Path) -> None:
    """The table's SQL returns the same rows in `zlens sql`, with every digit of the CSV."""
    program = query_objects(demo / "sim.monwrite", copied(page, "devices", "Copy SQL"))
    shown = copied_rows(page, "devices")
    assert len(shown) == len(program) > 10
    for on_page, expected in zip(shown, program, strict=True):
        for key in ("device", "rate_mean", "resp_s_mean", "resp_s_max", "queue_s_mean", "disc_s_mean"):
            value = expected[key]
            assert on_page[key] == "" if value is None else str(on_page[key]) != ""
            if isinstance(value, str):
                assert on_page[key] == value
            elif value is not None:
                assert float(on_page[key]) == pytest.approx(float(str(value)), rel=1e-14)
    # Slowest first, unknown values last.
    known = [float(one["resp_s_mean"]) for one in shown if one["resp_s_mean"]]
    assert known == sorted(known, reverse=True)
    assert [one["resp_s_mean"] == "" for one in shown] == sorted(one["resp_s_mean"] == "" for one in shown)
    # The response components add up to the response time.
    seen = 0
    for row in shown:
        if row["resp_s_mean"]:
            parts = sum(
                float(row[key]) for key in ("queue_s_mean", "pend_s_mean", "disc_s_mean", "conn_s_mean")
            )
            assert abs(parts - float(row["resp_s_mean"])) < 1e-6 * parts
            seen += 1
    assert seen > 10


def a_device_is_chosen_and_searched_for(page: Page) -> None:
    body = page.locator(f"{TABLE} tbody")
    first = body.locator("tr.opens").first
    name = first.locator("td").first.inner_text().strip()
    first.click()
    ready(page, "io")
    assert setting(page, "device") == name
    expect(page.locator('[data-testid="chart-response-parts"] header')).to_contain_text(name)
    expect(page.locator('[data-testid="chart-device-rate"]')).to_be_visible()
    page.get_by_role("searchbox").fill("lnx0")
    expect(body.locator("tr.opens").first).to_contain_text("LNX0")
    assert setting(page, "find") == "lnx0"
    page.get_by_role("searchbox").fill("nothing is called so")
    expect(body.locator("tr.opens")).to_have_count(0)


def a_table_shows_every_column_of_its_measure(page: Page, address: str) -> None:
    """The table has all device columns of the catalog; a new column needs no change of the web UI."""
    few = copied(page, "devices", "Copy CSV").splitlines()[0].split(",")
    page.locator(TABLE).get_by_role("button", name="All columns").click()
    ready(page, "io")
    assert setting(page, "devices.all") == "1"
    schema = page.request.get(f"{address}/api/v1/schema").json()["tables"]
    [device] = [one for one in schema if one["name"] == "device"]
    # No device belongs to a group here, so that column is hidden.
    leading = {"system", "source", "interval_end", "seconds", "flag", "group_name"}
    names = {one["name"] for one in device["columns"]} - leading
    heads = copied(page, "devices", "Copy CSV").splitlines()[0].split(",")
    assert heads[: len(few)] == few
    assert {"device", *(head.rpartition("_")[0] for head in heads[1:])} >= names
    by_name = {one["name"]: one for one in device["columns"]}
    heading = page.locator(f"{TABLE} th", has_text="Seek cylinders").get_by_role("button").first
    text = by_name["seek_cylinders"]["text"]
    assert (heading.get_attribute("title") or "").startswith(text[0].upper() + text[1:])


def a_device_keeps_its_color_in_another_window(page: Page, address: str) -> None:
    def colors() -> dict[str, str]:
        entries = page.get_by_test_id("chart-response").locator("li")
        entries.first.wait_for()
        return dict(
            entries.evaluate_all(
                "all => all.map(e => [e.title, e.querySelector('i').style.background])",
            )
        )

    before = colors()
    opened(page, address, "io", **{"system": "ZLSIM", "from": "1715672200", "to": "1715672800"})
    after = colors()
    both = before.keys() & after.keys()
    assert list(before) != list(after)
    assert len(both) > 2
    assert {name: before[name] for name in both} == {name: after[name] for name in both}


def an_alias_pool_is_chosen(page: Page) -> None:
    expect(page.locator('[data-testid="chart-alias-entitlement-paging"]')).to_contain_text("Entitlement")
    page.locator('[data-testid="table-alias-pools"] tbody tr.opens').last.click()
    ready(page, "io")
    pool = setting(page, "pool")
    assert pool is not None
    expect(page.locator('[data-testid="chart-alias-entitlement-mdisk"] header')).to_contain_text(pool)


def test_devices_and_paging_of_zos(page: Page, address: str, demo: Path, tmp_path: Path):
    opened(page, address, "io", system="ZLZ1")
    program = query_objects(demo / "zlzos.smf", copied(page, "page-data-sets", "Copy SQL"))
    shown = copied_rows(page, "page-data-sets")
    assert [row["data_set"] for row in shown] == [row["data_set"] for row in program]
    # Fullest first.
    full = [float(row["slots_used_pct_mean"]) for row in shown]
    assert full == sorted(full, reverse=True)
    assert len(full) == 4
    # Numbers of logical control units are those of RMFIOQ.
    rows = page.get_by_test_id("table-alias-pools").locator("tbody tr")
    expect(rows.locator("td:first-child")).to_have_text(["0040", "0041"])
    rows.last.click()
    ready(page, "io")
    expect(page.get_by_test_id("chart-alias-tries_rate-all").locator("header")).to_contain_text("LCU 0041")
    # Records of 15 minutes fill the hour, although counters are recorded every minute.
    for chart, rows_drawn in (("response-parts", 1), ("channels", 5)):
        frame = page.get_by_test_id(f"chart-{chart}")
        frame.locator("summary").click()
        with page.expect_download() as waiting:
            frame.get_by_role("button", name="Save as SVG").click()
        waiting.value.save_as(tmp_path / "chart.svg")
        shapes = ElementTree.parse(tmp_path / "chart.svg").iter("{http://www.w3.org/2000/svg}rect")
        wide = [float(shape.get("width", "0")) for shape in shapes]
        assert sum(150 < width < 240 for width in wide) >= 4 * rows_drawn, chart


def test_decisions_of_hiperdispatch(page: Page, address: str, demo: Path):
    opened(page, address, "processors", system="ZLZ1")
    shown = chart_rows(page, "polarity-cp")
    program = query_objects(
        demo / "zlzos.smf",
        "SELECT epoch(interval_end) AS t, vertical_high, unparked FROM hiperdispatch "
        "WHERE cpu_type = 'CP' ORDER BY t",
    )
    assert len(shown) == len(program) == 60
    assert [[float(row[name]) for name in ("time_utc_s", "Vertical high", "Unparked")] for row in shown] == [
        [row[name] for name in ("t", "vertical_high", "unparked")] for row in program
    ]
    # Without decisions, there is a note instead of an empty chart.
    expect(page.get_by_test_id("chart-decisions-cp")).to_contain_text("No decision to park or unpark")
    expect(page.get_by_test_id("chart-parking-cp")).to_contain_text("Unpark limit")


def test_counters_and_their_nest(page: Page, address: str, demo: Path, tmp_path: Path):
    opened(page, address, "cpumf", system="ZLZ1")
    # CPI of the window is its cycles divided by its instructions, not a mean of means.
    query = (
        "SELECT sum(cycles) / sum(instructions) AS cpi FROM cpumf_type WHERE system = 'ZLZ1' AND flag IS NULL"
    )
    cpi = float(str(query_objects(demo / "zlzos.smf", query)[0]["cpi"]))
    title = page.locator('[title*="(cpumf_type.cpi)"]').first.get_attribute("title") or ""
    assert abs(float(title.split()[0]) - cpi) < 1e-5 * cpi
    # The nest chart has the regions of the hint.
    nest = page.locator('[data-testid="chart-nest"]')
    nest.locator("summary").click()
    with page.expect_download() as waiting:
        nest.get_by_role("button", name="Save as SVG").click()
    path = tmp_path / "nest.svg"
    waiting.value.save_as(path)
    text = path.read_text(encoding="utf-8")
    regions = page.request.get(f"{address}/api/v1/schema").json()["hints"]["regions"]
    for category in {one["category"] for one in regions}:
        count = sum(one["category"] == category for one in regions)
        assert text.count(f">{category}</text>") == count
    assert text.count("<circle") == 60
    # Without RNI, the view has no empty chart but shows the reason.
    opened(page, address, "cpumf", system="ZLSIM")
    expect(page.get_by_test_id("no-nest")).to_contain_text("z15")
    expect(nest).to_have_count(0)
    a_processor_is_chosen_by_a_click_on_its_bar(page)
    a_click_on_a_legend_hides_a_part_of_bars(page, tmp_path)


def a_processor_is_chosen_by_a_click_on_its_bar(page: Page) -> None:
    bars = page.locator('[data-testid="chart-cpi-by-processor"] canvas')
    bars.click(position={"x": 200, "y": 30})
    page.wait_for_url(re.compile("cpu=1"))
    ready(page, "cpumf")
    expect(page.locator('[data-testid="chart-cpi"] header')).to_contain_text("CPU 1")
    bars.click(position={"x": 200, "y": 30})
    expect(page).not_to_have_url(re.compile("cpu="))


def a_click_on_a_legend_hides_a_part_of_bars(page: Page, tmp_path: Path) -> None:
    frame = page.get_by_test_id("chart-sourcing-by-processor")
    entries = frame.locator(".legend button")
    names = entries.all_inner_texts()

    def drawn() -> str:
        frame.locator("summary").click()
        with page.expect_download() as saved:
            frame.get_by_role("button", name="Save as SVG").click()
        saved.value.save_as(tmp_path / "bars.svg")
        return (tmp_path / "bars.svg").read_text(encoding="utf-8")

    whole = drawn()
    entries.first.click()
    expect(entries.first).to_have_attribute("aria-pressed", "false")
    rest = drawn()
    assert f">{names[0]}<" in whole
    assert f">{names[0]}<" not in rest
    assert f">{names[1]}<" in rest
    assert rest.count("<rect") < whole.count("<rect")


def test_charts_of_devices_do_not_wait_for_table(page: Page, address: str):
    """Which devices are disks is known from their attributes alone."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        if '"order":"resp_s_mean"' in (route.request.post_data or ""):
            held.append(route)
        else:
            route.continue_()

    page.route("**/api/v1/aggregate", hold)
    page.goto(f"{address}/#/io?system=ZLSIM")
    expect(page.locator('[data-testid="chart-response-parts"] canvas').first).to_be_visible()
    expect(page.locator('[data-testid="chart-response"] canvas').first).to_be_visible()
    assert held
    assert "all disks" in page.locator('[data-testid="chart-response-parts"]').inner_text()
    for route in held:
        route.continue_()
    ready(page, "io")
