"""Cost of reading listings, in CPU time, compared with Python only splitting the same text into words.

The goal is 50 MB/s where splitting reaches 200 MB/s: four times the cost of splitting.
"""

from __future__ import annotations

import argparse
import datetime as dt
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import bench

import zlens
from zlens import demo, reports
from zlens.inputs.options import Options
from zlens.readers.listing import source as toolkit
from zlens.readers.rmf import listing

PUBLISHED = bench.ROOT / "docs" / "published" / "listings"
DAYS, INTERVALS = 50, 5_000
WANTED = 4.0


def prclog(folder: Path) -> str:
    """Return PRCLOG of the simulated system, repeated for many days."""
    demo.write(folder)
    with zlens.open(str(folder / demo.SIM_NAME)) as session:
        text = reports.render("prclog", session._core)
    first = dt.date(2024, 5, 14)
    days = (first + dt.timedelta(days=day) for day in range(DAYS))
    return "\n".join(text.replace("2024/05/14", f"{day:%Y/%m/%d}") for day in days)


def rmf() -> str:
    """Return the published page of CPU Activity for many intervals, with other numbers in its columns."""
    page = (PUBLISHED / "rmf-cpu-mt.txt").read_text(encoding="utf-8")
    pages = []
    for number in range(INTERVALS):
        end = dt.datetime(2015, 1, 1) + dt.timedelta(minutes=15 * number)
        text = page.replace("01/21/2015", f"{end:%m/%d/%Y}").replace("21.46.55", f"{end:%H.%M.%S}")
        pages.append(re.sub(r"\d(?=\.\d\d )", str(number % 10), text))
    return "\n".join(pages)


def cpu(runs: int, run: Callable[[], object]) -> float:
    """Return the minimum CPU seconds of a run."""
    least = float("inf")
    for _ in range(runs):
        begin = time.process_time()
        run()
        least = min(least, time.process_time() - begin)
    return least


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=1000, help="not used: listings are made")
    parser.add_argument("--runs", type=int, default=5, help="runs of each; the best counts (5)")
    arguments = parser.parse_args()
    results = bench.Results()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for what, text, read in (
            ("PRCLOG", prclog(folder), toolkit.open_files),
            ("RMF CPU Activity", rmf(), listing.open_files),
        ):
            path = folder / "listing.txt"
            path.write_text(text, encoding="utf-8")
            raw = path.read_bytes()
            split = cpu(arguments.runs, lambda raw=raw: raw.decode().split())  # type: ignore[misc]
            files = [str(path)]
            seconds = cpu(arguments.runs, lambda read=read, files=files: read(files, Options()))  # type: ignore[misc]
            detail = f"{len(raw) / 1e6 / seconds:.0f} MB/s; splitting it {len(raw) / 1e6 / split:.0f} MB/s"
            results.at_most_ratio(f"{what}, times splitting it", seconds / split, WANTED, detail)
    return 1 if results.missed else 0


if __name__ == "__main__":
    sys.exit(main())
