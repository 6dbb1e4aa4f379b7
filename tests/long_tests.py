"""Tests that take long, which `make test` leaves to `make test-all`: their list, and how it is measured.

`pytest --record-long` renews the list for the tests that ran, with --all for all. The shortest test of each
module is never in it, so that `make test` runs something of everything, and neither are rules about
the whole source.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

#: CPU time in seconds, that of programs it starts included, from which a test takes long.
LIMIT_S = 0.3
LIST = Path(__file__).with_suffix(".txt")
#: Modules of rules about the whole source, which every change can break.
RULES = ("test_house.py", "test_words.py")


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
    """Renew the list from the property `cpu` of the reports of a run."""
    times: Counter[str] = Counter()
    for report in reports:
        for key, value in getattr(report, "user_properties", ()):
            if key == "cpu":
                times[name(report.nodeid)] += value
    listed = LIST.read_text(encoding="utf-8").splitlines()
    LIST.write_text("".join(f"{line}\n" for line in renewed(listed, times)), encoding="utf-8")


def renewed(listed: Iterable[str], times: dict[str, float]) -> list[str]:
    """Return a list with the tests that take long of a run, and those listed that did not run."""
    return sorted({*listed} - times.keys() | long_ones(times))


def is_rule(test: str) -> bool:
    """Return whether a test is about the whole source."""
    return test.startswith(RULES)


def long_ones(times: dict[str, float]) -> set[str]:
    """Return the tests that take long, by name and CPU time, but for the shortest of each module."""
    shortest: dict[str, str] = {}
    for test in sorted(times, key=lambda test: times[test]):
        shortest.setdefault(test.split("::")[0], test)
    kept = {*shortest.values()}
    return {
        test
        for test, seconds in times.items()
        if seconds >= LIMIT_S and test not in kept and not is_rule(test)
    }
