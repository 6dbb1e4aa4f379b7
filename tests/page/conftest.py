"""Fixtures with the web UI in headless Chromium, over a `zlens serve` process.

These tests are skipped without Chromium, unless CI is set; `make packages` installs it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

import tools
from chromium import CHROMIUM, FLAGS, HERE_ONLY, SHARED, Views, Window, served, unharmed, window_at


@pytest.fixture(scope="session")
def demo(demo_folder: Path) -> Path:
    return demo_folder


@pytest.fixture(scope="session")
def address(demo: Path) -> Iterator[str]:
    """Return the address of a server over the demo files."""
    names = ("sim.monwrite", "zldemo.monwrite", "zlzos.smf")
    with served(*(str(demo / name) for name in names)) as found:
        yield found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    tools.require("chromium", present=CHROMIUM is not None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, HERE_ONLY, *SHARED])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def window(browser: Browser, address: str) -> Iterator[Window]:
    with window_at(browser, address) as window:
        yield window


@pytest.fixture
def page(window: Window) -> Iterator[Page]:
    with window.page() as page:
        yield page


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A context without error checks, because browsers log every error response."""
    context = browser.new_context(reduced_motion="reduce")
    yield context
    context.close()


@pytest.fixture(scope="session")
def opened_views(window: Window) -> Views:
    return Views(window)


@pytest.fixture
def views(opened_views: Views) -> Iterator[Views]:
    with unharmed(opened_views.page.context, opened_views.address):
        yield opened_views


@pytest.fixture(scope="session")
def view(request: pytest.FixtureRequest) -> str:
    """A parameter with session scope: pytest groups the tests of one view, across all files."""
    return str(request.param)
