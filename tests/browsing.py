"""A `zlens serve` and a headless Chromium that looks at it."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))),
    None,
)
#: Milliseconds after which an answer is taken for one that never comes; other tests have the machine, too.
PATIENCE = 180_000
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",
)


#: Views of the demo's z/VM system; what an input has nothing for is not in the menu.
VIEWS = (
    "overview",
    "findings",
    "processors",
    "machine",
    "cpumf",
    "guests",
    "io",
    "compare",
    "lab",
    "reports",
    "sql",
)


@contextlib.contextmanager
def served(*arguments: str) -> Iterator[str]:
    """The address of a `zlens serve` of its own."""
    port = () if "--listen" in arguments else ("--port", "0")
    command = [sys.executable, "-m", "zlens", "serve", *arguments, *port]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            said = ""
            for line in process.stdout:
                said += line
                found = re.search(r"http://\S+", line)
                if found:
                    break
            else:
                process.wait()
                pytest.fail(f"zlens serve ended: {said}{process.stderr.read() if process.stderr else ''}")
            yield found[0].rstrip("/")
        finally:
            process.terminate()
            process.communicate(timeout=20)


@contextlib.contextmanager
def watched(browser: Browser, address: str, **how: object) -> Iterator[Page]:
    """A page in a context of its own; at the end nothing may have gone wrong or elsewhere."""
    context: BrowserContext = browser.new_context(
        viewport=how.pop("viewport", {"width": 1280, "height": 800}),  # type: ignore[arg-type]
        accept_downloads=True,
        reduced_motion="reduce",
        **how,  # type: ignore[arg-type]
    )
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on("console", lambda said: wrong.append(f"console: {said.text}") if said.type == "error" else None)

    def ask(route: Route) -> None:
        # Nothing leaves this machine, not even to the same machine's other ports.
        if urlsplit(route.request.url).netloc != urlsplit(address).netloc:
            wrong.append(f"asked elsewhere: {route.request.url}")
            route.abort()
        else:
            route.continue_()

    context.route(re.compile(r"^https?:"), ask)
    try:
        yield page
    finally:
        context.close()
    assert not wrong, wrong


def opened(page: Page, address: str, view: str, shown: str | None = None, **settings: str | float) -> None:
    """Go to a view and wait until all its questions are answered, or those of the one that is `shown`."""
    words = "&".join(f"{key}={value}" for key, value in settings.items())
    page.goto(f"{address}/#/{view}{'?' + words if words else ''}")
    ready(page, shown or view)


def ready(page: Page, view: str) -> None:
    """Until the view and all around it have their answers."""
    page.wait_for_selector(f'[data-testid="view-{view}"][data-ready="true"]', timeout=PATIENCE)
    page.wait_for_function(
        """() => {
            const quiet = document.documentElement.dataset.asking === "0"
                && document.querySelector("main [data-ready=true]") !== null;
            const now = performance.now();
            if (!quiet) window.quietSince = undefined;
            else window.quietSince ??= now;
            return quiet && now - window.quietSince > 150;
        }""",
        timeout=PATIENCE,
    )
