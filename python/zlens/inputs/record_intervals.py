"""Intervals of record types with intervals of their own, such as RMF, SMF 113 and SMF 30.

The intervals of a system are the union over its record types: finer intervals divide coarser ones, and
coarser ones remain where there are no finer ones. The rows of a record type belong to its own intervals.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from msgspec.structs import replace

from zlens.inputs.problems import Problem
from zlens.inputs.source import Interval, IntervalRow, SystemInfo

#: Source of these records.
SOURCE = "smf"
COLUMNS = ("system", "source", "interval_end", "seconds", "flag")
QUERY = (
    "SELECT system, source, epoch_us(interval_end), max(seconds), max(flag), count(*) FROM records "
    "WHERE interval_end IS NOT NULL GROUP BY system, source, interval_end ORDER BY interval_end"
)
#: Tolerance of interval lengths: RMF may end an interval slightly after its nominal length.
SLACK = 1.02

#: Ends that differ by less, in microseconds, belong to one interval: the records of each processor differ.
SAME_US = 20_000

Found = tuple[SystemInfo, Interval]


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """Return the union of the intervals of a system's record types, in order of time.

    An interval counts if lower layers leave more than 2% of it uncovered and none of their intervals has the
    same end. Of several intervals with the same end and layer, the first counts, with the most samples: one
    input may have only some of its records.
    """
    layers: dict[int, dict[int, Interval]] = {}
    for interval in intervals:
        by_end = layers.setdefault(interval.layer, {})
        known = by_end.setdefault(interval.end_us, interval)
        if (interval.samples or 0) > (known.samples or 0):
            by_end[interval.end_us] = replace(known, samples=interval.samples)
    result: list[Interval] = []
    for _, by_end in sorted(layers.items()):
        added = _uncovered(result, by_end.values()) if result else by_end.values()
        result = sorted([*result, *added], key=lambda interval: interval.end_us)
    return result


def _uncovered(finer: list[Interval], coarser: Iterable[Interval]) -> list[Interval]:
    """Return the coarser intervals that the finer ones, in order of time, do not cover."""
    ends = [interval.end_us for interval in finer]
    # Covered time as disjoint spans.
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
        covered = sum(min(stop, end) - max(span_start, start) for span_start, stop in spans)
        # An interval of unknown length is a point in time.
        return covered * SLACK >= end - start if start < end else first < last

    return [interval for interval in coarser if not is_covered(interval)]


def merge(rows: Iterable[IntervalRow]) -> list[IntervalRow]:
    """Return the rows of QUERY, from the intervals of each record type."""
    merged: dict[tuple[str, str, int], IntervalRow] = {}
    for row in rows:
        system, source, end_us, seconds, flag, count = row
        *_, known_seconds, known_flag, known_count = merged.get((system, source, end_us), (None, None, 0))
        merged[system, source, end_us] = (
            *(system, source, end_us),
            max((known_seconds, seconds), key=lambda each: -1.0 if each is None else each),
            known_flag or flag,
            known_count + count,
        )
    return sorted(merged.values(), key=lambda row: row[2])


def find_record_intervals(systems: Iterable[SystemInfo], rows: Iterable[IntervalRow]) -> list[Found]:
    """Return all intervals in order of time, including those that end with an interval of the first kind.

    rows: the rows of QUERY over the raw tables with intervals (smf_sections.interval_tables)
    """
    infos = {(info.system, info.source): info for info in systems}
    return [
        (infos[system, source], Interval(end_us, seconds, flag, count))
        for system, source, end_us, seconds, flag, count in rows
        if (system, source) in infos
    ]


def within_time_range(others: Iterable[Found], selected: Iterable[Found]) -> list[Found]:
    """Return the intervals whose middle is in the time range of the selected intervals of their system."""
    spans: dict[int, tuple[int, int]] = {}
    for info, interval in selected:
        first, last = spans.get(id(info), (interval.end_us, interval.end_us))
        spans[id(info)] = (min(first, interval.start_us), max(last, interval.end_us))
    return [
        (info, interval)
        for info, interval in others
        if id(info) in spans
        and spans[id(info)][0] < (interval.start_us + interval.end_us) // 2 <= spans[id(info)][1]
    ]


def replace_intervals(selected: Iterable[Found], others: Iterable[Found]) -> list[Found]:
    """Return the other intervals, and the selected ones of systems without others."""
    record_intervals = list(others)
    systems = {id(info) for info, _ in record_intervals}
    return [pair for pair in selected if id(pair[0]) not in systems] + record_intervals


def problems(others: Iterable[Found], every_s: int) -> list[Problem]:
    """Return the problems of intervals that are longer than --every."""
    long: dict[tuple[str, str], list[float]] = {}
    for info, interval in others:
        if interval.seconds is not None and interval.seconds > SLACK * every_s:
            long.setdefault((info.system, info.source), []).append(interval.seconds)
    found = []
    for (system, source), lengths in long.items():
        detail = (
            f"{len(lengths):,} intervals of up to {max(lengths):.0f} s are longer than {every_s} s: "
            f"their records are not shown; buckets of {max(lengths):.0f} s or more show them"
        )
        found.append(Problem(system, source, "", None, None, "time", detail))
    return found
