"""Tests of the processor and machine views: numbers, clicks and navigation."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from chromium import opened, ready
from ui_comparison import copied, copied_rows, query_objects, setting

MAP = '[data-testid="chart-machine"]'
MOMENT = 1715672100


def press(page: Page, place: str, across: float, down: float) -> None:
    """Click on a canvas: a fraction of its width from the left, and pixels from the top."""
    surface = page.locator(f"{place} canvas")
    surface.scroll_into_view_if_needed()
    box = surface.bounding_box()
    assert box
    page.mouse.click(box["x"] + across * box["width"], box["y"] + down)


@pytest.mark.long
def test_processors_and_cores(page: Page, address: str, demo: Path):
    opened(page, address, "processors", system="ZLSIM")
    figures_are_those_of_the_program(page, demo)
    what_is_left_of_the_cores_is_drawn(page)
    a_parked_core_is_marked(page)
    a_click_on_a_processor_opens_its_course(page)
    the_keyboard_walks_through_processors(page)
    the_choice_of_what_is_shown_is_in_the_address(page)
    opened(page, address, "processors", system="ZLDEMO")
    # Without multithreading, the view shows why cores are missing.
    expect(page.get_by_test_id("view-processors")).to_contain_text("multithreading is not enabled")
    expect(page.get_by_test_id("chart-cores")).to_have_count(0)
    expect(page.locator('[data-testid="table-cores"]')).to_have_count(0)
    page.route("**/api/v1/aggregate", without_a_processor_for_a_while)
    opened(page, address, "processors", system="ZLSIM")
    an_offline_processor_is_drawn_and_named(page)


def figures_are_those_of_the_program(page: Page, demo: Path) -> None:
    for name in ("processors", "cores"):
        program = query_objects(demo / "sim.monwrite", copied(page, name, "Copy SQL"))
        shown = copied_rows(page, name)
        assert len(shown) == len(program) > 5
        subject = {"processors": "cpu_id", "cores": "core_id"}[name]
        by = {str(row[subject]): row for row in program}
        for on_page in shown:
            row = by[on_page[subject]]
            for key, value in row.items():
                if key in ("system", "source"):
                    continue
                if isinstance(value, int | float):
                    assert float(on_page[key]) == float(value), key
                else:
                    assert on_page[key] == (value or ""), key


def a_click_on_a_processor_opens_its_course(page: Page) -> None:
    press(page, '[data-testid="chart-processors"]', 0.5, 30)
    ready(page, "processors")
    assert setting(page, "cpu") == "1"
    chart = page.locator('[data-testid="chart-processor"]')
    expect(chart).to_contain_text("CPU 1, core 0, thread 1, IFL, Vh")
    expect(chart).to_contain_text("Entitlement: 100%.")
    for name in ("Busy", "Emulation", "System", "Suspend", "Parked"):
        expect(chart.locator(".legend")).to_contain_text(name)
    page.get_by_role("button", name="Close CPU 1").click()
    expect(chart).to_have_count(0)
    assert setting(page, "cpu") is None


def the_keyboard_walks_through_processors(page: Page) -> None:
    page.locator('[data-testid="chart-processors"] [tabindex="0"]').focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    expect(page.locator('[data-testid="hover"]')).to_contain_text("Core 1, 2, Vh 100%")
    page.keyboard.press("Enter")
    ready(page, "processors")
    assert setting(page, "cpu") == "2"


def the_choice_of_what_is_shown_is_in_the_address(page: Page) -> None:
    page.locator('[data-testid="what"]').select_option("suspend_pct")
    page.locator('[data-testid="corewhat"]').select_option("thread_density")
    ready(page, "processors")
    assert (setting(page, "what"), setting(page, "corewhat")) == ("suspend_pct", "thread_density")
    expect(page.get_by_role("heading", name="Processors: suspend")).to_be_visible()
    expect(page.get_by_role("heading", name="Cores: thread density")).to_be_visible()


def a_parked_core_is_marked(page: Page) -> None:
    """Core 5 is parked in the first minutes: its values are unknown, not 0."""
    surface = page.locator('[data-testid="chart-cores"] canvas')
    surface.scroll_into_view_if_needed()
    box = surface.bounding_box()
    assert box
    page.mouse.move(box["x"] + 175, box["y"] + 5 * 20 + 10)
    tooltip = page.locator('[data-testid="hover"]')
    expect(tooltip).to_contain_text("Core 5")
    expect(tooltip).to_contain_text("Not available")
    expect(tooltip).to_contain_text("Parked throughout")


def what_is_left_of_the_cores_is_drawn(page: Page) -> None:
    chart = page.locator('[data-testid="chart-cores-left"]')
    expect(chart.locator(".u-over")).to_be_visible()
    chart.get_by_role("button", name="explain Cores entitled, used and left").click()
    expect(page.locator('[data-testid="explain"]')).to_contain_text("entitlement_pct - mt_used_pct")
    page.keyboard.press("Escape")


def without_a_processor_for_a_while(route: Route) -> None:
    """Remove the rows of a processor from the middle of the recording."""
    answer = route.fetch()
    body = answer.json()
    question = json.loads(route.request.post_data or "{}")
    if question.get("table") == "cpu" and question.get("buckets"):
        at = {name: n for n, name in enumerate(body["columns"])}
        times = sorted({row[at["t"]] for row in body["rows"]})
        gone = set(times[20:40])
        body["rows"] = [row for row in body["rows"] if row[at["cpu_id"]] != 0 or row[at["t"]] not in gone]
    route.fulfill(response=answer, json=body)


def an_offline_processor_is_drawn_and_named(page: Page) -> None:
    canvas = page.locator('[data-testid="chart-processors"] canvas')
    box = canvas.bounding_box()
    assert box
    page.mouse.move(box["x"] + 160 + (box["width"] - 172) * 0.5, box["y"] + 10)
    expect(page.get_by_test_id("hover")).to_contain_text("Offline: no record")
    page.mouse.move(box["x"] + 160 + (box["width"] - 172) * 0.9, box["y"] + 10)
    expect(page.get_by_test_id("hover")).not_to_contain_text("Offline")


@pytest.mark.long
def test_machine_view_navigation(page: Page, address: str, demo: Path):
    opened(page, address, "machine", system="ZLSIM")
    the_map_opens_at_the_worst_interval(page, demo)
    opened(page, address, "machine", system="ZLSIM", at=str(MOMENT))
    the_machine_in_figures(page, demo)
    moments_follow_one_another(page)
    the_way_in_and_back(page, address)
    # ZLZ1 is partition ZLZOS of the machine in ZLDEMO's records.
    opened(page, address, "machine", system="ZLZ1")
    expect(page.get_by_role("heading", name="2097-D3E01")).to_be_visible()
    expect(page.locator('[data-testid="table-partitions"] tbody tr.chosen')).to_contain_text("ZLZOS")
    page.locator('[data-testid="table-partitions"] tbody tr.chosen').click()
    ready(page, "machine")
    assert setting(page, "in") == "CP/ZLZOS"


def the_map_opens_at_the_worst_interval(page: Page, demo: Path) -> None:
    [row] = query_objects(
        demo / "sim.monwrite",
        "SELECT strftime(interval_end AT TIME ZONE 'UTC' + INTERVAL 2 HOUR, '%H:%M:%S') AS at "
        "FROM cec ORDER BY phys_total_pct DESC LIMIT 1",
    )
    expect(page.get_by_role("group", name="Interval player")).to_contain_text(str(row["at"]))


def the_way_in_and_back(page: Page, address: str) -> None:
    press(page, MAP, 0.07, 120)
    ready(page, "machine")
    assert setting(page, "in") == "IFL/ZLSIM"
    press(page, MAP, 0.07, 120)
    ready(page, "machine")
    assert setting(page, "in") == "IFL/ZLSIM/cores/0"
    facts = page.locator('[data-testid="facts"]')
    expect(facts).to_contain_text("Productivity")
    page.locator(f'{MAP} [tabindex="0"]').focus()
    page.keyboard.press("Escape")
    assert setting(page, "in") == "IFL/ZLSIM"
    page.keyboard.press("Escape")
    assert setting(page, "in") is None
    # A thread leads to its processor.
    opened(page, address, "machine", **{"system": "ZLSIM", "in": "IFL/ZLSIM/cores/0"})
    press(page, MAP, 0.75, 120)
    ready(page, "processors")
    assert setting(page, "cpu") == "1"


def the_machine_in_figures(page: Page, demo: Path) -> None:
    (row,) = query_objects(
        demo / "sim.monwrite",
        "SELECT lgclc_pct, ovrhd_pct, lpmgt_pct, physical FROM cec "
        f"WHERE abs(epoch(interval_end) - {MOMENT}) < 30",
    )
    facts = page.locator('[data-testid="facts"]')
    titles = [one.get_attribute("title") or "" for one in facts.locator("button").all()]
    for name, value in row.items():
        (title,) = [one for one in titles if one.endswith(f"(cec.{name})")]
        assert float(re.sub("[,%]", "", title.split()[0])) == float(f"{value:.6g}")
    expect(page.locator('[data-testid="table-partitions"] tbody tr')).to_have_count(3)


def moments_follow_one_another(page: Page) -> None:
    expect(page.get_by_role("group", name="Interval player")).to_contain_text("5 of 60")
    play = page.locator('[data-testid="play"]')
    assert play.get_attribute("aria-pressed") == "false"
    play.click()
    page.wait_for_url(re.compile("at=1715672220"))
    play.click()
    shown = setting(page, "at")
    page.locator('[data-testid="moment"]').focus()
    page.keyboard.press("ArrowLeft")
    assert int(setting(page, "at") or 0) == int(shown or 0) - 60
