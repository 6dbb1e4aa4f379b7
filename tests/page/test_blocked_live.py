"""Test of the web UI while `zlens live` cannot store new data."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import BrowserContext, Route, expect

from chromium import PATIENCE, served
from lake_builder import recording, write


def test_page_says_that_storage_is_blocked(context: BrowserContext, tmp_path: Path) -> None:
    page = context.new_page()

    def live(route: Route) -> None:
        answer = route.fetch(timeout=PATIENCE)
        route.fulfill(response=answer, json={**answer.json(), "live": True})

    blocked = ["true"]

    def follow(route: Route) -> None:
        event = f'retry: 100\n\nevent: storage\ndata: {{"blocked": {blocked[0]}}}\n\n'
        route.fulfill(body=event, content_type="text/event-stream")

    page.route("**/api/v1/schema*", live)
    # Each connection ends after its event, and the page connects again.
    page.route("**/api/v1/follow", follow)
    with served(write(tmp_path / "small.data", recording(range(3)))) as address:
        page.goto(f"{address}/#/overview")
        banner = page.get_by_test_id("blocked")
        expect(banner).to_contain_text("zlens live cannot store new data and waits", timeout=PATIENCE)
        blocked[0] = "false"
        expect(banner).to_be_hidden(timeout=PATIENCE)
