"""The busiest time range of a system."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from zlens.catalog import aggregation, measures
from zlens.errors import QueryError
from zlens.inputs.source import Interval, SystemInfo
from zlens.inputs.unix_time import to_unix_us
from zlens.schema.wording import phrase
from zlens.session.session_tables import bucket_end_us

_SECOND = 1_000_000
#: Fraction of an interval by which it may start late, because intervals end some milliseconds after their
#: minute.
_LATE = 0.02


class IntervalLoad(Struct, frozen=True):
    """Processor utilization of one interval, and its weight in a mean."""

    interval: Interval
    weight: float
    busy: float


def load_query() -> str:
    """Return a query of the utilization of all intervals that have a weight."""
    column = measures.load_measure("load").column("busy_pct")
    assert column is not None
    # NULL for a short interval or a gap.
    weight = f"CASE WHEN {aggregation.unflagged_sql()} THEN {aggregation.weight_sql(column)} END"
    return (
        f"SELECT system, source, interval_end, seconds, {weight} AS weight, busy_pct "
        "FROM load WHERE weight > 0 AND busy_pct IS NOT NULL ORDER BY interval_end"
    )


def loads(
    rows: Iterable[tuple[Any, ...]], systems: Iterable[SystemInfo]
) -> list[tuple[SystemInfo, list[IntervalLoad]]]:
    """Return the utilization of each system that has some, from the rows of `load_query`."""
    by_source: dict[tuple[str, str], list[IntervalLoad]] = {}
    for system, source, end, seconds, weight, busy in rows:
        load = IntervalLoad(Interval(to_unix_us(end), seconds), weight, busy)
        by_source.setdefault((system, source), []).append(load)
    keys = ((info, (info.system, info.source)) for info in systems)
    return [(info, by_source[key]) for info, key in keys if key in by_source]


def peaks(
    loads: Iterable[tuple[SystemInfo, list[IntervalLoad]]], minutes: int, every_s: int | None
) -> list[tuple[SystemInfo, Interval]]:
    """Return the intervals in the busiest window of each system, from the loads of its sources.

    With buckets of `every_s` seconds, windows end with a bucket if they can. QueryError if a system has no
    window without a gap.
    """
    found: list[tuple[SystemInfo, Interval]] = []
    longest_s: dict[str, int] = {}
    for info, of_source in loads:
        of_runs = runs(of_source)
        may_end = _may_end(info, minutes, every_s)
        windows = [window for run in of_runs if (window := busiest(run, minutes * 60 * _SECOND, may_end))]
        if windows:
            _, intervals = max(windows, key=lambda window: window[0])
            found += [(info, interval) for interval in intervals]
        lengths = [(run[-1].interval.end_us - run[0].interval.start_us) // _SECOND for run in of_runs]
        longest_s[info.system] = max([longest_s.get(info.system, 0), *lengths])
    short = [system for system in longest_s if all(info.system != system for info, _ in found)]
    if short:
        raise QueryError(
            f"{short[0]} has no {minutes} minutes without a gap",
            expected=f"a peak of {longest_s[short[0]] // 60} minutes or less",
        )
    if not found:
        raise QueryError("there is no processor utilization to find a peak in", cure=phrase("no_peak"))
    return found


def _may_end(info: SystemInfo, minutes: int, every_s: int | None) -> Callable[[Interval], bool]:
    """Return whether the busiest window may end with an interval; buckets stay complete if possible."""
    if not every_s or minutes * 60 % every_s:
        return lambda _: True

    def ends_bucket(interval: Interval) -> bool:
        following = replace(interval, end_us=2 * interval.end_us - interval.start_us)
        return bucket_end_us(info, interval, every_s) != bucket_end_us(info, following, every_s)

    return ends_bucket


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
