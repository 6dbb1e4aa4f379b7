"""A `zlens serve` and a headless Chromium that looks at it."""

from __future__ import annotations

import contextlib
import itertools
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, WebError, expect

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))),
    None,
)
expect.set_options(timeout=60_000)
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
#: Nothing leaves this machine, whatever a page asks for.
HERE_ONLY = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"
#: Pages of a context share a process: the next one finds the page's program compiled.
SHARED = ("--process-per-site", "--renderer-process-limit=1", "--disable-site-isolation-trials")


#: Views of the demo's z/VM system; what an input has nothing for is not in the menu.
VIEWS = (
    "overview",
    "findings",
    "fleet",
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


def in_context(browser: Browser, **how: object) -> BrowserContext:
    """A context of its own: nothing of what others store is seen in it."""
    return browser.new_context(
        viewport=how.pop("viewport", {"width": 1280, "height": 800}),  # type: ignore[arg-type]
        accept_downloads=True,
        reduced_motion="reduce",
        **how,  # type: ignore[arg-type]
    )


@contextlib.contextmanager
def unharmed(context: BrowserContext, address: str) -> Iterator[None]:
    """At the end no page of a context may have gone wrong, or asked elsewhere."""
    wrong: list[str] = []

    def failed(error: WebError) -> None:
        wrong.append(f"error: {error.error}")

    def spoke(said: ConsoleMessage) -> None:
        if said.type == "error":
            wrong.append(f"console: {said.text}")

    def asked(request: Request) -> None:
        # Not even the same machine's other ports.
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https") and parts.netloc != urlsplit(address).netloc:
            wrong.append(f"asked elsewhere: {request.url}")

    context.on("weberror", failed)
    context.on("console", spoke)
    context.on("request", asked)
    try:
        yield
    finally:
        context.remove_listener("weberror", failed)
        context.remove_listener("console", spoke)
        context.remove_listener("request", asked)
    assert not wrong, wrong


@contextlib.contextmanager
def watched(browser: Browser, address: str, **how: object) -> Iterator[Page]:
    """A page in a context of its own; at the end nothing may have gone wrong or elsewhere."""
    context = in_context(browser, **how)
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
    try:
        with unharmed(context, address):
            yield context.new_page()
    finally:
        context.close()


class Window:
    """A context for one test after the other: the next page in it costs half of what a new context does."""

    def __init__(self, browser: Browser, address: str) -> None:
        self.address = address
        self.context = in_context(browser)
        self.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
        #: It keeps Chromium's process for the address alive, and reaches what is stored for it.
        self._keeper = self.context.new_page()
        # Without a picture of its own, Chromium would ask for one some time later.
        self._keeper.route(
            "**/empty",
            lambda route: route.fulfill(content_type="text/html", body='<link rel="icon" href="data:,">'),
        )
        self._keeper.goto(f"{address}/empty")

    @contextlib.contextmanager
    def page(self) -> Iterator[Page]:
        """A new page, watched; it leaves nothing behind."""
        before = self.context.pages
        with unharmed(self.context, self.address):
            try:
                yield self.context.new_page()
            finally:
                for page in self.context.pages:
                    if page not in before:
                        page.close()
                self.context.clear_cookies()
                self._keeper.evaluate("localStorage.clear()")


@contextlib.contextmanager
def window_at(browser: Browser, address: str) -> Iterator[Window]:
    window = Window(browser, address)
    yield window
    window.context.close()


def opened(page: Page, address: str, view: str, shown: str | None = None, **settings: str | float) -> None:
    """Go to a view and wait until all its questions are answered, or those of the one that is `shown`."""
    words = "&".join(f"{key}={value}" for key, value in settings.items())
    page.goto(f"{address}/#/{view}{'?' + words if words else ''}")
    ready(page, shown or view)


def ready(page: Page, view: str) -> None:
    """Until the view and all around it have their answers."""
    page.wait_for_selector(f'[data-testid="view-{view}"][data-ready="true"]', timeout=PATIENCE)
    quiet(page)


#: The calls of `quiet`, so that none counts the frames of an earlier one.
_calls = itertools.count()


def quiet(page: Page) -> None:
    """Until nothing was asked for some frames: what follows from an answer is asked before the next one.

    A machine that is busy draws late, and so this waits longer there.
    """
    page.wait_for_function(
        """call => {
            const quiet = document.documentElement.dataset.asking === "0"
                && document.querySelector("main [data-ready=true]") !== null;
            if (window.quietCall !== call || !quiet) {
                window.quietFrames = 0;
                window.quietSince = performance.now();
            }
            window.quietCall = call;
            window.quietFrames += 1;
            return quiet && window.quietFrames > 3 && performance.now() - window.quietSince > 30;
        }""",
        arg=next(_calls),
        timeout=PATIENCE,
    )


class Views:
    """One page for all tests of all views: it goes to the link of another, or of one that a test left."""

    def __init__(self, window: Window) -> None:
        self.address = window.address
        self.page = window.context.new_page()
        self._at = ""

    def at(self, view: str, *, leaves: bool = False) -> Page:
        """The page at a view as a link opens it; who `leaves` shows something else afterwards."""
        if self._at != view:
            # What the pointer was over explains itself.
            self.page.mouse.move(0, 0)
            opened(self.page, self.address, view, system="ZLSIM")
        self._at = "" if leaves else view
        return self.page
