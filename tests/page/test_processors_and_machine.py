"""Views of processors and of the machine: what a click opens, what they print, the way in and back out."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, expect

from asking import asked
from browsing import opened, ready

MAP = '[data-testid="chart-machine"]'


def setting(page: Page, name: str) -> str | None:
    return parse_qs(urlsplit(page.url).fragment.partition("?")[2]).get(name, [None])[0]


def press(page: Page, place: str, across: float, down: float) -> None:
    """A click on a drawing, in parts of its size from the left and in pixels from above."""
    surface = page.locator(f"{place} canvas")
    surface.scroll_into_view_if_needed()
    box = surface.bounding_box()
    assert box
    page.mouse.click(box["x"] + across * box["width"], box["y"] + down)


def test_figures_of_processors_are_those_of_the_program(page: Page, address: str, demo: Path):
    opened(page, address, "processors", system="ZLSIM")
    for name in ("processors", "cores"):
        table = page.locator(f'[data-testid="table-{name}"]')
        table.get_by_role("button", name="Copy SQL").click()
        program = asked(demo / "sim.monwrite", page.evaluate("navigator.clipboard.readText()"))
        table.get_by_role("button", name="Copy CSV").click()
        shown = list(csv.DictReader(io.StringIO(page.evaluate("navigator.clipboard.readText()"))))
        assert len(shown) == len(program) > 5
        subject = {"processors": "cpu_id", "cores": "core_id"}[name]
        by = {str(told[subject]): told for told in program}
        for on_page in shown:
            told = by[on_page[subject]]
            for key, value in told.items():
                if key in ("system", "source"):
                    continue
                if isinstance(value, int | float):
                    assert float(on_page[key]) == float(value), key
                else:
                    assert on_page[key] == (value or ""), key


def test_a_click_on_a_processor_opens_its_course(page: Page, address: str):
    opened(page, address, "processors", system="ZLSIM")
    press(page, '[data-testid="chart-processors"]', 0.5, 30)
    ready(page, "processors")
    assert setting(page, "cpu") == "1"
    chart = page.locator('[data-testid="chart-processor"]')
    expect(chart).to_contain_text("Processor 1, core 0, thread 1, IFL, Vh, entitled to 100 %")
    for name in ("busy", "emulation", "system", "suspend", "parked"):
        expect(chart.locator(".legend")).to_contain_text(name)
    page.get_by_role("button", name="close processor 1").click()
    expect(chart).to_have_count(0)
    assert setting(page, "cpu") is None


def test_the_keyboard_walks_through_processors(page: Page, address: str):
    opened(page, address, "processors", system="ZLSIM")
    page.locator('[data-testid="chart-processors"] [tabindex="0"]').focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    expect(page.locator('[data-testid="hover"]')).to_contain_text("core 1, 2, Vh 100%")
    page.keyboard.press("Enter")
    ready(page, "processors")
    assert setting(page, "cpu") == "2"


def test_the_choice_of_what_is_shown_is_in_the_address(page: Page, address: str):
    opened(page, address, "processors", system="ZLSIM")
    page.locator('[data-testid="what"]').select_option("suspend_pct")
    page.locator('[data-testid="corewhat"]').select_option("thread_density")
    ready(page, "processors")
    assert (setting(page, "what"), setting(page, "corewhat")) == ("suspend_pct", "thread_density")
    expect(page.get_by_role("heading", name="Processors: suspend")).to_be_visible()
    expect(page.get_by_role("heading", name="Cores: thread density")).to_be_visible()


def test_a_parked_core_is_told_to_be_so(page: Page, address: str):
    """Core 5 is parked in the first minutes: nothing of it can be computed, and it is not 0."""
    opened(page, address, "processors", system="ZLSIM")
    surface = page.locator('[data-testid="chart-cores"] canvas')
    surface.scroll_into_view_if_needed()
    box = surface.bounding_box()
    assert box
    page.mouse.move(box["x"] + 175, box["y"] + 5 * 20 + 10)
    told = page.locator('[data-testid="hover"]')
    expect(told).to_contain_text("core 5")
    expect(told).to_contain_text("not computable")
    expect(told).to_contain_text("parked all the time")


def test_where_there_is_no_multithreading_it_says_why_cores_are_missing(page: Page, address: str):
    opened(page, address, "processors", system="ZLDEMO")
    expect(page.locator('[data-testid="chart-cores"]')).to_contain_text("multithreading is not enabled")
    expect(page.locator('[data-testid="table-cores"]')).to_have_count(0)


def test_what_is_left_of_the_cores_is_drawn(page: Page, address: str):
    opened(page, address, "processors", system="ZLSIM")
    chart = page.locator('[data-testid="chart-cores-left"]')
    expect(chart.locator(".u-over")).to_be_visible()
    chart.get_by_role("button", name="explain Cores entitled, used and left").click()
    expect(page.locator('[data-testid="explain"] pre')).to_contain_text("entitlement_pct - mt_used_pct")


def test_the_way_into_the_machine_and_back(page: Page, address: str):
    opened(page, address, "machine", system="ZLSIM")
    press(page, MAP, 0.07, 120)
    ready(page, "machine")
    assert setting(page, "in") == "IFL/ZLSIM"
    press(page, MAP, 0.07, 120)
    ready(page, "machine")
    assert setting(page, "in") == "IFL/ZLSIM/cores/0"
    facts = page.locator('[data-testid="facts"]')
    expect(facts).to_contain_text("productivity")
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


def test_the_machine_in_figures(page: Page, address: str, demo: Path):
    moment = 1715672100
    opened(page, address, "machine", system="ZLSIM", at=str(moment))
    (told,) = asked(
        demo / "sim.monwrite",
        "SELECT lgclc_pct, ovrhd_pct, lpmgt_pct, physical FROM cec "
        f"WHERE abs(epoch(interval_end) - {moment}) < 30",
    )
    facts = page.locator('[data-testid="facts"]')
    titles = [one.get_attribute("title") or "" for one in facts.locator("button").all()]
    for name, value in told.items():
        (title,) = [one for one in titles if one.endswith(f"(cec.{name})")]
        assert float(title.split()[0]) == float(f"{value:.6g}")
    expect(page.locator('[data-testid="table-partitions"] tbody tr')).to_have_count(3)


def test_moments_follow_one_another(page: Page, address: str):
    opened(page, address, "machine", system="ZLSIM", at="1715672100")
    expect(page.get_by_role("group", name="moment")).to_contain_text("5 of 60")
    play = page.locator('[data-testid="play"]')
    assert play.get_attribute("aria-pressed") == "false"
    play.click()
    page.wait_for_url(re.compile("at=1715672220"))
    play.click()
    shown = setting(page, "at")
    page.locator('[data-testid="moment"]').focus()
    page.keyboard.press("ArrowLeft")
    assert int(setting(page, "at") or 0) == int(shown or 0) - 60


def test_a_system_is_shown_in_a_machine_that_another_tells_of(page: Page, address: str):
    """ZLZ1 is the partition ZLZOS of the machine that ZLDEMO's records tell of."""
    opened(page, address, "machine", system="ZLZ1")
    expect(page.get_by_role("heading", name="2097-D3E01")).to_be_visible()
    expect(page.locator('[data-testid="table-partitions"] tbody tr.chosen')).to_contain_text("ZLZOS")
    page.locator('[data-testid="table-partitions"] tbody tr.chosen').click()
    ready(page, "machine")
    assert setting(page, "in") == "CP/ZLZOS"
