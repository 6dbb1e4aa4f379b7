"""The ends of a system's intervals, to which the windows of the page snap."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from zlens.server.workspace import Workspace

_SECOND_US = 1_000_000


def answer(place: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """Ends in whole seconds, rounded up: a window that ends there includes the interval."""
    system = request["system"]
    place.system_names(system)
    ends = {
        -(-interval.end_us // _SECOND_US)
        for info in place.session.systems
        if info.system == system
        for interval in info.intervals
    }
    return {"runs": runs(sorted(ends))}


def runs(ends: Iterable[int]) -> list[list[int]]:
    """Evenly spaced ends as first, step and count.

    >>> runs([60, 120, 180, 300, 310])
    [[60, 60, 3], [300, 10, 2]]
    """
    result: list[list[int]] = []
    for end in ends:
        if result:
            first, step, count = result[-1]
            if count == 1 or end == first + step * count:
                result[-1] = [first, end - first if count == 1 else step, count + 1]
                continue
        result.append([end, 0, 1])
    return result
