"""The busiest time range of a system."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from itertools import accumulate

from msgspec import Struct

from zlens.inputs.source import Interval

#: Fraction of an interval by which it may start late, because intervals end some milliseconds after their
#: minute.
_LATE = 0.02


class IntervalLoad(Struct, frozen=True):
    """Processor utilization of one interval, and its weight in a mean."""

    interval: Interval
    weight: float
    busy: float


def runs(loads: Iterable[IntervalLoad]) -> list[list[IntervalLoad]]:
    """Split loads in order of time where time is missing between two."""
    result: list[list[IntervalLoad]] = []
    for load in loads:
        if not result or load.interval.start_us > result[-1][-1].interval.end_us + _late_us(load):
            result.append([])
        result[-1].append(load)
    return result


def busiest(
    run: list[IntervalLoad], length_us: int, may_end: Callable[[Interval], bool]
) -> tuple[float, list[Interval]] | None:
    """Return the highest mean utilization of a window, and its intervals; None if the run is shorter.

    A window consists of the intervals that it overlaps: the first may start before it. The earliest of equal
    windows counts.
    """
    ends = [load.interval.end_us - _late_us(load) for load in run]
    weights = [0.0, *accumulate(load.weight for load in run)]
    totals = [0.0, *accumulate(load.weight * load.busy for load in run)]
    best: tuple[float, int, int] | None = None
    for last, load in enumerate(run, 1):
        window_start_us = load.interval.end_us - length_us
        first = bisect_right(ends, window_start_us)
        is_complete = run[first].interval.start_us <= window_start_us + _late_us(run[first])
        weight = weights[last] - weights[first]
        if not is_complete or weight <= 0 or not may_end(load.interval):
            continue
        mean = (totals[last] - totals[first]) / weight
        if best is None or mean > best[0] + 1e-9:
            best = mean, first, last
    return None if best is None else (best[0], [load.interval for load in run[best[1] : best[2]]])


def _late_us(load: IntervalLoad) -> float:
    return _LATE * (load.interval.end_us - load.interval.start_us)
