"""Cost of reports over many guests: 2,000 guests in 1,440 intervals, from a lake.

day.py describes the data. Measured with files in the page cache.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import bench
import day

import zlens
from zlens.catalog import layouts

GUESTS = 2_000
PROCESSORS = 8
MOST: dict[str | int, int] = {"sampled": 30, 4: 2_000, 8: day.INTERVAL_US * day.TICK}
#: Reports with their limits in seconds.
WANTED = (("ustat", 1.0), ("user", 1.0))


def write(path: Path) -> None:
    recording = day.Day("GUESTS", MOST)
    for cpu in range(PROCESSORS):
        recording.add_processor(cpu)
    for guest in range(GUESTS):
        recording.add_guest(guest)
    recording.add("D1R11", {})
    recording.write(path)


def lake_of_guests() -> Path:
    """Return the lake of the day, built once."""
    records = (layouts.SIM_FOLDER / layouts.file_name(one) for one in ("D4R3", "D4R4"))
    return day.kept("guests", [Path(__file__), *records], write)


def report(path: Path, name: str) -> str:
    with zlens.open(path) as session:
        return session.report(name)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=1000, help="not used: a day of guests is a day")
    parser.add_argument("--runs", type=int, default=5, help="runs of which the best counts (5)")
    arguments = parser.parse_args()
    print(f"machine: {bench.machine()}")
    results = bench.Results()
    path = lake_of_guests()
    for name, wanted in WANTED:
        lines = report(path, name).count("\n")
        seconds = bench.best(arguments.runs, lambda name=name: report(path, name))  # type: ignore[misc]
        detail = f"{GUESTS:,} guests, {day.INTERVALS:,} intervals, {lines:,} lines"
        results.at_most(f"zlens report {name}", seconds, wanted, detail)
    return 1 if results.missed else 0


if __name__ == "__main__":
    sys.exit(main())
