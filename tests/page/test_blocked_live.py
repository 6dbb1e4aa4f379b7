"""Test of the web UI while `zlens live` cannot store new data."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import BrowserContext, Route, expect

from chromium import PATIENCE, served
from lake_builder import piece, write

FOLLOW = "**/api/v1/follow"


def test_page_says_that_storage_is_blocked(context: BrowserContext, tmp_path: Path) -> None:
    page = context.new_page()

    def live(route: Route) -> None:
        answer = route.fetch(timeout=PATIENCE)
        route.fulfill(response=answer, json={**answer.json(), "live": True})

    def follow(blocked: str) -> None:
        event = f'retry: 100\n\nevent: storage\ndata: {{"blocked": {blocked}}}\n\n'
        page.route(FOLLOW, lambda route: route.fulfill(body=event, content_type="text/event-stream"))

    page.route("**/api/v1/schema*", live)
    follow("true")
    with served(write(tmp_path / "small.data", piece(range(3)))) as address:
        page.goto(f"{address}/#/overview")
        banner = page.get_by_test_id("blocked")
        expect(banner).to_contain_text("zlens live cannot store new data and waits", timeout=PATIENCE)
        page.unroute(FOLLOW)
        follow("false")
        expect(banner).to_be_hidden(timeout=PATIENCE)
