"""Tests of robustness: no requests to other hosts, escaped names, odd links, damaged and removed files."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

import guest_builder
import monwrite_builder as monwrite
import zlens
from chromium import CHROMIUM, FLAGS, opened, quiet, ready, served, watched
from iterations import iterations
from patience import until
from ui_comparison import console, printed, running

SLOW = "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range * b.range = 7"
#: Text that would create elements of this name if parsed as HTML.
# The query editor has images without a source around its hint and in long lines.
GUEST, SYSTEM, ELEMENTS = "<X-A>Y", "<X-B>Z", "x-a, x-b, img:not(.cm-widgetBuffer), script:not([src])"
#: Chromium queries this host of its vendor for every text field, on any site.
AUTOFILL = "https://content-autofill.googleapis.com"


def small(path: Path, minutes: int = 31, **config: str) -> Path:
    """Write a system with a processor and two guests."""
    ends = [monwrite.START_US + number * monwrite.MINUTE_US for number in range(minutes)]
    intervals = [
        monwrite.interval(
            end,
            [
                guest_builder.processor(end, 20.0 * number),
                guest_builder.activity(end, GUEST, 15.0 * number),
                guest_builder.activity(end, "PLAIN", 5.0 * number),
            ],
        )
        for number, end in enumerate(ends)
    ]
    return monwrite.write(
        path, [monwrite.configuration(monwrite.START_US, {**monwrite.SIM_CONFIG, **config}), *intervals]
    )


def test_web_ui_contacts_no_other_host(browser: Browser, address: str, tmp_path: Path):
    """All views are opened; Chromium's own log shows names and connections."""
    log = tmp_path / "net.json"
    assert CHROMIUM is not None
    alone = browser.browser_type.launch(
        executable_path=CHROMIUM, args=[*FLAGS, f"--log-net-log={log}", "--net-log-capture-mode=Default"]
    )
    # Chromium logs a name only if it can resolve it.
    with watched(alone, address) as page:
        urls: list[str] = []
        page.context.on("request", lambda request: urls.append(request.url))
        opened(page, address, "workloads", system="ZLZ1")
        for system in iterations(("ZLSIM", "ZLZ1"), ("ZLSIM",)):
            opened(page, address, "overview", system=system)
            links = [
                link.get_attribute("href") or "" for link in page.locator("nav[aria-label=Views] a").all()
            ]
            for link in links:
                page.goto(f"{address}/{link}")
                ready(page, link.removeprefix("#/").partition("?")[0])
                # No element makes the browser prefetch or connect either.
                assert (
                    page.locator("link[rel*=prefetch], link[rel=preconnect], iframe, object, embed").count()
                    == 0
                )
        page.keyboard.press("?")
        page.keyboard.press("Escape")
    alone.close()
    here = urlsplit(address)
    assert len(urls) > 50
    assert {urlsplit(url).netloc for url in urls if url.startswith("http")} == {here.netloc}
    assert {urlsplit(url).scheme for url in urls} <= {"http", "data", "blob"}
    noted = json.loads(log.read_text(encoding="utf-8"))
    names = {number: name for name, number in noted["constants"]["logEventTypes"].items()}
    resolved, connected = set(), set()
    for event in noted["events"]:
        said = event.get("params", {})
        name = names[event["type"]]
        if name == "HOST_RESOLVER_MANAGER_REQUEST" and "host" in said:
            # The browser's own requests to its vendor belong to no site.
            if "127.0.0.1" in said["network_anonymization_key"] and said["host"] != AUTOFILL:
                resolved.add(said["host"])
        elif name == "TCP_CONNECT_ATTEMPT" and "address" in said:
            connected.add(said["address"])
    assert connected == {here.netloc}
    assert resolved <= {address}


ODD = (
    "#/guests?from=abc&system=%00<script>alert(1)</script>",
    "#/%",
    "#/%E0%A4%A?from=%&to=%E0",
    "#//etc/passwd",
    "#/__proto__?constructor=1&__proto__=2",
    "#/guests?user=%00<script>&owner=%25E0%25A4&sort=-nosuch&by=nosuch&time=nosuch&of=nosuch",
    "#/guests?from=1e400&to=-1e400",
    "#/overview?from=1e300&to=1e301",
    "#/overview?from=1715680000&to=1715670000",
    "#/io?device=%27%3B+DROP+TABLE+guest&from=-9e18&to=9e18",
    "#/machine?in=..%2F..%2F%25&at=NaN",
    "#/processors?cpu=99999999999999999999&what=nosuch&corewhat=__proto__",
    "#/cpumf?cpu=zz&type=%00",
    "#/findings?rule=<img src=x>&classes=nosuch",
    "#/compare?b=x..y&o=1..&bs=nosuch&os=<x-a>",
    "#/lab?model=nosuch&mode=nosuch",
    "#/reports?name=..%2F..%2Fetc%2Fpasswd&only=%00",
    "#/sql?rows=-1&q=%00",
    f"#/sql?q={'x' * 60_000}",
)


@pytest.mark.long
def test_malformed_address_is_harmless(context: BrowserContext, address: str):
    """Odd links are opened in a new page and in an open one."""
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    for number, odd in enumerate(ODD[:: iterations(1, 3)]):
        if number % iterations(1, 4) == 0:
            page.goto("about:blank")
        page.goto(f"{address}/{odd}")
        quiet(page)
        assert not wrong, (odd, wrong)
        assert page.locator(ELEMENTS).count() == 0, odd
        assert "root:" not in page.locator("main").inner_text()
        # The web UI continues from there.
        page.locator("nav[aria-label=Views] a").first.click()
        page.wait_for_selector('[data-testid="view-overview"]', timeout=10_000)
        assert not wrong, (odd, wrong)


def walked(page: Page) -> Iterator[str]:
    """Open every view of the menu in turn."""
    for link in page.locator("nav[aria-label=Views] a").all():
        view = (link.get_attribute("href") or "").removeprefix("#/").partition("?")[0]
        link.click()
        ready(page, view)
        yield view


def test_names_are_escaped_and_deleted_file_is_reported(browser: Browser, tmp_path: Path):
    """The file, the system and a guest have names like tags; the open file stays readable after deletion."""
    path = small(tmp_path / "<x-a>.monwrite", MTRSYS_SYSTMID=SYSTEM)
    with served(str(path)) as tagged, watched(browser, tagged) as page:
        opened(page, tagged, "sql")
        path.unlink()
        page.goto(console(tagged, "SELECT count(DISTINCT userid) AS users FROM guest"))
        expect(page.get_by_test_id("sql-status")).to_contain_text("1 row in")
        menu = page.locator("nav[aria-label=Views] a")
        assert menu.count() > 6
        # One system is not a fleet.
        expect(menu.filter(has_text="Findings")).to_have_count(1)
        expect(menu.filter(has_text="Fleet")).to_have_count(0)
        for view in walked(page):
            assert page.locator(ELEMENTS).count() == 0, view
            assert page.get_by_role("alert").count() == 0, view
        opened(page, tagged, "guests", user="%3CX-A%3EY")
        table = page.get_by_test_id("table-guests")
        expect(table.get_by_role("cell", name=GUEST, exact=True)).to_be_visible()
        expect(page.get_by_test_id("detail").get_by_role("heading", name=GUEST)).to_be_visible()
        # Also checked: the hover text of the owner chart, and exported files.
        page.locator('[data-testid="chart-owners"] canvas').hover(position={"x": 30, "y": 75})
        expect(page.get_by_test_id("hover")).to_contain_text(GUEST)
        with page.expect_download() as waiting:
            page.get_by_role("button", name="Export").click()
        waiting.value.save_as(tmp_path / "view.html")
        owners = page.get_by_test_id("chart-owners")
        owners.locator("summary").click()
        with page.expect_download() as waiting:
            owners.get_by_role("button", name="Save as SVG").click()
        waiting.value.save_as(tmp_path / "owners.svg")
        assert page.locator(ELEMENTS).count() == 0
        page.goto((tmp_path / "view.html").as_uri())
        assert GUEST in page.locator("body").inner_text()
        assert SYSTEM in page.locator("body").inner_text()
        # Its images are embedded.
        assert page.locator("x-a, x-b, script, img:not([src^='data:'])").count() == 0
    tree = ElementTree.parse(tmp_path / "owners.svg")
    assert GUEST in "".join(tree.getroot().itertext())
    assert not [one for one in tree.iter() if "x-" in one.tag.lower()]


def test_result_is_escaped(page: Page, address: str):
    said: list[str] = []
    page.on("dialog", lambda dialog: said.append(dialog.message))
    tag = "<img src=x onerror=alert(1)>"
    page.goto(
        console(
            address,
            f"SELECT '{tag}' AS \"{tag}\", n, now() + INTERVAL 1 HOUR * n AS t FROM range(2) r(n)",
            system="ZLSIM",
        )
    )
    ready(page, "sql")
    assert page.locator("main").inner_text().count(tag) >= 3
    page.locator("summary", has_text="History").click()
    assert page.locator(ELEMENTS).count() == 0
    page.reload()
    ready(page, "sql")
    assert page.locator(ELEMENTS).count() == 0
    assert not said


@pytest.mark.long
def test_truncated_file_is_shown_as_problem(browser: Browser, tmp_path: Path):
    """The rest is shown, with a link in the header to the problems."""
    path = small(tmp_path / "short.monwrite")
    with served(str(path)) as address, watched(browser, address) as page:
        opened(page, address, "sql")
        assert page.get_by_role("link", name="problem").count() == 0
        os.truncate(path, path.stat().st_size // 2)
        page.goto(console(address, "SELECT count(*) AS records FROM d4r3"))
        expect(page.get_by_test_id("sql-status")).to_contain_text("1 row in")
        page.get_by_role("link", name="problem").click()
        expect(page.get_by_test_id("table-sql")).to_contain_text("bytes since it was opened")


@pytest.mark.long
def test_removed_folder_is_shown_as_error(context: BrowserContext, tmp_path: Path):
    lake = tmp_path / "lake"
    printed("import", str(small(tmp_path / "small.monwrite")), "--lake", str(lake))
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    with served(str(lake)) as address:
        opened(page, address, "sql")
        shutil.rmtree(lake)
        page.goto(console(address, "SELECT * FROM d4r3"))
        ready(page, "sql")
        trouble = page.get_by_role("alert")
        expect(trouble).to_contain_text("cannot be read")
        expect(trouble).to_contain_text("zlens lake check shows what is wrong")
        assert str(tmp_path) not in trouble.inner_text()
        # Queries that need no file still run.
        page.locator("#query").fill("SELECT 7 AS seven")
        page.locator("#query").press("Control+Enter")
        expect(page.get_by_test_id("sql-status")).to_contain_text("1 row in")
        assert len([*walked(page)]) > 6
        assert not wrong
    # A stopped server is reported too.
    page.get_by_role("link", name="SQL").click()
    page.locator("#query").fill("SELECT 8 AS eight")
    page.locator("#query").press("Control+Enter")
    expect(page.get_by_test_id("lost")).to_contain_text("Is zlens serve still running?")
    assert not wrong


def test_token_lets_browser_in_once(context: BrowserContext, tmp_path: Path):
    token = "correct-horse-battery-staple"
    (tmp_path / "token").write_text(token)
    (tmp_path / "token").chmod(0o600)
    file = str(small(tmp_path / "small.monwrite"))
    with served(file, "--listen", "127.0.0.1:0", "--token-file", str(tmp_path / "token")) as address:
        page = context.new_page()
        page.goto(f"{address}#/guests?find=P")
        field = page.get_by_label("Token")
        field.fill("wrong")
        page.get_by_role("button", name="Open").click()
        expect(page.get_by_role("alert")).to_have_text("this is not the token")
        assert page.locator("main").count() == 0
        field.fill(token)
        page.get_by_role("button", name="Open").click()
        ready(page, "guests")
        assert page.url.startswith(f"{address}/#/guests?find=P")
        # Scripts cannot read the session cookie.
        assert page.evaluate("document.cookie") == ""
        [cookie] = page.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        assert token not in cookie["value"]
        opened(page, address, "findings")


@pytest.mark.long
def test_two_browsers_cancel_only_their_requests(browser: Browser, page: Page, address: str):
    """Neither waits for, cancels or sees the other's requests."""
    one = page
    with watched(browser, address) as other:
        one.goto(f"{address}/#/overview?system=ZLSIM")
        other.goto(f"{address}/#/overview?system=ZLDEMO")
        for page in (one, other):
            ready(page, "overview")
        assert "zlens-sim" in one.locator('[role="toolbar"]').inner_text()
        assert "zlens-sim" not in other.locator('[role="toolbar"]').inner_text()
        for page in (one, other):
            opened(page, address, "sql", system="ZLSIM")
            page.locator("#query").fill(SLOW)
            page.locator("#query").press("Control+Enter")
        until(lambda: len(running(one)) == 2)
        ids = {str(row["id"]) for row in running(one)}
        one.get_by_role("button", name="Cancel", exact=True).click()
        expect(one.get_by_test_id("sql-status")).to_have_text("Canceled")
        until(lambda: len(running(one)) == 1)
        # The first browser continues; the other still waits for its own request.
        one.locator("#query").fill("SELECT 7 AS seven")
        one.locator("#query").press("Control+Enter")
        expect(one.get_by_test_id("sql-status")).to_contain_text("1 row in")
        [left] = running(other)
        assert left["id"] in ids
        expect(other.get_by_test_id("sql-status")).to_contain_text("s…")
        other.get_by_role("button", name="Cancel", exact=True).click()
        until(lambda: not running(one))


@pytest.mark.long
def test_damaged_input_shows_problem_count(browser: Browser, tmp_path: Path) -> None:
    path = small(tmp_path / "damaged.monwrite")
    data = bytearray(path.read_bytes())
    chance = random.Random(7)
    for _ in range(400):
        data[chance.randrange(len(data))] = chance.randrange(256)
    path.write_bytes(data)
    with zlens.open([path]) as session:
        count = len(session._core.all_problems())
    with served(str(path)) as address, watched(browser, address) as page:
        opened(page, address, "overview")
        expect(page.get_by_role("status").filter(has_text="This input is damaged")).to_be_visible()
        expect(page.get_by_role("link", name=f"{count} problems", exact=True)).to_be_visible()
        page.get_by_role("button", name="List", exact=True).click()
        expect(page.get_by_test_id("table-sql")).to_contain_text(f"{count} rows")
        page.get_by_role("button", name="Hide").click()
        expect(page.get_by_text("This input is damaged")).to_have_count(0)
