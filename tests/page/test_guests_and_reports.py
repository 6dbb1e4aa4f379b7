"""Tests of guests, workloads, reports and the console, compared with the output of the commands."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from chromium import opened, ready
from patience import until
from ui_comparison import (
    as_shown,
    chart_rows,
    console,
    copied,
    copied_rows,
    digits,
    pasted,
    printed,
    query_objects,
    running,
    set_to,
)

GUESTS = '[data-testid="table-guests"]'
OWNERS = '[data-testid="chart-owners"]'
#: A join that runs for hours.
SLOW = "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range * b.range = 7"


def column(table: Locator, heading: str) -> list[str]:
    """Return the cells below the first heading with this prefix, except sparklines."""
    heads = [text.split("\n")[0].strip() for text in table.locator("th").all_inner_texts()]
    at = next(n for n, text in enumerate(heads) if text.startswith(heading) and "over time" not in text)
    rows = table.locator("tbody tr:not([aria-hidden])").all()
    return [row.locator("td").nth(at).inner_text().strip() for row in rows]


def sorted_by(table: Locator, heading: str) -> None:
    table.locator("th").get_by_role("button", name=re.compile(f"^{re.escape(heading)}")).first.click()


@pytest.mark.long
def test_guests_by_table_series_and_owner(page: Page, address: str, demo: Path):
    opened(page, address, "guests", system="ZLSIM")
    the_table_is_that_of_the_program(page, demo)
    a_click_on_a_legend_hides_a_state_in_every_bar(page)
    guests_are_sorted_and_found(page)
    a_guest_is_opened_with_its_courses(page, demo)
    owners_are_gone_into_by_click_and_by_keyboard(page, demo)
    shares_are_compared_with_what_was_used_on_request(page, demo)


def the_table_is_that_of_the_program(page: Page, demo: Path) -> None:
    """Every number equals that of `zlens sql`, rounded; the sums also that of a separate query."""
    program = {
        str(row["userid"]): row
        for row in query_objects(demo / "sim.monwrite", copied(page, "guests", "Copy SQL"))
    }
    table = page.locator(GUESTS)
    names = column(table, "Guest")
    assert len(names) == len(program) == 12
    keys = {
        "CPU raw": "cpu_s_total",
        "Of busy": "cpu_s_share",
        "MT-1": "mt1_s_total",
        "Prorated": "prorated_s_total",
        "p95": "cpu_pct_p95",
        "T/V": "tv_mean",
        "CPU wait": "cpu_wait_pct_mean",
        "Dispatch wait": "dispatch_wait_s_total",
        "Pages read": "page_read_rate_mean",
        "Pages written": "page_write_rate_mean",
        "Virtual I/O": "virtual_io_rate_mean",
    }
    for heading, key in keys.items():
        assert as_shown(column(table, heading), [program[name][key] for name in names]), heading
    mebibytes = [float(program[name]["resident_pages_max"]) / 256 for name in names]
    assert as_shown(column(table, "Resident, max"), mebibytes)
    assert column(table, "Share") == [
        f"{program[name]['share_kind_last']} {program[name]['share_last']:,g}" for name in names
    ]
    own = printed(
        "sql",
        str(demo / "sim.monwrite"),
        "-q",
        "SELECT userid, sum(cpu_s) cpu, sum(mt1_s) mt1, sum(prorated_s) prorated, max(cpu_pct) most "
        "FROM guest GROUP BY userid",
    )
    cells = {line.split()[0]: line.split()[1:] for line in own.splitlines()[2:]}
    for at, heading in enumerate(("CPU raw", "MT-1", "Prorated")):
        assert as_shown(column(table, heading), [cells[name][at] for name in names])
    # All three times differ, because the threads of a core are shared.
    assert column(table, "CPU raw") != column(table, "MT-1") != column(table, "Prorated")


def a_click_on_a_legend_hides_a_state_in_every_bar(page: Page) -> None:
    bars = page.locator('[data-testid="table-guests"] svg')
    running = bars.locator("rect.running")
    count = running.count()
    assert count > 5
    color = running.first.get_attribute("fill")
    waiting = bars.locator("rect.idle, rect.dormant").first
    before = float(waiting.get_attribute("x") or 0)
    entry = page.get_by_role("list", name="states").get_by_role("button", name="running")
    entry.click()
    expect(running).to_have_count(0)
    assert float(waiting.get_attribute("x") or 0) < before
    entry.click()
    expect(running).to_have_count(count)
    assert running.first.get_attribute("fill") == color


def guests_are_sorted_and_found(page: Page) -> None:
    table = page.locator(GUESTS)
    used = [float(one.replace(",", "")) for one in column(table, "CPU raw")]
    assert used == sorted(used, reverse=True)
    sorted_by(table, "Guest")
    names = column(table, "Guest")
    assert names == sorted(names)
    sorted_by(table, "Guest")
    assert column(table, "Guest") == names[::-1]
    set_to(page, "sort", "-userid")
    # One sparkline and one state bar per row.
    expect(table.locator('tbody td svg[aria-label*="up to"]')).to_have_count(12)
    expect(table.locator('tbody td svg[role="img"]:not([aria-label*="up to"])')).to_have_count(12)
    page.locator("#find").fill("linux0?")
    assert column(table, "Guest") == [name for name in names[::-1] if name.startswith("LINUX")]
    expect(page.locator(".sum")).to_contain_text("8 of 12 guests")
    page.locator("#find").fill("tcp")
    assert column(table, "Guest") == ["TCPIP"]
    # The link contains all settings.
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    ready(page, "guests")
    assert column(table, "Guest") == ["TCPIP"]
    page.locator("#find").fill("")


def a_guest_is_opened_with_its_courses(page: Page, demo: Path) -> None:
    row = page.locator(f"{GUESTS} tbody tr").filter(has_text="LINUX03")
    row.focus()
    page.keyboard.press("Enter")
    ready(page, "guests")
    set_to(page, "user", "LINUX03")
    detail = page.get_by_test_id("detail")
    for name in ("cpu", "times", "dispatch-wait", "paging", "storage", "vcpus"):
        expect(detail.locator(f'[data-testid="chart-guest-{name}"] .u-over')).to_be_visible()
    expect(detail.locator('[data-testid="chart-guest-waits"] canvas')).to_be_visible()
    program = query_objects(
        demo / "sim.monwrite",
        "SELECT cpu_pct, mt1_pct, prorated_pct FROM guest WHERE userid = 'LINUX03' ORDER BY interval_end",
    )
    times = chart_rows(page, "guest-times")
    assert len(times) == len(program) == 60
    for shown, expected in zip(times, program, strict=True):
        pairs = (("Raw", "cpu_pct"), ("MT-1 equivalent", "mt1_pct"), ("Prorated core time", "prorated_pct"))
        assert [shown[name] for name, _ in pairs] != [""] * 3
        for name, key in pairs:
            value = expected[key]
            exact = None if value is None else pytest.approx(value, rel=1e-14)
            assert (float(shown[name]) if shown[name] else None) == exact
    processors = chart_rows(page, "guest-vcpus")
    assert {"vCPU 0", "vCPU 1", "vCPU 2", "vCPU 3"} <= processors[0].keys()
    detail.get_by_role("button", name="Close").click()
    expect(detail).to_have_count(0)
    set_to(page, "user", None)
    page.go_back()
    ready(page, "guests")
    expect(detail.get_by_role("heading", name="LINUX03", exact=True)).to_be_visible()


def owners_are_gone_into_by_click_and_by_keyboard(page: Page, demo: Path) -> None:
    canvas = page.locator(f"{OWNERS} canvas")
    canvas.scroll_into_view_if_needed()

    def press(row: int) -> None:
        box = canvas.bounding_box()
        assert box
        page.mouse.click(box["x"] + 30, box["y"] + 30 * row + 15)

    press(1)
    set_to(page, "owner", "LINUX")
    press(2)
    set_to(page, "owner", "LINUX/LINUX01")
    trail = page.get_by_role("navigation", name="owner")
    expect(trail).to_contain_text("LINUX01")
    # A click on a parent opens it.
    press(1)
    set_to(page, "owner", "LINUX")
    trail.get_by_role("button", name="ZLSIM").click()
    set_to(page, "owner", None)
    page.locator(f'{OWNERS} [tabindex="0"]').focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    hover = page.get_by_test_id("hover")
    expect(hover).to_contain_text("LINUX / LINUX01")
    [total] = query_objects(
        demo / "sim.monwrite", "SELECT sum(cpu_s) AS s FROM guest WHERE userid = 'LINUX01'"
    )
    seconds = float(re.search(r"([0-9.]+)\ss\b", hover.inner_text().replace(",", ""))[1])  # type: ignore[index]
    assert seconds == pytest.approx(float(str(total["s"])), rel=1e-5)
    page.keyboard.press("Enter")
    set_to(page, "owner", "LINUX/LINUX01")
    page.locator(OWNERS).get_by_role("combobox", name=re.compile("^Time")).select_option("prorated_s")
    ready(page, "guests")
    [total] = query_objects(demo / "sim.monwrite", "SELECT sum(prorated_s) AS s FROM guest")
    all_of_it = next(row for row in chart_rows(page, "owners") if row["level"] == "0")
    assert float(all_of_it["prorated_s"]) == pytest.approx(float(str(total["s"])), rel=1e-9)


def shares_are_compared_with_what_was_used_on_request(page: Page, demo: Path) -> None:
    expect(page.get_by_test_id("table-expected")).to_have_count(0)
    page.get_by_label("Interval", exact=True).select_option("busiest")
    table = page.get_by_test_id("table-expected")
    expect(table).to_be_visible(timeout=60_000)
    ready(page, "guests")
    answer = json.loads(printed("solve", "shares", "--from", str(demo / "sim.monwrite"), "--format", "json"))
    program = answer["tables"]["compared"]["rows"]
    rows = copied_rows(page, "expected")
    assert [row["name"] for row in rows] == [row["name"] for row in program]
    for key in ("expected", "observed", "error"):
        assert [float(row[key]) for row in rows] == [row[key] for row in program]
        assert column(table, key.capitalize()) == [digits(row[key], 1) for row in program]


@pytest.mark.long
def test_workloads_and_jobs_of_zos(page: Page, address: str, demo: Path):
    opened(page, address, "workloads", system="ZLZ1")
    table = page.get_by_test_id("table-workloads")
    query = (
        "SELECT class, sum(cp_s) AS cp_s, max(performance_index) AS pi FROM workload "
        "WHERE class_kind = 'service' AND flag IS NULL GROUP BY class, period ORDER BY cp_s DESC"
    )
    program = query_objects(demo / "zlzos.smf", query)
    assert column(table, "Class") == [row["class"] for row in program]
    assert as_shown(column(table, "CP"), [row["cp_s"] for row in program])
    assert as_shown(column(table, "PI, max"), [row["pi"] for row in program])
    table.locator("tbody tr").filter(has_text="DB2HI").click()
    ready(page, "workloads")
    set_to(page, "user", "DB2HI|service|1")
    index = [row["Index"] for row in chart_rows(page, "workload-index")]
    expected = query_objects(
        demo / "zlzos.smf",
        "SELECT performance_index AS pi FROM workload WHERE class = 'DB2HI' ORDER BY interval_end",
    )
    assert [float(one) if one else None for one in index] == [row["pi"] for row in expected]
    # Report classes are not added to service classes: they count the same work.
    page.get_by_label("Records", exact=True).select_option("report")
    ready(page, "workloads")
    assert "RCICS" in column(table, "Class")
    assert "CICSHI" not in column(table, "Class")
    # Interval records are combined; records of ended jobs and steps stay separate.
    opened(page, address, "workloads", system="ZLZ1", of="job")
    table = page.get_by_test_id("table-jobs")
    kinds = {
        "interval": "kind IN ('interval', 'last interval', 'system interval')",
        "job": "kind = 'job'",
        "step": "kind = 'step'",
    }
    expected = {}
    for records, condition in kinds.items():
        page.get_by_label("Records", exact=True).select_option(records)
        set_to(page, "records", records)
        ready(page, "workloads")
        query = (
            f"SELECT job, sum(cp_s) AS cp_s FROM job WHERE {condition} GROUP BY job, job_id ORDER BY 2 DESC"
        )
        expected[records] = query_objects(demo / "zlzos.smf", query)
        if expected[records]:
            expect(table).to_be_visible()
            assert as_shown(column(table, "CP"), [row["cp_s"] for row in expected[records]])
        else:
            expect(page.get_by_text("No data in this window.")).to_be_visible()
    page.get_by_label("Records", exact=True).select_option("interval")
    set_to(page, "records", "interval")
    ready(page, "workloads")
    [row, *_] = expected["interval"]
    table.locator("tbody tr").filter(has_text=str(row["job"])).first.click()
    ready(page, "workloads")
    used = [float(one["CP"]) for one in chart_rows(page, "job-seconds") if one["CP"]]
    assert sum(used) == pytest.approx(float(str(row["cp_s"])))


def bare(report: str) -> str:
    """Return a report without its run time."""
    return re.sub(r"Run \d{4}/\d\d/\d\d \d\d:\d\d:\d\d", "Run", report)


def cells(text: str) -> list[list[float | str]]:
    """Return CSV rows with numbers as floats."""

    def cell(word: str) -> float | str:
        try:
            return float(word)
        except ValueError:
            return word

    return [[cell(word) for word in line] for line in csv.reader(io.StringIO(text))]


@pytest.mark.long
def test_report_view_equals_cli(page: Page, address: str, demo: Path):
    for name, file, system in (
        ("prclog", "zldemo.monwrite", "ZLDEMO"),
        ("workload", "zlzos.smf", "ZLZ1"),
        ("user", "sim.monwrite", "ZLSIM"),
    ):
        opened(page, address, "reports", system=system, name=name)
        a_report_is_that_of_the_command(page, name, demo / file)
    page.locator("#only").fill("LINUX0*")
    page.wait_for_url(re.compile(r"only=LINUX0\*"))
    ready(page, "reports")
    shown = page.get_by_test_id("report-text").text_content() or ""
    assert "BATCH1" not in shown
    assert bare(shown) == bare(printed("report", "user", str(demo / "sim.monwrite"), "--only", "LINUX0*"))


def a_report_is_that_of_the_command(page: Page, name: str, file: Path) -> None:
    output = printed("report", name, str(file))
    shown = page.get_by_test_id("report-text").text_content() or ""
    assert bare(shown) == bare(output)
    assert len(output.splitlines()) > 10
    page.get_by_role("button", name="Copy text").click()
    expect(page.get_by_role("status").filter(has_text="text copied")).to_be_visible()
    assert bare(pasted(page)) == bare(output)
    page.locator("section[aria-label=Report] > header").get_by_role("button", name="Copy CSV").click()
    expect(page.get_by_role("status").filter(has_text="CSV copied")).to_be_visible()
    # The last digits of a sum depend on the order of the threads.
    lines = cells(printed("report", name, str(file), "--format", "csv"))
    for shown, line in zip(cells(pasted(page)), lines, strict=True):
        assert [one for one in shown if isinstance(one, str)] == [one for one in line if isinstance(one, str)]
        assert [one for one in shown if isinstance(one, float)] == pytest.approx(
            [one for one in line if isinstance(one, float)], rel=1e-9
        )


def test_report_is_searched_opened_and_sorted(page: Page, address: str, demo: Path):
    opened(page, address, "reports", system="ZLSIM")
    names = page.locator(".report .name")
    everything = names.count()
    page.keyboard.press("/")
    page.keyboard.type("paging")
    expect(names).not_to_have_count(everything)
    found = names.all_inner_texts()
    assert {"paging", "upage"} <= set(found)
    assert "user" not in found
    page.locator(".report").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    ready(page, "reports")
    set_to(page, "name", found[1])
    page.locator("#find-report").fill("fcx112")
    assert names.all_inner_texts() == ["user"]
    page.locator("#find-report").fill("nothing is called so")
    expect(page.locator("aside[aria-label=Reports]")).to_contain_text("No report matches this search.")
    # Reports without data are listed on request.
    page.locator("#find-report").fill("")
    page.get_by_label("Include reports without data").check()
    assert names.count() > everything
    opened(page, address, "reports", system="ZLSIM", name="user", **{"as": "tables"})
    table = page.locator('[data-testid^="table-user-"]').first
    name = (table.get_attribute("data-testid") or "").removeprefix("table-")
    sorted_by(table, "TCPU")
    numbers = [float(one.replace(",", "")) for one in column(table, "TCPU")]
    assert len(numbers) == 14
    assert numbers == sorted(numbers, reverse=True)
    rows = copied_rows(page, name)
    used = query_objects(
        demo / "sim.monwrite", "SELECT userid FROM guest GROUP BY userid ORDER BY sum(cpu_s) DESC"
    )
    totals = {">System<", "not attributed"}
    guests = [row["userid"] for row in rows if row["userid"] not in totals]
    assert guests == [row["userid"] for row in used]
    sorted_by(table, "TCPU")
    assert [row["userid"] for row in copied_rows(page, name) if row["userid"] not in totals] == guests[::-1]


def test_console_runs_and_remembers_queries(page: Page, address: str, demo: Path):
    opened(page, address, "sql", system="ZLSIM")
    query = "SELECT userid, sum(cpu_s) AS s FROM guest GROUP BY userid ORDER BY s DESC LIMIT 3"
    page.locator("#query").fill(query)
    page.locator("#query").press("Control+Enter")
    table = page.locator("section[aria-label=Query] [data-testid^=table]")
    expect(page.get_by_test_id("sql-status")).to_contain_text("3 rows in")
    expected = query_objects(demo / "sim.monwrite", query)
    assert [row["userid"] for row in expected] == column(table, "userid")
    set_to(page, "q", query)
    page.locator("#query").fill("SELECT 7 AS seven")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_test_id("sql-status")).to_contain_text("1 row in")
    assert column(table, "seven") == ["7"]
    page.locator("summary", has_text="History").click()
    history = page.locator(".history li button")
    assert history.all_inner_texts() == ["SELECT 7 AS seven", query]
    history.nth(1).click()
    expect(page.get_by_test_id("sql-status")).to_contain_text("3 rows in")
    # A link runs the query again, also for users without history.
    link = page.url
    page.goto("about:blank")
    page.evaluate("0")
    page.goto(link)
    ready(page, "sql")
    assert page.locator("#query").inner_text() == query
    assert column(table, "userid") == [row["userid"] for row in expected]
    # The history survives a reload until it is cleared.
    page.locator("summary", has_text="History").click()
    expect(history).to_have_count(2)
    page.get_by_role("button", name="Clear history").click()
    expect(history).to_have_count(0)
    names_are_completed_and_words_colored(page)
    a_slow_question_is_ended(page, address)


def names_are_completed_and_words_colored(page: Page) -> None:
    field = page.locator("#query")
    field.fill("")
    field.click()
    page.keyboard.type("select use")
    offered = page.locator(".cm-tooltip-autocomplete li")
    # No column is offered yet: the query names no table.
    expect(page.locator(".tok-keyword", has_text="select")).to_be_visible()
    page.keyboard.press("Escape")
    field.fill("SELECT  FROM guest LIMIT 2")
    for _ in range(len(" FROM guest LIMIT 2")):
        page.keyboard.press("ArrowLeft")
    page.keyboard.type("user")
    expect(offered.first).to_contain_text("userid")
    page.wait_for_timeout(100)  # CodeMirror ignores a key pressed immediately.
    page.keyboard.press("Enter")
    expect(field).to_have_text("SELECT userid FROM guest LIMIT 2")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_test_id("sql-status")).to_contain_text("2 rows in")
    # Names clicked in the column list are inserted at the cursor.
    page.locator("#find-column").fill("cpu_pct")
    page.keyboard.press("Tab")
    page.locator(".columns button", has_text=re.compile("^cpu_pct")).first.click()
    expect(field).to_contain_text("userid cpu_pct FROM")


def a_slow_question_is_ended(page: Page, address: str) -> None:
    page.locator("#query").fill(SLOW)
    page.locator("#query").press("Control+Enter")
    cancel = page.get_by_role("button", name="Cancel", exact=True)
    expect(cancel).to_be_enabled()
    until(lambda: [one for one in running(page) if one["what"] == "sql"])
    cancel.click()
    expect(page.get_by_test_id("sql-status")).to_have_text("Canceled")
    until(lambda: not running(page))
    # Leaving the view also cancels the query.
    page.get_by_role("button", name="Run", exact=True).click()
    until(lambda: [one for one in running(page) if one["what"] == "sql"])
    page.get_by_role("link", name="Reports").click()
    ready(page, "reports")
    until(lambda: not running(page))
    # The web UI remains usable.
    page.goto(console(address, "SELECT 1 AS one", system="ZLSIM"))
    expect(page.get_by_test_id("sql-status")).to_contain_text("1 row in")


def test_invalid_query_shows_fix(context: BrowserContext, address: str):
    page = context.new_page()
    page.goto(console(address, "SELECT userid, cpu_sec FROM guest", system="ZLSIM"))
    ready(page, "sql")
    trouble = page.get_by_role("alert")
    expect(trouble).to_contain_text("cpu_sec")
    expect(trouble).to_contain_text("cpu_s")
    place = page.get_by_test_id("sql-place")
    expect(place).to_contain_text("Line 1, column 16")
    page.locator("#query").fill("SELECT *\nFROM gest")
    page.locator("#query").press("Control+Enter")
    expect(place).to_contain_text("Line 2, column 6")
    expect(trouble).to_contain_text("gest")
    expect(trouble).to_contain_text("did you mean guest")
    page.locator("#query").fill("DROP TABLE guest")
    page.locator("#query").press("Control+Enter")
    expect(trouble).to_contain_text("zlens changes no data")
    page.locator("#query").fill("SELECT count(*) AS n FROM guest")
    page.locator("#query").press("Control+Enter")
    expect(trouble).to_have_count(0)
    expect(page.get_by_test_id("sql-status")).to_contain_text("1 row in")
