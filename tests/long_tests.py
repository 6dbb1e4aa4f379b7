"""Tests that take long, which `make test` leaves to `make test-all`: their list, and how it is measured.

`pytest --all --record-long` writes the list anew. The shortest test of each module is never in it, so that
`make test` runs something of everything.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

#: CPU time in seconds, that of programs it starts included, from which a test takes long.
LIMIT_S = 0.4
LIST = Path(__file__).with_suffix(".txt")


def mark(items: Iterable[pytest.Item]) -> None:
    """Mark the listed tests as long."""
    listed = {*LIST.read_text(encoding="utf-8").splitlines()}
    for item in items:
        if name(item.nodeid) in listed:
            item.add_marker(pytest.mark.long)


def name(nodeid: str) -> str:
    """Return the line of a test in the list; random numbers and lines of a table may be part of an ID."""
    return nodeid.removeprefix("tests/").replace("\n", " ")


class CpuClock:
    """CPU time of this process and of the programs that it waited for."""

    def __init__(self) -> None:
        self._last_s = 0.0

    def lap(self) -> float:
        """Return the seconds since the last lap."""
        now_s = sum(os.times()[:4])
        seconds, self._last_s = now_s - self._last_s, now_s
        return seconds


def record(reports: Iterable[Any]) -> None:
    """Write the list from the property `cpu` of the reports of a run."""
    times: Counter[str] = Counter()
    for report in reports:
        for key, value in getattr(report, "user_properties", ()):
            if key == "cpu":
                times[name(report.nodeid)] += value
    LIST.write_text("".join(f"{line}\n" for line in long_ones(times)), encoding="utf-8")


def long_ones(times: dict[str, float]) -> list[str]:
    """Return the tests that take long, by name and CPU time, but for the shortest of each module."""
    shortest: dict[str, str] = {}
    for test in sorted(times, key=lambda test: times[test]):
        shortest.setdefault(test.split("::")[0], test)
    kept = {*shortest.values()}
    return sorted(test for test, seconds in times.items() if seconds >= LIMIT_S and test not in kept)
