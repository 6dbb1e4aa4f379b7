"""Intervals of record types that have their own: RMF's next to those of the counters of SMF 113, or SMF 30's.

The intervals of a system are the union over its record types: finer intervals divide coarser ones, and where
there are no finer ones the coarser ones remain. The rows of each record type belong to its own intervals.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Any

from zlens.inputs.problems import Problem
from zlens.inputs.source import Interval, SystemInfo

#: The source of such records.
SOURCE = "smf"
COLUMNS = ("system", "source", "interval_end", "seconds", "flag")
QUERY = (
    "SELECT system, source, epoch_us(interval_end), max(seconds), max(flag), count(*) FROM records "
    "WHERE interval_end IS NOT NULL GROUP BY system, source, interval_end ORDER BY interval_end"
)
#: An interval may be a little longer than its nominal length: RMF ends it when it can.
SLACK = 1.02

#: Ends that differ by less, in microseconds, are of one interval: each processor's record has its own time.
SAME_US = 20_000

Found = tuple[SystemInfo, Interval]


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """Return the intervals of a system from those of its record types, in order of time.

    An interval counts where those of lower layers leave more than 2 % of it uncovered, unless one of them
    ends when it ends. Of several with the same end and layer, the first counts.
    """
    layers: dict[int, dict[int, Interval]] = {}
    for interval in intervals:
        layers.setdefault(interval.layer, {}).setdefault(interval.end_us, interval)
    result: list[Interval] = []
    for _, by_end in sorted(layers.items()):
        added = _uncovered(result, by_end.values()) if result else by_end.values()
        result = sorted([*result, *added], key=lambda interval: interval.end_us)
    return result


def _uncovered(finer: list[Interval], coarser: Iterable[Interval]) -> list[Interval]:
    """The coarser intervals that the finer ones, which are in order of time, do not cover."""
    ends = [interval.end_us for interval in finer]
    # Covered time as spans that do not touch.
    starts: list[int] = []
    stops: list[int] = []
    for start, end in sorted((interval.start_us, interval.end_us) for interval in finer):
        if stops and start <= stops[-1]:
            stops[-1] = max(stops[-1], end)
        else:
            starts.append(start)
            stops.append(end)

    def is_covered(interval: Interval) -> bool:
        nearest = bisect_left(ends, interval.end_us - SAME_US + 1)
        if nearest < len(ends) and ends[nearest] < interval.end_us + SAME_US:
            return True
        start, end = interval.start_us, interval.end_us
        first, last = bisect_left(stops, start), bisect_right(starts, end)
        spans = zip(starts[first:last], stops[first:last], strict=True)
        covered = sum(min(stop, end) - max(begin, start) for begin, stop in spans)
        # An interval of unknown length is a point in time.
        return covered * SLACK >= end - start if start < end else first < last

    return [interval for interval in coarser if not is_covered(interval)]


def find_record_intervals(systems: Iterable[SystemInfo], rows: Iterable[tuple[Any, ...]]) -> list[Found]:
    """All of them in order of time, including those that end with an interval of the first kind.

    rows: those of QUERY over the raw tables with intervals (smf_sections.interval_tables)
    """
    infos = {(info.system, info.source): info for info in systems}
    return [
        (infos[system, source], Interval(end_us, seconds, flag, count))
        for system, source, end_us, seconds, flag, count in rows
        if (system, source) in infos
    ]


def within_time_range(others: Iterable[Found], kept: Iterable[Found]) -> list[Found]:
    """Those whose middle lies in the time that the kept intervals of their system span."""
    spans: dict[int, tuple[int, int]] = {}
    for info, interval in kept:
        first, last = spans.get(id(info), (interval.end_us, interval.end_us))
        spans[id(info)] = (min(first, interval.start_us), max(last, interval.end_us))
    return [
        (info, interval)
        for info, interval in others
        if id(info) in spans
        and spans[id(info)][0] < (interval.start_us + interval.end_us) // 2 <= spans[id(info)][1]
    ]


def replace_intervals(kept: Iterable[Found], others: Iterable[Found]) -> list[Found]:
    """The other intervals, and the kept ones of systems that have no others."""
    of_records = list(others)
    systems = {id(info) for info, _ in of_records}
    return [entry for entry in kept if id(entry[0]) not in systems] + of_records


def problems(others: Iterable[Found], every_s: int) -> list[Problem]:
    """The problems of intervals that are longer than --every."""
    long: dict[tuple[str, str], list[float]] = {}
    for info, interval in others:
        if interval.seconds is not None and interval.seconds > SLACK * every_s:
            long.setdefault((info.system, info.source), []).append(interval.seconds)
    return [
        Problem(
            system,
            source,
            "",
            None,
            None,
            "time",
            f"{len(lengths):,} intervals of up to {max(lengths):.0f} s are longer than {every_s} s: "
            f"their records are not shown; buckets of {max(lengths):.0f} s or more show them",
        )
        for (system, source), lengths in long.items()
    ]
