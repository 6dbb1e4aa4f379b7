"""Intervals of records that have their own: RMF's next to those of the counters of SMF 113, or SMF 30's.

A source gives the intervals of its first kind of record. If a system has others, whose intervals end at
other moments, their rows belong to these.
"""

from __future__ import annotations

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

Found = tuple[SystemInfo, Interval]


def find(systems: Iterable[SystemInfo], rows: Iterable[tuple[Any, ...]]) -> list[Found]:
    """All of them in order of time, including those that end with an interval of the first kind.

    rows: those of QUERY over the raw tables with intervals (smf_sections.interval_tables)
    """
    infos = {(info.system, info.source): info for info in systems}
    return [
        (infos[system, source], Interval(end_us, seconds, flag, count))
        for system, source, end_us, seconds, flag, count in rows
        if (system, source) in infos
    ]


def within(others: Iterable[Found], kept: Iterable[Found]) -> list[Found]:
    """Those whose middle lies in the time that the kept intervals of their system span."""
    spans: dict[int, tuple[int, int]] = {}
    for info, interval in kept:
        first, last = spans.get(id(info), (interval.end_us, interval.end_us))
        spans[id(info)] = (min(first, _start(interval)), max(last, interval.end_us))
    return [
        (info, interval)
        for info, interval in others
        if id(info) in spans
        and spans[id(info)][0] < (_start(interval) + interval.end_us) // 2 <= spans[id(info)][1]
    ]


def _start(interval: Interval) -> int:
    return interval.end_us - round((interval.seconds or 0) * 1e6)


def instead(kept: Iterable[Found], others: Iterable[Found]) -> list[Found]:
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
