"""`zlens serve` and a headless Chromium that opens it."""

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
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    Response,
    WebError,
    expect,
)

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))),
    None,
)
expect.set_options(timeout=60_000)
#: Timeout of a response in milliseconds; long because other tests share the machine.
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
#: Pages cannot reach other hosts.
HERE_ONLY = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"
#: Pages of a context share a process, which reuses the compiled program.
SHARED = ("--process-per-site", "--renderer-process-limit=1", "--disable-site-isolation-trials")


#: Views of the demo's z/VM system; the menu omits views without data.
VIEWS = (
    "overview",
    "findings",
    "fleet",
    "processors",
    "lanes",
    "machine",
    "ledger",
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
    """Start a separate `zlens serve` and yield its address."""
    port = () if {"--listen", "--port"} & {*arguments} else ("--port", "0")
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
    """Return a new context, isolated from what others store."""
    return browser.new_context(
        viewport=how.pop("viewport", {"width": 1280, "height": 800}),  # type: ignore[arg-type]
        accept_downloads=True,
        reduced_motion="reduce",
        **how,  # type: ignore[arg-type]
    )


@contextlib.contextmanager
def unharmed(context: BrowserContext, address: str) -> Iterator[None]:
    """Fail at the end if a page of the context had an error or sent a request to another address."""
    wrong: list[str] = []

    def failed(error: WebError) -> None:
        wrong.append(f"error: {error.error}")

    def spoke(said: ConsoleMessage) -> None:
        if said.type == "error":
            wrong.append(f"console: {said.text}")

    def check_request(request: Request) -> None:
        # Other ports of this machine are not allowed either.
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https") and parts.netloc != urlsplit(address).netloc:
            wrong.append(f"asked elsewhere: {request.url}")

    def responded(response: Response) -> None:
        # Without its request, the browser's message about an error of the server does not help.
        if response.status >= 500:
            request = response.request
            wrong.append(f"{response.status}: {request.method} {request.url} {request.post_data or ''}")

    context.on("weberror", failed)
    context.on("console", spoke)
    context.on("response", responded)
    context.on("request", check_request)
    try:
        yield
    finally:
        context.remove_listener("weberror", failed)
        context.remove_listener("console", spoke)
        context.remove_listener("response", responded)
        context.remove_listener("request", check_request)
    assert not wrong, wrong


@contextlib.contextmanager
def watched(browser: Browser, address: str, **how: object) -> Iterator[Page]:
    """Yield a page in a new context; fail at the end on an error or a request to another address."""
    context = in_context(browser, **how)
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
    try:
        with unharmed(context, address):
            yield context.new_page()
    finally:
        context.close()


class Window:
    """Context that tests share in sequence; a page in it costs half as much as a new context."""

    def __init__(self, browser: Browser, address: str) -> None:
        self.address = address
        self.context = in_context(browser)
        self.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
        #: Keeps Chromium's process for the address alive, and reads what is stored for it.
        self._keeper = self.context.new_page()
        # Without its own icon, Chromium requests one some time later.
        self._keeper.route(
            "**/empty",
            lambda route: route.fulfill(content_type="text/html", body='<link rel="icon" href="data:,">'),
        )
        self._keeper.goto(f"{address}/empty")

    @contextlib.contextmanager
    def page(self) -> Iterator[Page]:
        """Yield a new watched page, and remove what it stored."""
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
    """Open a view and wait for the responses to all its requests, or to those of the view `shown`."""
    words = "&".join(f"{key}={value}" for key, value in settings.items())
    page.goto(f"{address}/#/{view}{'?' + words if words else ''}")
    ready(page, shown or view)


def ready(page: Page, view: str) -> None:
    """Wait until the view and its surroundings have their data."""
    page.wait_for_selector(f'[data-testid="view-{view}"][data-ready="true"]', timeout=PATIENCE)
    quiet(page)


#: Numbers of the calls of `quiet`, so that no call counts the frames of an earlier one.
_calls = itertools.count()


def quiet(page: Page) -> None:
    """Wait until no request was pending for some frames: follow-up requests start before the next frame.

    On a busy machine frames are drawn later, and the wait is longer.
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
    """A page that all tests of views share; it navigates when the view differs or a test changed it."""

    def __init__(self, window: Window) -> None:
        self.address = window.address
        self.page = window.context.new_page()
        self._at = ""

    def at(self, view: str, *, leaves: bool = False) -> Page:
        """Return the page at a view as a link opens it; `leaves`: the caller changes what is shown."""
        if self._at != view:
            # The pointer would open a tooltip.
            self.page.mouse.move(0, 0)
            opened(self.page, self.address, view, system="ZLSIM")
        self._at = "" if leaves else view
        return self.page
