"""Test of the web UI while its server is stopped, and after it was started again."""

from __future__ import annotations

import socket
from pathlib import Path

from playwright.sync_api import BrowserContext, Route, expect

from chromium import ready, served

GUESTS = '[data-testid="table-guests"] tbody tr'


def test_page_survives_restart_of_server(context: BrowserContext, demo_folder: Path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    arguments = (str(demo_folder / "zldemo.monwrite"), "--port", port)
    page = context.new_page()
    lost = page.get_by_test_id("lost")
    with served(*arguments) as address:
        page.goto(f"{address}/#/overview")
        ready(page, "overview")
        expect(lost).to_be_hidden()
    # A view that was not opened before has no values, and says none.
    page.get_by_role("link", name="Guests").click()
    expect(lost).to_contain_text("The server has not responded since")
    expect(page.locator("main.stale")).to_be_visible()
    expect(page.locator("main")).not_to_contain_text("0 guests")
    expect(page.get_by_test_id("trouble")).to_have_count(0)
    with served(*arguments):
        expect(lost).to_be_hidden()
        ready(page, "guests")
        expect(page.locator(GUESTS)).to_have_count(8)
        page.get_by_role("link", name="Overview").click()
        ready(page, "overview")


def test_answer_of_proxy_is_error_not_loss(context: BrowserContext, demo_folder: Path):
    """A proxy that gives up on a slow request answers in HTML: the request is not repeated without end."""
    urls: list[str] = []

    def give_up(route: Route) -> None:
        urls.append(route.request.url)
        route.fulfill(status=504, content_type="text/html", body="<h1>Gateway Timeout</h1>")

    with served(str(demo_folder / "zldemo.monwrite")) as address:
        page = context.new_page()
        page.route("**/api/v1/sql", give_up)
        page.goto(f"{address}/#/sql?q=SELECT%201")
        ready(page, "sql")
        expect(page.get_by_test_id("trouble")).to_contain_text("the response was cut, or is not zlens'")
        # Longer than the time after which a lost server is asked again.
        page.wait_for_timeout(2500)
        expect(page.get_by_test_id("lost")).to_be_hidden()
        assert len(urls) == 1
