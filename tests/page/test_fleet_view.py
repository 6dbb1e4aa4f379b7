"""Tests of the fleet view: a searchable, grouped table of all systems, and their findings."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from chromium import opened, ready, served


def test_all_systems_are_searched_grouped_and_opened(page: Page, address: str):
    the_strip_of_one_system_waits_for_the_fleet(page, address)
    view = page.locator('[data-testid="view-fleet"]')
    table = view.get_by_role("region", name="All systems", exact=True)
    expect(table).to_contain_text("ZLDEMO")
    expect(table).to_contain_text("ZLSIM")
    expect(table).to_contain_text("ZLZ1")
    expect(table.locator('[data-cell="series"] polyline').first).to_be_visible()
    view.get_by_role("searchbox", name="Find").fill("zlplex smf")
    expect(view).to_contain_text("1 of 3 systems")
    expect(table).to_contain_text("ZLZ1")
    expect(table).not_to_contain_text("ZLDEMO")
    view.get_by_role("searchbox", name="Find").fill("none like this")
    expect(view).to_contain_text("No system matches.")
    view.get_by_role("searchbox", name="Find").fill("")
    view.get_by_label("Group by").select_option("machine")
    expect(view.get_by_role("region", name="2097-D3E01", exact=True)).to_contain_text("2 systems")
    alone = view.get_by_role("region", name="8561-D3E01", exact=True)
    expect(alone).to_contain_text("1 system")
    alone.get_by_role("cell", name="ZLSIM", exact=True).click()
    ready(page, "overview")
    assert "system=ZLSIM" in page.url


def the_strip_of_one_system_waits_for_the_fleet(page: Page, address: str) -> None:
    done: list[str] = []
    page.on("requestfinished", lambda request: done.append(request.url))
    requested: list[bool] = []
    page.on(
        "request",
        lambda request: (
            requested.append(any("/fleet?" in url for url in done))
            if request.url.endswith("/aggregate")
            else None
        ),
    )
    with page.expect_request("**/aggregate"):
        opened(page, address, "fleet")
    assert requested == [True]
    expect(page.get_by_test_id("strip").locator("canvas, svg").first).to_be_visible()


def test_wide_input_requests_findings_of_one_system(page: Page, address: str):
    def many(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json=answer.json() | {"wide": True})

    page.route("**/api/v1/schema*", many)
    urls: list[str] = []
    page.on(
        "request", lambda request: urls.append(request.url) if "/findings/stream" in request.url else None
    )
    opened(page, address, "overview")
    first, second = urls
    # Sent before the number of systems is known.
    assert "few=true" in first
    assert "system=ZLDEMO" in second


def test_machines_trends_and_findings_of_all_systems(page: Page, address: str):
    opened(page, address, "fleet", by="machine")
    # A machine shows its partitions over time.
    machine = page.get_by_role("region", name="2097-D3E01", exact=True)
    expect(machine.get_by_test_id("chart-partitions-2097-D3E01-CP")).to_contain_text("ZLZOS")
    expect(machine.get_by_test_id("chart-partitions-2097-D3E01-IFL")).to_contain_text("ZLDEMO")
    opened(page, address, "fleet", find="zldemo")
    trends_by_shift_are_of_the_systems_shown(page)
    findings = page.get_by_role("region", name="findings of all systems")
    expect(findings).to_contain_text("critical findings and warnings")
    expect(findings.get_by_role("listitem").filter(has_text="ZLSIM")).to_have_count(0)
    findings.get_by_role("button").filter(has_text="VARY OFF while busy").click()
    ready(page, "findings")
    assert "system=ZLDEMO" in page.url
    assert "rule=CPU-014" in page.url
    expect(page.get_by_role("article")).to_contain_text("VARY OFF while busy")


def trends_by_shift_are_of_the_systems_shown(page: Page) -> None:
    trends = page.get_by_role("region", name="trends of all systems")
    months = trends.get_by_role("region", name="Hours by month", exact=True)
    expect(months).to_contain_text("2010-03")
    expect(months).not_to_contain_text("ZLSIM")
    shifts = trends.get_by_label("Shifts")
    shifts.fill("early=08:00-09:00; late=09:00-10:00")
    shifts.press("Enter")
    expect(months).to_contain_text("early")
    expect(months).to_contain_text("late")
    assert "shifts=early" in page.url


@pytest.mark.long
def test_cluster_members_are_shown(browser: Browser, demo_folder: Path, tmp_path: Path):
    groups = tmp_path / "groups.toml"
    groups.write_text('[cluster]\n"ZLDEMO" = "SITE"\n"ZLSIM" = "SITE"\n')
    files = (str(demo_folder / name) for name in ("sim.monwrite", "zldemo.monwrite"))
    with served(*files, "--group", str(groups)) as address:
        page = browser.new_page()
        opened(page, address, "fleet", by="cluster")
        site = page.get_by_role("region", name="SITE", exact=True)
        expect(site).to_contain_text("2 systems")
        guests = site.get_by_role("region", name="Guests by name across members, SITE", exact=True)
        both = guests.get_by_role("row").filter(has=page.get_by_role("cell", name="TCPIP", exact=True))
        expect(both.get_by_role("cell").nth(2)).to_have_text("2")
        volumes = site.get_by_role("region", name="Volumes by device busy of all members, SITE", exact=True)
        expect(volumes.get_by_role("row").nth(1)).to_contain_text("LNX003")
        page.close()
