"""Tests of the rig view: verdicts, expected and observed values over time, and runs opened in other views."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import rig_samples
import zlens
from chromium import served, watched

OFF = """
[[control]]
name = "the same"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rig")
    runs = path / "runs"
    files = [rig_samples.write(path), rig_samples.write(path, rig_samples.EQUAL + OFF, "blind")]
    # One process: a second one would import all modules again, which takes longer than the runs.
    zlens.run_rig(files, str(runs), jobs=1)
    (runs / "blind" / "1.data").unlink()
    return runs


@pytest.fixture(scope="module")
def rig(folder: Path) -> Iterator[str]:
    with served("--rig", str(folder)) as address:
        yield address


@pytest.fixture
def page(browser: Browser, rig: str) -> Iterator[Page]:
    with watched(browser, rig.partition("#")[0].rstrip("/")) as page:
        page.goto(rig)
        page.wait_for_selector('[data-testid="view-rig"][data-ready="true"]')
        yield page


@pytest.mark.long
def test_rig_view_shows_results_series_and_runs(page: Page):
    results_are_listed_and_a_failure_is_shown_first(page)
    expected_stands_beside_observed_over_time(page)
    a_run_opens_in_the_other_views_and_closes(page)


def results_are_listed_and_a_failure_is_shown_first(page: Page) -> None:
    expect(page.get_by_role("status").first).to_contain_text("1 of 2 scenarios as expected")
    rows = page.locator('[data-testid="table-rig"] tbody tr')
    assert [row.locator("td").nth(3).inner_text().strip() for row in rows.all()] == [
        "not as expected",
        "as expected",
    ]
    shown = page.locator('[data-testid="scenario-blind"]')
    expect(shown).to_contain_text("passes, so the rig would not detect this error")
    expect(shown).to_contain_text("Source: A publication, page 1 (derived)")
    rows.nth(1).click()
    expect(page.locator('[data-testid="scenario-equal"]')).to_be_visible()


def expected_stands_beside_observed_over_time(page: Page) -> None:
    course = page.locator('[data-testid="scenario-equal"] [data-testid="course"][data-ready="true"]')
    for user in ("A", "B"):
        chart = course.get_by_role("region", name=f"CPU of {user}")
        expect(chart).to_contain_text("Expected")
        expect(chart).to_contain_text("Observed")
    drawn = page.locator('[data-testid="table-rig-numbers"] tbody tr').first
    assert [cell.strip() for cell in drawn.locator("td").all_inner_texts()][3:5] == ["A", "50.00"]


def a_run_opens_in_the_other_views_and_closes(page: Page) -> None:
    page.locator('[data-testid="scenario-equal"]').get_by_role("link", name="open").nth(1).click()
    page.wait_for_selector('[data-testid="view-overview"][data-ready="true"]')
    assert "run=equal%2F2" in page.url
    expect(page.locator('[data-testid="run"]')).to_contain_text("Run equal/2")
    page.get_by_role("navigation").get_by_text("Guests").click()
    page.wait_for_selector('[data-testid="view-guests"][data-ready="true"]')
    assert "run=equal%2F2" in page.url
    expect(page.locator('[data-testid="view-guests"]')).to_contain_text("A")
    page.get_by_role("button", name="Close").first.click()
    page.wait_for_selector('[data-testid="scenario-equal"]')
    assert "run=" not in page.url
    page.go_back()
    page.wait_for_selector('[data-testid="view-guests"][data-ready="true"]')
    expect(page.locator('[data-testid="run"]')).to_contain_text("Run equal/2")


@pytest.mark.long
def test_rig_run_without_data_does_not_open(page: Page):
    runs = page.locator('[data-testid="table-rig-runs"] tbody tr')
    gone = runs.filter(has_text="1").first
    expect(gone.get_by_role("link")).to_have_count(0)
    expect(runs.nth(1).get_by_role("link")).to_have_count(1)
