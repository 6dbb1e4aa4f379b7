"""Intervals of a system across all its files: where they end, repeat or are missing."""

from __future__ import annotations

import bisect
import datetime as dt
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from zlens import _native
from zlens.catalog.interval_flags import GAP, flag
from zlens.inputs.problems import Problem
from zlens.inputs.source import Interval, SystemInfo

NAME = "zvm-monitor"

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_CLOCK = "%Y-%m-%d %H:%M:%S"
_TOD_US = 4096
#: Gaps and repeated ranges that are listed.
MAX_REMARKS = 1000


@dataclass(slots=True)
class Group:
    """The files of one system, in order of their first time."""

    info: SystemInfo
    call_level: bytes | None = None
    files: list[_native.MonwriteFile] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    #: Times up to which samples belong to intervals without an end record.
    lost_ends: list[int] = field(default_factory=list)
    #: For each file, the byte ranges that repeat intervals already read.
    repeats: list[list[tuple[int, int]]] = field(default_factory=list)
    #: Problems with its intervals.
    remarks: list[Problem] = field(default_factory=list)


def tell(group: Group, leap: int) -> None:
    """Set the intervals of a system across all its files, and their usual length."""
    info = group.info
    ends: dict[int, int] = {}
    for file in group.files:
        _repeats(group, file, ends, leap)
    ends = dict(sorted(ends.items()))
    group.ends = list(ends)
    times = [(_native.unix_us_from_tod(tod, leap), samples) for tod, samples in ends.items()]
    lengths = [(b[0] - a[0]) / 1e6 for a, b in itertools.pairwise(times)]
    if not info.nominal_s and lengths:
        usual = _median(lengths)
        info.nominal_s = float(round(usual) or usual)
    if info.nominal_s:
        _gaps(group, info.nominal_s, leap)
    # The first end only closes the samples that later ones are compared with.
    for (end, samples), seconds in zip(times[1:], lengths, strict=True):
        info.intervals.append(Interval(end, seconds, flag(seconds, info.nominal_s), samples))
    firsts = [f.first_tod for f in group.files if f.first_tod is not None]
    lasts = [f.last_tod for f in group.files if f.last_tod is not None]
    if firsts and lasts:
        info.first_us = _native.unix_us_from_tod(min(firsts), leap)
        info.last_us = _native.unix_us_from_tod(max(lasts), leap)


def _median(values: list[float]) -> float:
    # As in statistics, whose import takes longer than opening a file.
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _repeats(group: Group, file: _native.MonwriteFile, ends: dict[int, int], leap: int) -> None:
    """Add the interval ends of a file; an interval with a known end is the same data again.

    Overlapping recordings contain the same records, as does a file appended to itself. An interval that is
    merely out of order is read as is.
    """
    ranges: list[tuple[int, int]] = []
    times: list[tuple[int, int, int]] = []
    previous_end = 0
    for tod, samples, offset in file.interval_ends():
        if not samples:
            pass
        elif tod not in ends:
            ends[tod] = samples
        elif ranges and ranges[-1][1] == previous_end:
            ranges[-1] = (ranges[-1][0], offset + 1)
            times[-1] = (times[-1][0], tod, times[-1][2] + 1)
        else:
            ranges.append((previous_end, offset + 1))
            times.append((tod, tod, 1))
        previous_end = offset + 1
    group.repeats.append(ranges)
    for (begin, end), (first, last, count) in zip(ranges[:MAX_REMARKS], times, strict=False):
        span = " to ".join(f"{_time(tod, leap):{_CLOCK}}" for tod in dict.fromkeys((first, last)))
        detail = f"the samples of {count:,} intervals were already read ({span} UTC); read once"
        name, path = group.info.system, file.path
        group.remarks.append(Problem(name, NAME, path, begin, None, "duplicate", detail, end - begin))


def _gaps(group: Group, nominal_s: float, leap: int) -> None:
    """Note gaps between the interval ends of a file, where intervals may be lost.

    Samples are taken when an interval ends, so those more than half an interval before the later end
    belong to an unknown interval.
    """
    usual = round(nominal_s * 1e6) * _TOD_US
    for file in group.files:
        previous: int | None = None
        for tod, samples, offset in file.interval_ends():
            if not samples:
                continue
            if previous is not None and tod - previous > GAP * usual:
                last = group.ends[bisect.bisect_left(group.ends, tod) - 1]
                if tod - last > GAP * usual:
                    group.lost_ends.append(tod - usual // 2)
                    group.remarks += _gap(group, file, offset, last, tod, leap)
            previous = tod


def _gap(
    group: Group, file: _native.MonwriteFile, offset: int, last: int, tod: int, leap: int
) -> Iterator[Problem]:
    if len(group.remarks) < MAX_REMARKS:
        minutes = (tod - last) / _TOD_US / 60e6
        detail = f"no interval ended for {minutes:,.1f} minutes from {_time(last, leap):{_CLOCK}} UTC"
        yield Problem(group.info.system, NAME, file.path, offset, "D1R11", "gap", detail, None)


def _time(tod: int, leap: int) -> dt.datetime:
    return _EPOCH + dt.timedelta(microseconds=_native.unix_us_from_tod(tod, leap))
