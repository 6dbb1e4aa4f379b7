"""Test of the web UI while `zlens live` cannot store new data."""

from __future__ import annotations

from playwright.sync_api import Page, Route, expect

from chromium import opened

FOLLOW = "**/api/v1/follow"


def test_page_says_that_storage_is_blocked(page: Page, address: str) -> None:
    def live(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "live": True})

    def follow(data: str) -> None:
        page.route(
            FOLLOW,
            lambda route: route.fulfill(body=f"retry: 100\n\n{data}", content_type="text/event-stream"),
        )

    page.route("**/api/v1/schema*", live)
    follow('event: storage\ndata: {"blocked": true}\n\n')
    opened(page, address, "overview", system="ZLSIM")
    banner = page.get_by_test_id("blocked")
    expect(banner).to_contain_text("zlens live cannot store new data and waits")
    page.unroute(FOLLOW)
    follow('event: storage\ndata: {"blocked": false}\n\n')
    expect(banner).to_be_hidden()
