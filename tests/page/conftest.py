"""The page in headless Chromium, over a real `zlens serve`.

Without Chromium these tests are skipped, but not where CI is set: `make browser` installs it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from browsing import CHROMIUM, FLAGS, served, watched


@pytest.fixture(scope="session")
def demo(demo_folder: Path) -> Path:
    return demo_folder


@pytest.fixture(scope="session")
def address(demo: Path) -> Iterator[str]:
    """Where the page over the demo files is."""
    names = ("sim.monwrite", "zldemo.monwrite", "zlzos.smf")
    with served(*(str(demo / name) for name in names)) as found:
        yield found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("there is no Chromium: make browser installs it")
        pytest.skip("there is no Chromium: make browser installs it")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    with watched(browser, address) as page:
        yield page
