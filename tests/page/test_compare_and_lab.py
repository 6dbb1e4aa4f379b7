"""Tests of comparisons and models in the web UI, compared with the output of the commands."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from chromium import opened, ready
from ui_comparison import as_shown, printed

HALF = "2010-03-09T08:00:00Z"


@pytest.fixture(scope="module")
def differences(demo: Path) -> list[dict]:
    """Differences between the halves of the file, by `zlens compare`."""
    output = printed(
        "compare", str(demo / "zldemo.monwrite"), "--to", HALF, "--", "--from", HALF, "--format", "json"
    )
    rows = json.loads(output)
    return [row for row in rows if row["kind"] == "difference"]


@pytest.mark.long
def test_two_windows_are_compared_linked_and_saved(
    page: Page, address: str, differences: list[dict], tmp_path: Path
):
    opened(page, address, "compare", system="ZLDEMO")
    halves_compared_say_what_the_command_says(page, differences)
    a_brush_chooses_a_side_and_the_link_restores_it(page)
    opened(page, address, "compare", system="ZLDEMO", bs="ZLDEMO", os="ZLZ1")
    a_comparison_is_saved_as_the_command_writes_it(page, tmp_path)


def halves_compared_say_what_the_command_says(page: Page, differences: list[dict]) -> None:
    page.get_by_role("button", name="Compare these halves").click()
    page.wait_for_selector('[data-testid="table-differences"]', timeout=60_000)
    ready(page, "compare")
    heads = [
        re.split(r"[?▾▴]", cell)[0].strip()
        for cell in page.locator('[data-testid="table-differences"] th').all_inner_texts()
    ]
    by_metric = {row["metric"]: row for row in differences if not row["subject"]}
    compared = 0
    for line in page.locator('[data-testid="table-differences"] tbody tr').all():
        cells = dict(
            zip(heads, (text.strip() for text in line.locator("td").all_inner_texts()), strict=False)
        )
        row = by_metric.get(cells.get("Measure", ""))
        if row is None or cells["Metric"] != row["heading"]:
            continue
        compared += 1
        for name, key in (("Base", "base_value"), ("Other", "other_value")):
            assert as_shown([cells[name]], [row[key]]), row["metric"]
        if row["change"] is None:
            assert cells["Difference"] == "\N{EN DASH}"
        else:
            assert float(cells["Difference"].replace(",", "")) == pytest.approx(
                row["change"], rel=5e-3, abs=5e-4
            )
        sure = "not tested" if row["p"] is None else "exceeds" if row["beyond_noise"] else "within"
        assert cells["Test"].startswith(sure)
    assert compared >= 5
    expect(page.locator('[data-testid="warnings"]')).to_contain_text("Synthetic, not measured")


def a_brush_chooses_a_side_and_the_link_restores_it(page: Page) -> None:
    box = page.locator('[data-testid="side-base"] canvas').bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 20, steps=4)
    page.mouse.up()
    page.wait_for_url(re.compile(r"[?&]b=\d+\.\.\d+"))
    ready(page, "compare")
    said = page.locator('[data-testid="side-base"]').inner_text()
    assert "15\N{NO-BREAK SPACE}min" in said
    headline = page.locator("main h2").first.inner_text()
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    ready(page, "compare")
    assert page.locator('[data-testid="side-base"]').inner_text() == said
    assert page.locator("main h2").first.inner_text() == headline


def a_comparison_is_saved_as_the_command_writes_it(page: Page, tmp_path: Path) -> None:
    with page.expect_download(timeout=60_000) as waiting:
        page.get_by_role("button", name="Export as HTML").click()
    path = tmp_path / "comparison.html"
    waiting.value.save_as(path)
    text = path.read_text(encoding="utf-8")
    assert "Comparison of ZLDEMO - ZLZ1" in text
    assert "<script" not in text


@pytest.mark.long
def test_scenarios_are_written_and_solved(page: Page, address: str):
    opened(page, address, "lab", system="ZLSIM", model="queueing")
    a_sweep_is_drawn(page)
    opened(page, address, "lab", system="ZLSIM", model="shares")
    a_wrong_scenario_is_said_while_it_is_written(page)
    a_scenario_is_solved_and_a_slider_solves_it_again(page)


def test_laboratory_compares_and_plans_measured_interval(page: Page, address: str):
    opened(page, address, "lab", system="ZLSIM", mode="expected", model="shares")
    expect(page.locator('[data-testid="chart-expected-shares-0"]')).to_contain_text("observed")
    expect(page.locator('[data-testid="moment"]')).to_contain_text("The busiest interval, which ended")
    expect(page.locator("main")).to_contain_text("processors for guests were idle")
    # A click selects a what-if.
    opened(page, address, "lab", system="ZLSIM", mode="plan")
    page.locator('[data-testid="table-plan-list-whatifs"] tbody tr').first.click()
    page.wait_for_url(re.compile(r"set=logical_cores"))
    ready(page, "lab")
    expect(page.locator('[data-testid="answer-plan"] h2').first).to_contain_text("Plan for ZLSIM")
    expect(page.locator('[data-testid="chart-plan-0"] canvas')).to_be_visible()
    opened(page, address, "lab", system="ZLDEMO")
    the_laboratory_opens_on_what_this_file_measured(page)


def a_wrong_scenario_is_said_while_it_is_written(page: Page) -> None:
    field = page.locator("#scenario-text")
    right = field.input_value()
    field.fill(right.replace("relative = 400", "relative = 99999"))
    # `wait_for` polls every frame, an expectation twice a second.
    page.locator("#scenario-check", has_text="relative is 99999").wait_for()
    expect(page.locator("#scenario-check")).to_contain_text("an integer from 1 to 10,000")
    expect(page.get_by_role("button", name="Solve")).to_be_disabled()
    field.fill(right.replace("relative = 400", "relativ = 400"))
    page.locator("#scenario-check", has_text="did you mean relative?").wait_for()
    field.fill(right)
    page.locator('[data-testid="valid"]').wait_for()


def a_scenario_is_solved_and_a_slider_solves_it_again(page: Page) -> None:
    field = page.locator("#scenario-text")
    field.fill(field.input_value().replace("relative = 400", "relative = 800"))
    page.locator('[data-testid="valid"]').wait_for()
    field.press("Control+Enter")
    first = page.locator('[data-testid="table-shares-users"] tbody tr').first
    expect(first).to_contain_text("REL 800")
    page.get_by_label("add a slider").select_option("user.LINUX1.relative")
    slider = page.locator('[data-testid="sliders"] input[type="range"]')
    slider.focus()
    page.keyboard.press("Home")
    expect(first).to_contain_text("REL 1")
    ready(page, "lab")
    solved = first.inner_text()
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    ready(page, "lab")
    assert "relative = 800" in page.locator("#scenario-text").input_value()
    assert page.locator('[data-testid="table-shares-users"] tbody tr').first.inner_text() == solved


def a_sweep_is_drawn(page: Page) -> None:
    page.get_by_label("sweep a key over a range").fill("class.users.customers=1:20")
    page.get_by_role("button", name="Sweep", exact=True).click()
    expect(page.locator('[data-testid="table-queueing-sweep"]')).to_contain_text("20 rows")
    expect(page.locator('[data-testid="chart-queueing-0"] canvas')).to_be_visible()


def the_laboratory_opens_on_what_this_file_measured(page: Page) -> None:
    """Shows expected and observed for the busiest interval; no text names a command line option."""
    pressed = page.locator('[aria-label="Kind of model"] button[aria-pressed="true"]')
    expect(pressed).to_have_text("Expected and observed")
    expect(page.locator('[data-testid="moment"]')).to_contain_text("which ended 2010-03-09 09:11:00")
    answer = page.locator('[data-testid="answer-expected-partitions"]')
    expect(answer).to_contain_text("ZLDEMO")
    # Without multithreading samples, the multithreading model has nothing to observe.
    models = page.locator("label", has_text="Model").locator("option").all_inner_texts()
    assert models == ["partitions", "shares", "aliases", "capacity"]
    for mode in ("Expected and observed", "What if", "Scenario"):
        page.get_by_role("button", name=mode, exact=True).click()
        ready(page, "lab")
        texts = [page.locator("main").inner_text()]
        texts += [field.get_attribute("placeholder") or "" for field in page.locator("main input").all()]
        assert not [text for text in texts if re.search(r"(^|\s)--\w|KEY=", text)], mode
