"""Tests of what opening a view costs: requests, bytes of the schema, parts that move, what a browser keeps.

Times are measured by `make bench`.
"""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Browser, Page, Request, Route

from chromium import VIEWS, opened, quiet, watched
from iterations import quick_subset

#: Maximum requests of the API for each view of the demo's z/VM system; raise one only for a good reason.
REQUESTS = {
    "overview": 22,
    "findings": 8,
    "fleet": 10,
    "processors": 14,
    "lanes": 12,
    "machine": 14,
    "ledger": 8,
    "cpumf": 11,
    "guests": 12,
    "io": 18,
    "compare": 9,
    "lab": 23,
    "reports": 8,
    "sql": 6,
}
#: Maximum compressed bytes of the schema; the SQL view names all tables.
SCHEMA, COMPLETE_SCHEMA = 20_000, 110_000
#: Adds up the moves of visible parts; those that follow input are expected.
_SHIFTS = """window.moved = [];
new PerformanceObserver((list) => {
  const unexpected = list.getEntries().filter((shift) => !shift.hadRecentInput);
  window.moved.push(...unexpected.map((shift) => [shift.startTime, shift.value]));
}).observe({ type: "layout-shift", buffered: true });"""


def cumulative(shifts: list[tuple[float, float]]) -> float:
    """Return the Cumulative Layout Shift: the largest sum of moves with gaps below 1 s, in at most 5 s."""
    largest = total = first = last = 0.0
    for time, value in shifts:
        if time - last > 1000 or time - first > 5000:
            total, first = 0.0, time
        total, last = total + value, time
        largest = max(largest, total)
    return largest


@pytest.mark.parametrize("view", quick_subset(3, VIEWS), indirect=True)
def test_view_opens_with_few_requests_and_moves(browser: Browser, address: str, view: str):
    finished: list[Request] = []
    with watched(browser, address) as page:
        page.add_init_script(_SHIFTS)
        page.on("requestfinished", lambda request: finished.append(request))
        opened(page, address, view, system="ZLSIM")
        # The progress of a long request is requested repeatedly, and problems when nothing else is.
        later = ("/api/v1/running", "/api/v1/problems")
        api_requests = [
            one for one in finished if "/api/v1/" in one.url and not any(map(one.url.count, later))
        ]
        schemas = [request for request in api_requests if "/api/v1/schema" in request.url]
        # The subjects of a view of guests are known only with the first part.
        assert len(schemas) == (2 if view == "guests" else 1), [request.url for request in schemas]
        size = sum(request.sizes()["responseBodySize"] for request in schemas)
        assert 1_000 < size < (COMPLETE_SCHEMA if view == "sql" else SCHEMA)
        assert len(api_requests) <= REQUESTS[view], "\n".join(request.url for request in api_requests)
        assert cumulative(page.evaluate("window.moved")) < 0.1, page.evaluate("window.moved")


@pytest.mark.parametrize("view", quick_subset(1, ["cpumf", "io", "processors"]))
def test_view_of_zos_moves_little(browser: Browser, address: str, view: str):
    with watched(browser, address) as page:
        page.add_init_script(_SHIFTS)
        opened(page, address, view, system="ZLZ1")
        assert cumulative(page.evaluate("window.moved")) < 0.1, page.evaluate("window.moved")


def test_browser_keeps_schema_and_static_files(browser: Browser, address: str):
    with watched(browser, address) as page:
        opened(page, address, "findings", system="ZLSIM")
        page.goto("about:blank")
        opened(page, address, "findings", system="ZLSIM")
        kept = page.evaluate(
            """performance.getEntriesByType("resource").map((one) => [one.name, one.transferSize])"""
        )
    sizes = {url.rpartition("/")[2].partition("?")[0]: size for url, size in kept}
    # Files are not requested at all, and of the schema only whether it has changed.
    assert (sizes["app.js"], sizes["app.css"]) == (0, 0)
    assert 0 < sizes["schema"] < 1_000


def measure_of(request: Request) -> str:
    """Return the measure that a request aggregates, or the last part of its address."""
    path = request.url.partition("?")[0].rpartition("/")[2]
    return str(json.loads(request.post_data or "{}")["table"]) if path == "aggregate" else path


def zoom_events(page: Page) -> list[tuple[str, str]]:
    """Zoom in; return which requests were sent and answered, in this order."""
    events: list[tuple[str, str]] = []

    def sent(request: Request) -> None:
        events.append(("sent", measure_of(request)))

    def answered(request: Request) -> None:
        events.append(("answered", measure_of(request)))

    page.on("request", sent)
    page.on("requestfinished", answered)
    # An address typed by the user would scroll to the top.
    page.keyboard.press("+")
    page.wait_for_function("() => Number(document.documentElement.dataset.asking) > 0")
    quiet(page)
    page.remove_listener("request", sent)
    page.remove_listener("requestfinished", answered)
    return events


def test_requests_for_screen_come_first(browser: Browser, address: str):
    with watched(browser, address) as page:
        page.set_viewport_size({"width": 1280, "height": 800})
        opened(page, address, "overview", system="ZLSIM")
        events = zoom_events(page)
        below = page.get_by_test_id("chart-busy")
        assert (below.bounding_box() or {})["y"] > 800
        for name in ("capacity", "peak"):
            assert events.index(("answered", name)) < events.index(("sent", "load"))
        # The charts below the screen are complete all the same.
        assert events.count(("answered", "load")) == events.count(("sent", "load")) > 0
        below.scroll_into_view_if_needed()
        events = zoom_events(page)
        assert events.index(("sent", "load")) < events.index(("answered", "peak"))


def test_scrolled_chart_waits_no_longer(browser: Browser, address: str):
    held: list[Route] = []
    with watched(browser, address) as page:
        page.set_viewport_size({"width": 1280, "height": 800})
        opened(page, address, "overview", system="ZLSIM")
        page.route("**/api/v1/peak?*", lambda route: held.append(route))
        with page.expect_request("**/api/v1/peak?*"):
            page.keyboard.press("+")
        with page.expect_request(lambda request: measure_of(request) == "load"):
            page.get_by_test_id("chart-busy").scroll_into_view_if_needed()
        [peak] = held
        peak.continue_()
        quiet(page)
