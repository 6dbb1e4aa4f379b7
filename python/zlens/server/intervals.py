"""Interval ends of a system, to which windows of the web UI snap."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from zlens.server.workspace import Workspace

_SECOND_US = 1_000_000


def answer(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """Return interval ends in seconds, rounded up so that a window that ends there includes the interval."""
    system = request["system"]
    workspace.system_names(system)
    ends = {
        -(-interval.end_us // _SECOND_US)
        for info in workspace.session.systems
        if info.system == system
        for interval in info.intervals
    }
    return {"runs": runs(sorted(ends))}


def runs(ends: Iterable[int]) -> list[list[int]]:
    """Encode evenly spaced ends as first, step and count.

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
