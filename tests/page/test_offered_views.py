"""Tests of offered views: only those with data; other views and empty windows show a note."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request, expect

import zlens
from chromium import opened, quiet, ready, served, watched


def counters(demo: Path, folder: Path) -> Path:
    """Write a file with only the counters of the demo, SMF type 113."""
    data = (demo / "zlzos.smf").read_bytes()
    records, at = [], 0
    while at < len(data):
        length = int.from_bytes(data[at : at + 2], "big")
        if data[at + 5] == 113:
            records.append(data[at : at + length])
        at += length
    path = folder / "counters.smf"
    path.write_bytes(b"".join(records))
    return path


def exported(folder: Path) -> Path:
    """Write RMF metrics of a machine and of a system."""
    line = (
        'mvs_lpar_actual_msu_h{cpc_id="CPC1",lpar_name="PROD1",line_type="CP"} %d 17000000%d00\n'
        'mvs_lpar_actual_msu_h{cpc_id="CPC1",lpar_name="PROD2",line_type="CP"} 7 17000000%d00\n'
        'mvs_job_cp_eappl_percent{sysname="SYS1",job_name="J",asid_dec="20"} 1.5 17000000%d00\n'
    )
    path = folder / "m3.txt"
    path.write_text("".join(line % (100 + minute, minute, minute, minute) for minute in range(10, 20)))
    return path


def test_system_has_tiles_of_its_data(browser: Browser, demo: Path, tmp_path: Path):
    files = (str(counters(demo, tmp_path)), str(exported(tmp_path)))
    with served(*files) as address, watched(browser, address) as page:
        tiles = page.locator('.tiles [data-testid^="chart-"]')
        # Of a machine from RMF metrics, only the use of its partitions is known over time.
        opened(page, address, "overview", system="CPC1")
        assert [tile.get_attribute("data-testid") for tile in tiles.all()] == ["chart-partition-capacity"]
        expect(page.locator(".tiles")).to_contain_text("MSU/h")
        expect(page.locator(".tiles")).to_contain_text(re.compile("PROD1.*PROD2"))
        # A system in the same input has no such tile.
        opened(page, address, "overview", system="SYS1")
        expect(tiles).to_have_count(0)
        # A system with only counters has tiles of counters.
        opened(page, address, "overview", system="ZLZ1")
        menu = page.locator('nav[aria-label="Views"] a').all_inner_texts()
        assert menu == ["Overview", "Findings", "Fleet", "CPU MF", "Laboratory", "Reports", "SQL"]
        assert [tile.get_attribute("data-testid") for tile in tiles.all()] == [
            "chart-counted-use",
            "chart-cpi",
            "chart-l1mp",
            "chart-rni",
            "chart-problem-state",
        ]
        expect(page.locator('[data-testid="happened"]')).to_have_count(0)
        opened(page, address, "reports", system="ZLZ1")
        names = page.locator("button.report .name").all_inner_texts()
        assert "cpumf" in names
        assert not {"user", "device", "workload", "cplconf"} & {*names}


def test_missing_data_is_stated(page: Page, address: str):
    opened(page, address, "reports", system="ZLZ1", report="user")
    expect(page.locator('[data-testid="no-data"]')).to_have_text(
        re.compile("^ZLZ1 has no data for this report")
    )
    opened(page, address, "reports", system="ZLDEMO", name="user")
    expect(page.locator('[data-testid="no-data"]')).to_have_count(0)
    opened(page, address, "nosuch", "overview", system="NOSUCH")
    notes = page.locator("main .lacking")
    expect(notes.nth(0)).to_have_text(re.compile("^No system named NOSUCH in these inputs. Showing ZL"))
    expect(notes.nth(1)).to_have_text("Unknown view “nosuch”. Showing Overview.")
    opened(page, address, "cpumf", "overview", system="ZLDEMO")
    expect(notes).to_have_text(["ZLDEMO has no data for CPU MF. Showing Overview."])
    opened(page, address, "overview", system="ZLZ1")
    expect(notes).to_have_count(0)


def test_paging_of_zos_has_rates_and_frames(page: Page, address: str):
    opened(page, address, "io", system="ZLZ1")
    for name, legend in (("page-rates", "Page in"), ("frames-available", "Available least")):
        expect(page.locator(f'[data-testid="chart-{name}"]')).to_contain_text(legend)
    expect(page.locator("main")).not_to_contain_text("No data on paging volumes")
    expect(page.locator("main")).to_contain_text("LCU 0040 ALL")


#: 09:05:00 in the time zone of ZLDEMO.
FIVE = 1268121900


@pytest.mark.long
def test_empty_window_links_to_data(page: Page, address: str):
    main = page.locator("main")
    for view in ("overview", "processors", "machine", "guests", "io", "reports"):
        opened(page, address, view, system="ZLDEMO", **{"from": FIVE + 5, "to": FIVE + 10})
        expect(main).to_contain_text("No complete interval in this window. Select a longer one.")
        assert page.locator("main canvas").count() == 0
        page.get_by_role("button", name="Show the next interval, 2010-03-09 09:05:00 to 09:06:00").click()
        ready(page, view)
        expect(page.locator('[data-testid="window"]')).to_contain_text(
            "09:05:00 to 2010-03-09 09:06:00 (60 s)"
        )
        expect(main).not_to_contain_text("No interval ends")
    opened(page, address, "overview", system="ZLDEMO", **{"from": FIVE + 86400, "to": FIVE + 90000})
    page.get_by_role("button", name="Show the last interval, 2010-03-09 09:29:00 to 09:30:00").click()
    ready(page, "overview")
    expect(page.locator('[data-testid="happened"]')).to_contain_text("09:29:00 to 09:30:00")


def test_windows_are_drawn_and_typed(page: Page, address: str):
    # This view does not depend on the window, which moves many times.
    opened(page, address, "findings", system="ZLDEMO")
    windows_snap_to_the_ends_of_intervals(page)
    a_window_in_an_address_snaps_to_the_ends_of_intervals(page, address)
    a_window_is_typed_as_people_write_it(page, address)
    times_are_typed_in_24_hour_form(page, address)
    a_window_that_moves_is_requested_once(page, address)


def windows_snap_to_the_ends_of_intervals(page: Page) -> None:
    strip = page.locator('[data-testid="strip"] canvas').first
    box = strip.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.51, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.757, middle, steps=4)
    page.mouse.up()
    quiet(page)
    text = page.locator('[data-testid="window"]').inner_text()
    assert re.search(r"09:\d\d:00 to 2010-03-09 09:\d\d:00", text), text
    for key in ("+", "+", "+", "+", "+", "+", "]"):
        page.keyboard.press(key)
        quiet(page)
        found = re.search(r"\d\d:\d\d:(\d\d) to 2010-03-09 \d\d:\d\d:(\d\d)", text)
        assert found
        assert found.groups() == ("00", "00")
        before, text = text, page.locator('[data-testid="window"]').inner_text()
    # In the shortest window, a step is one interval.
    assert "(60\N{NO-BREAK SPACE}s)" in text
    assert text != before


def a_window_in_an_address_snaps_to_the_ends_of_intervals(page: Page, address: str) -> None:
    opened(page, address, "findings", system="ZLDEMO", **{"from": FIVE + 17, "to": FIVE + 140})
    expect(page.locator('[data-testid="window"]')).to_contain_text(
        "2010-03-09 09:05:00 to 2010-03-09 09:07:00 (2 min)"
    )
    page.wait_for_url(re.compile(f"from={FIVE}&.*to={FIVE + 120}$"))
    # With only one end in the link, the other is that of the recording.
    opened(page, address, "findings", system="ZLDEMO", **{"from": FIVE + 17})
    page.wait_for_url(re.compile(f"from={FIVE}&"))
    assert "to=" not in page.url


def a_window_that_moves_is_requested_once(page: Page, address: str) -> None:
    opened(page, address, "guests", system="ZLDEMO")
    starts: list[float] = []

    def note(request: Request) -> None:
        if request.url.endswith("/aggregate"):
            starts.append(request.post_data_json["from"])

    page.on("request", note)
    page.evaluate(f"location.hash = '#/guests?system=ZLDEMO&from={FIVE + 17}&to={FIVE + 140}'")
    page.wait_for_url(re.compile(f"from={FIVE}&"))
    quiet(page)
    assert set(starts) == {FIVE}


def a_window_is_typed_as_people_write_it(page: Page, address: str) -> None:
    """Times are in the system's zone, ends in any order; an invalid time is named."""
    window = page.locator('[data-testid="window"]')
    typed = {"from": "2010-03-09T09:05", "to": "2010-03-09 09:07"}
    opened(page, address, "findings", system="ZLDEMO", **typed)
    page.wait_for_url(re.compile(f"from={FIVE}&.*to={FIVE + 120}$"))
    expect(window).to_contain_text("2010-03-09 09:05:00 to 2010-03-09 09:07:00 (2 min)")
    opened(page, address, "findings", system="ZLDEMO", **{"from": FIVE + 120, "to": FIVE})
    page.wait_for_url(re.compile(f"from={FIVE}&.*to={FIVE + 120}$"))
    opened(page, address, "findings", system="ZLDEMO", **{"from": "yesterday"})
    expect(page.locator("main")).to_contain_text(
        "Invalid time in the link: from=yesterday. Expected from=2026-03-02T09:15."
    )
    opened(page, address, "findings", system="ZLDEMO", **{"from": 100, "to": 200})
    expect(window).to_contain_text("The selected window is outside the recording.")
    expect(window).not_to_contain_text("1970")


def times_are_typed_in_24_hour_form(page: Page, address: str) -> None:
    opened(page, address, "compare", system="ZLDEMO")
    field = page.get_by_role("textbox", name="from").first
    expect(field).to_have_value(re.compile(r"^2010-03-09 \d\d:\d\d:\d\d$"))
    field.fill("2010-03-09 08:40")
    field.press("Enter")
    expect(field).to_have_value("2010-03-09 08:40:00")
    field.fill("8:40 PM")
    field.press("Enter")
    expect(field).to_have_value("2010-03-09 08:40:00")


def test_listed_guests_have_no_expected_shares(browser: Browser, demo: Path, tmp_path: Path):
    """USER does not say how busy the processors are: the model of shares would fail."""
    path = tmp_path / "user.lst"
    with zlens.open(str(demo / "sim.monwrite")) as session:
        path.write_text(session.report("user"))
    with served(str(path)) as address, watched(browser, address) as page:
        opened(page, address, "guests")
        expect(page.locator("main")).to_contain_text("LINUX01")
        expect(page.locator("main")).to_contain_text("CPU time by owner")
        expect(page.locator("main")).not_to_contain_text("CPU shares")
        opened(page, address, "lab")
        expect(page.locator("main")).to_contain_text("Scenario")
        expect(page.locator('[role="alert"]')).to_have_count(0)


def test_listing_of_one_time_has_a_window(browser: Browser):
    """IBM's excerpt of CPUMFLOG has one interval of unknown length, and the address has no window."""
    listing = Path(__file__).parents[2] / "docs/published/listings/cpumflog.txt"
    with served(str(listing)) as address, watched(browser, address) as page:
        opened(page, address, "overview")
        window = page.locator('[data-testid="window"]')
        expect(window).to_contain_text("00:46:02")
        expect(window).not_to_contain_text("outside the recording")
