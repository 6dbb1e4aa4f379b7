"""Cost of the metrics page: 60,000 samples of 1,000 guests, as a multiple of a join in Python.

Both write the same text from existing columns. CPU time of this process.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import bench

from zlens._native import ArrowTable, samples

GUESTS, FAMILIES = 1_000, 60
#: Maximum CPU seconds of the page, and their maximum share of the join's.
WANTED, PART = 0.2, 0.5

COLUMNS = ["system", "user", *(f"value_{number}" for number in range(FAMILIES))]
TYPES = ["text", "text", *["float"] * FAMILIES]
LABELS = [("system", 0), ("user", 1)]
NAMES = [f"zvm_guest_value_{number}_seconds" for number in range(FAMILIES)]
HEADS = [f"# HELP {name} of the bench\n# TYPE {name} gauge\n" for name in NAMES]


def rows() -> list[tuple[object, ...]]:
    def value(guest: int, family: int) -> float:
        return (guest * 7919 + family * 104729) % 10_007 / 997

    return [
        ("SYSTEM", f"GUEST{guest:04}", *(value(guest, family) for family in range(FAMILIES)))
        for guest in range(GUESTS)
    ]


def written(table: ArrowTable) -> str:
    families = [
        (head, name, 0, place) for place, (head, name) in enumerate(zip(HEADS, NAMES, strict=True), 2)
    ]
    return samples(table, TYPES, [LABELS], families)


def joined(lines: list[tuple[object, ...]]) -> str:
    """Write the same in Python, with label sets built once."""
    labels = [f'{{system="{line[0]}",user="{line[1]}"}}' for line in lines]
    return "".join(
        head
        + "".join([f"{name}{label} {line[place]!r}\n" for label, line in zip(labels, lines, strict=True)])
        for place, (head, name) in enumerate(zip(HEADS, NAMES, strict=True), 2)
    )


def cpu(runs: int, work: Callable[[], object]) -> float:
    """Return the minimum CPU seconds of some runs."""
    least = float("inf")
    for _ in range(runs):
        start = time.process_time()
        work()
        least = min(least, time.process_time() - start)
    return least


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=1000, help="not used")
    parser.add_argument("--runs", type=int, default=5, help="runs of which the best counts (5)")
    arguments = parser.parse_args()
    print(f"machine: {bench.machine()}")
    results = bench.Results()
    lines = rows()
    table = ArrowTable([*zip(COLUMNS, TYPES, strict=True)], lines)
    assert written(table) == joined(lines)
    seconds = cpu(arguments.runs, lambda: written(table))
    python = cpu(arguments.runs, lambda: joined(lines))
    detail = f"{GUESTS * FAMILIES:,} samples"
    results.at_most("metrics, CPU seconds", seconds, WANTED, detail)
    results.at_most_ratio("metrics, part of a join in Python", seconds / python, PART, detail)
    return 1 if results.missed else 0


if __name__ == "__main__":
    sys.exit(main())
