"""Outcomes of a run of pytest: skipped tests by reason, tools that were used, how to repeat a failure."""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

#: Environment variable with the file that each run appends its outcomes to as JSON; `runners.py` sets it.
FILE = "ZLENS_OUTCOMES"
_COUNTED = ("passed", "failed", "error", "xfailed", "deselected")


def by_reason(reports: Iterable[Any]) -> dict[str, int]:
    """Return the number of skipped tests of each reason, the most frequent first."""
    reasons = (report.longrepr for report in reports)
    texts = (each[2] if isinstance(each, tuple) else str(each) for each in reasons)
    return dict(Counter(text.removeprefix("Skipped: ") for text in texts).most_common())


def summarize(reporter: pytest.TerminalReporter, options: argparse.Namespace) -> None:
    """Print the summary, and append it to the file of outcomes if there is one."""
    skipped = by_reason(reporter.stats.get("skipped", ()))
    for reason, count in skipped.items():
        reporter.write_line(f"skipped {count}: {reason}")
    counts = {name: len(reporter.stats.get(name, ())) for name in _COUNTED}
    if counts["failed"] or counts["error"]:
        repeat = {"--seed": options.seed, "--shuffle": options.shuffle}
        words = [f"{option} {value}" for option, value in repeat.items() if value is not None]
        if words:
            reporter.write_line(f"with the same random numbers and order: {' '.join(words)}")
    if path := os.environ.get(FILE):
        reports = (report for stat in reporter.stats.values() for report in stat)
        used = {
            value
            for report in reports
            for key, value in getattr(report, "user_properties", ())
            if key == "tool"
        }
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps({**counts, "skipped": skipped, "tools": sorted(used)}) + "\n")
