"""Cost of the web UI on a day of 200 guests and 2,000 devices: opening a view, and zooming.

`zlens serve` runs over the imported day, and a headless Chromium opens it. Opening lasts from the navigation
until all charts of the view have their data, right after the server printed its address. Zooming lasts from
the new window to the server's last response, over windows of many lengths; the time until the page is drawn
is shown in addition. Measured with files in the page cache, after `zlens lake prepare`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass

import bench
import day
import page_day
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))),
    None,
)
FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
#: Views, and the limits of opening and zooming in seconds.
WANTED: tuple[tuple[str, float, float], ...] = (
    ("overview", 2.0, 0.1),
    ("guests", 1.5, 0.1),
    ("io", 1.5, 0.1),
)
#: Limits of the first finding, of the overview of the demo, and of the server's memory.
FIRST_FINDING_S, DEMO_S, MEMORY_MIB = 2.0, 1.0, 700
WINDOWS = 30
_PATIENCE_MS = 60_000
_VIEWPORT: ViewportSize = {"width": 1280, "height": 800}
#: Changes the address and waits until everything on the screen has its data. Returns the time until it is
#: drawn and until the last response, the time of the slowest response, and the number of responses.
_ZOOM = """async (hash) => {
  const ready = () => document.querySelector("main [data-ready]")?.getAttribute("data-ready") === "true";
  const rest = (ms) => new Promise((done) => setTimeout(done, ms));
  performance.clearResourceTimings();
  const begin = performance.now();
  location.hash = hash;
  await new Promise((done) => addEventListener("hashchange", done, { once: true }));
  await rest(0);
  while (!ready() && performance.now() - begin < 60000) await rest(2);
  const drawn = performance.now() - begin;
  await rest(30);
  // Not the canceled requests of the window before, nor those for what is below the screen.
  const asked = performance.getEntriesByType("resource").filter(
    (one) => /api/.test(one.name) && one.startTime >= begin && one.responseEnd <= begin + drawn,
  );
  const last = Math.max(begin, ...asked.map((one) => one.responseEnd)) - begin;
  const slowest = Math.max(0, ...asked.map((one) => one.duration));
  return { drawn, last, slowest, count: asked.length };
}"""


@dataclass(frozen=True)
class Zoom:
    """Seconds of one window."""

    answered: float
    drawn: float


class Server:
    """Separate `zlens serve`."""

    def __init__(self, process: subprocess.Popen[str], address: str, seconds: float) -> None:
        self._process = process
        self.address = address
        self.seconds = seconds

    @property
    def cpu_seconds(self) -> float:
        try:
            with open(f"/proc/{self._process.pid}/stat", encoding="ascii") as file:
                words = file.read().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def peak_mib(self) -> float:
        try:
            with open(f"/proc/{self._process.pid}/status", encoding="ascii") as file:
                found = re.search(r"VmHWM:\s+(\d+)", file.read())
        except OSError:
            return 0.0
        return int(found[1]) / 1024 if found else 0.0


@contextlib.contextmanager
def served(path: str) -> Iterator[Server]:
    begin = time.perf_counter()
    command = [sys.executable, "-m", "zlens", "serve", path, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found is not None, "zlens serve has ended"
            yield Server(process, found[0].rstrip("/"), time.perf_counter() - begin)
        finally:
            process.terminate()


def opened(page: Page, address: str) -> float:
    """Return the seconds until a view has all its data."""
    # The page is left first, since a changed address alone would not load it again.
    page.goto("about:blank")
    begin = time.perf_counter()
    page.goto(address)
    page.wait_for_selector("main [data-ready=true]", timeout=_PATIENCE_MS)
    return time.perf_counter() - begin


def found_first(page: Page) -> None:
    """Wait for a finding."""
    page.wait_for_selector("section[aria-label=Findings] li", timeout=_PATIENCE_MS)


def found(page: Page) -> None:
    """Wait for the findings of all rules."""
    selector = "section[aria-label=Findings] h2 small:has-text('rules'):not(:has-text('checking more'))"
    page.wait_for_selector(selector, timeout=_PATIENCE_MS)


def windows(count: int, seed: int) -> list[tuple[int, int]]:
    """Return windows of the day, from twenty minutes to the entire day."""
    chosen = random.Random(seed)
    start, whole = day.START_US // 1_000_000, day.INTERVALS * 60
    result = []
    for _ in range(count):
        length = round(1200 * (whole / 1200) ** chosen.random())
        begin = start + chosen.randrange(whole - length + 1)
        result.append((begin, begin + length))
    return result


def zoomed(page: Page, view: str, count: int, seed: int) -> list[Zoom]:
    result = []
    for begin, end in windows(count, seed):
        times = page.evaluate(_ZOOM, f"#/{view}?system={page_day.SYSTEM}&from={begin}&to={end}")
        result.append(Zoom(times["last"] / 1000, times["drawn"] / 1000))
    return result


def middle(values: list[float]) -> float:
    return statistics.median(values)


def late(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def measure_view(
    results: bench.Results, page: Page, server: Server, view: str, opening: float, zooming: float
) -> None:
    address = f"{server.address}/#/{view}"
    measure_opening(results, page, server, view, address, opening)
    if view == "overview":
        begin = time.perf_counter()
        found(page)
        print(f"        all findings {time.perf_counter() - begin:.1f} s after the charts")
    print(f"        opened again {opened(page, address):.3f} s")
    # The first window may materialize tables for later ones; it is typical for users, and shown separately.
    first = zoomed(page, view, 1, 0)[0]
    print(f"        first window {first.answered:.3f} s")
    measure_zooms(results, page, server, view, f"{view}, zoom beside findings", zooming)
    opened(page, f"{server.address}/#/findings")
    opened(page, address)
    measure_zooms(results, page, server, view, f"{view}, zoom", zooming)


def measure_opening(
    results: bench.Results, page: Page, server: Server, name: str, address: str, opening: float
) -> None:
    seconds = opened(page, address)
    detail = f"the server has used {server.cpu_seconds:.1f} s of processors"
    results.at_most(f"{name}, opened first", seconds, opening, detail)


def prepare(path: str) -> None:
    """Compute what the views show first, as after an import."""
    before = os.times()
    subprocess.run([sys.executable, "-m", "zlens", "lake", "prepare", path], check=True)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    print(f"prepared in {after.elapsed - before.elapsed:.1f} s, {used:.1f} s of processors")


def measure_first_finding(results: bench.Results, browser: Browser, path: str) -> None:
    with served(path) as server, browser.new_page(viewport=_VIEWPORT) as page:
        begin = time.perf_counter()
        page.goto(f"{server.address}/#/overview")
        found_first(page)
        results.at_most("first finding", time.perf_counter() - begin, FIRST_FINDING_S, "")


def measure_demo(results: bench.Results, browser: Browser) -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "zlens", "demo", folder, "--quiet"], check=True, stdout=subprocess.DEVNULL
        )
        with served(folder) as server, browser.new_page(viewport=_VIEWPORT) as page:
            measure_opening(results, page, server, "overview of the demo", f"{server.address}/", DEMO_S)


def measure_zooms(
    results: bench.Results, page: Page, server: Server, view: str, name: str, zooming: float
) -> None:
    """Measure other windows of a view. Pending findings use processors and recreate tables."""
    before = server.cpu_seconds
    times = zoomed(page, view, WINDOWS, 1)
    used = (server.cpu_seconds - before) / len(times)
    answered = [one.answered for one in times]
    detail = f"{len(times)} windows; {used:.3f} s of processors each; "
    detail += f"drawn p50 {middle([one.drawn for one in times]):.3f} s"
    results.at_most(f"{name}, p50", middle(answered), zooming, detail)
    results.at_most(f"{name}, p95", late(answered), zooming, "")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=1000, help="not used: a day is a day")
    parser.add_argument("--runs", type=int, default=1, help="not used: every view is opened once")
    parser.add_argument("--view", action="append", help="only this view; may be repeated")
    arguments = parser.parse_args()
    print(f"machine: {bench.machine()}")
    if CHROMIUM is None:
        print("no Chromium here: the page is not measured")
        return 0
    results = bench.Results()
    path = page_day.lake_of_the_day()
    prepare(str(path))
    chosen = [one for one in WANTED if not arguments.view or one[0] in arguments.view]
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        if not arguments.view:
            measure_demo(results, browser)
            measure_first_finding(results, browser, str(path))
        for view, opening, zooming in chosen:
            # Each view has a new server, without earlier requests.
            with served(str(path)) as server:
                page = browser.new_page(viewport=_VIEWPORT)
                print(f"\nzlens serve says its address after {server.seconds:.2f} s")
                measure_view(results, page, server, view, opening, zooming)
                results.at_most_ratio(f"{view}, memory of the server in MiB", server.peak_mib, MEMORY_MIB, "")
                page.close()
        browser.close()
    print(f"\n{results.missed} missed" if results.missed else "\nall reached")
    return 1 if results.missed else 0


if __name__ == "__main__":
    sys.exit(main())
