"""Tests of a system with several sources: one is shown, the other can be selected."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from chromium import ready, served
from samples import needs, sample
from zlens import demo

ROWS = '[data-testid="table-processors"] tbody tr'


def processors(page: Page) -> int:
    ready(page, "processors")
    expect(page.locator(ROWS).first).to_be_visible()
    return page.locator(ROWS).count()


@pytest.mark.long
def test_one_source_is_shown_and_other_selectable(context: BrowserContext, demo_folder: Path):
    names = [str(demo_folder / name) for name in (demo.SMF_NAME, demo.RMF_NAME)]
    page = context.new_page()
    with served(*names, "--tz", "+01:00") as address:
        page.goto(f"{address}/#/processors?system=ZLZ1")
        # Three processors, not three per source.
        assert processors(page) == 3
        choice = page.get_by_label("Source", exact=True)
        expect(choice).to_have_value("smf")
        assert choice.locator("option").all_inner_texts() == ["smf", "rmf-xml"]
        with page.expect_response("**/api/v1/aggregate"):
            choice.select_option("rmf-xml")
        assert processors(page) == 3
        assert "source=rmf-xml" in page.url
        # Without multithreading, there are no threads.
        expect(page.locator('[data-testid="table-processors"] th', has_text="Thread ID")).to_have_count(0)
        page.goto(f"{address}/#/processors?system=ZLZ1&cpu=1")
        expect(page.locator('[data-testid="chart-processor"] h2')).to_contain_text("CPU 1, CP, Vh")
        # Data that only the records contain is also shown with source rmf-xml.
        page.goto(f"{address}/#/cpumf?system=ZLZ1&source=rmf-xml")
        ready(page, "cpumf")
        expect(page.get_by_text("CPI").first).to_be_visible()
    with served(names[0]) as address:
        page.goto(f"{address}/#/processors?system=ZLZ1")
        assert processors(page) == 3
        expect(page.get_by_label("Source", exact=True)).to_have_count(0)


@pytest.mark.long
def test_unknown_zone_of_a_source_does_not_change_others(context: BrowserContext, demo_folder: Path):
    """RMF's XML has local times without a zone: its hour is not an hour after that of SMF."""
    names = [str(demo_folder / name) for name in (demo.SMF_NAME, demo.RMF_NAME)]
    page = context.new_page()
    with served(*names) as address:
        page.goto(f"{address}/#/machine?system=ZLZ1")
        ready(page, "machine")
        window, about = page.get_by_test_id("window"), page.locator(".about")
        expect(window).to_contain_text("2010-03-09 08:30:00 to 2010-03-09 09:30:00 (60 min)")
        expect(about).to_contain_text("UTC+01:00")
        # SMF recorded minutes; the four quarters of the report are not among them.
        expect(page.get_by_text("of 60")).to_be_visible()
        page.get_by_label("Source", exact=True).select_option("rmf-xml")
        expect(about).to_contain_text("local time, time zone unknown")
        expect(window).to_contain_text("2010-03-09 08:30:00 to 2010-03-09 09:30:00 (60 min)")
        expect(page.get_by_text("of 4")).to_be_visible()


RMF = sample("rmf")


@needs(RMF)
def test_findings_of_two_sources_are_separate(context: BrowserContext):
    names = ("rmf-postprocessor-cpu-8562-z15.xml", "rmf-monitor3-cpc.xml")
    with served(*(str(RMF / name) for name in names)) as address:
        page = context.new_page()
        page.goto(f"{address}/#/findings?rule=LPAR-003")
        ready(page, "findings")
        subjects = page.locator('[aria-label="Subjects"] button')
        expect(subjects).to_have_count(2)
        expect(subjects.nth(1)).to_contain_text("partition KVMOCP2 IFL, rmf3-xml")
        subjects.nth(1).click()
        expect(page.locator("article dl")).to_contain_text("RPRT, partition KVMOCP2 IFL, rmf3-xml")
        page.goto(f"{address}/#/overview")
        ready(page, "overview")
        # The report prints these times; only the other source has a zone.
        expect(page.locator('[data-testid="happened"]')).to_contain_text("2022-04-11 19:00:00 to 19:30:00")


@needs(RMF)
def test_consecutive_sources_are_drawn_once(context: BrowserContext):
    """The second file begins where the first one ends: one line of each type of processor."""
    names = ("rmf-postprocessor-cpu-8562-z15.xml", "rmf-monitor3-cpc.xml")
    with served(*(str(RMF / name) for name in names), "--tz=-04:00") as address:
        page = context.new_page()
        page.goto(f"{address}/#/overview")
        ready(page, "overview")
        legend = page.locator('[data-testid="chart-machine"]')
        expect(legend).to_contain_text("IFL")
        expect(legend).not_to_contain_text("rmf")
