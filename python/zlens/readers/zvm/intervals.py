"""Intervals of a system across all its files: their ends, repetitions and gaps."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Sequence
from functools import cached_property

from msgspec import Struct, field

from zlens._native import MonwriteFile, unix_us_from_tod
from zlens.catalog import layouts
from zlens.catalog.interval_flags import GAP, flag
from zlens.inputs.problems import Problem
from zlens.inputs.source import Interval, SystemInfo
from zlens.inputs.unix_time import from_unix_us
from zlens.readers.boundaries import IntervalBounds, IntervalDigest, find_repeats

NAME = "zvm-monitor"

_TOD_US = 4096
_HEADER_TOD = slice(8, 16)
#: The record at the end of an interval.
_END_KEY = (1, 11)
_END = layouts.record_id(*_END_KEY)
#: Earlier times are reported by the index.
_YEAR_1971_US = 365 * 86_400 * 1_000_000
#: Number of records of a type that are searched for stray timestamps.
MAX_RECORDS = 200_000
#: Maximum number of gaps and repeated ranges that are reported.
MAX_REMARKS = 1000


class _KnownInterval(Struct, frozen=True):
    """An interval that was read: its samples, its file, and the offset of its end."""

    samples: int
    file: MonwriteFile
    offset: int


class MonitorSystem(Struct, dict=True):
    """The files of one system, in order of their first time."""

    info: SystemInfo
    call_level: bytes | None = None
    files: list[MonwriteFile] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    #: Offsets of interval ends with impossible timestamps, by path of the file.
    strays: dict[str, set[int]] = field(default_factory=dict)
    #: Times up to which samples belong to intervals without an end record.
    lost_ends: list[int] = field(default_factory=list)
    #: For each file, the byte ranges that repeat intervals already read.
    repeats: list[list[tuple[int, int]]] = field(default_factory=list)
    #: Problems with its intervals.
    remarks: list[Problem] = field(default_factory=list)
    _digests: dict[int, dict[int, IntervalDigest]] = field(default_factory=dict)

    @cached_property
    def types(self) -> dict[str, dict[int, int]]:
        """Its records: id -> length -> count."""
        types: dict[str, dict[int, int]] = {}
        for file in self.files:
            for row in file.inventory():
                counts = types.setdefault(layouts.record_id(row["domain"], row["record"]), {})
                for length, count in row["lengths"].items():
                    counts[length] = counts.get(length, 0) + count
        return types

    def us(self, tod: int) -> int:
        """Return a time in microseconds since 1970, UTC."""
        return unix_us_from_tod(tod, self.info.leap_s)

    def clock(self, tod: int) -> str:
        """Return a time as text, in UTC."""
        return f"{from_unix_us(self.us(tod)):%Y-%m-%d %H:%M:%S}"

    def problem(
        self,
        path: str,
        offset: int | None,
        record: str | None,
        kind: str,
        detail: str,
        lost: int | None = None,
    ) -> Problem:
        return Problem(self.info.system, NAME, path, offset, record, kind, detail, lost)

    def digests(self, file: MonwriteFile) -> dict[int, IntervalDigest]:
        """Return the digests of a file's intervals by the offset of their end; the file is read once more."""
        if id(file) not in self._digests:
            offsets = [offset for _, _, offset in file.interval_ends()]
            digests = [IntervalDigest(*values) for values in file.digests()]
            self._digests[id(file)] = dict(zip(offsets, digests, strict=True))
        return self._digests[id(file)]


def set_intervals(group: MonitorSystem) -> None:
    """Set the intervals of a system across all its files, and their usual length."""
    info = group.info
    ends: dict[int, _KnownInterval] = {}
    for file in group.files:
        group.strays[file.path] = _stray_ends(group, file)
        _repeats(group, file, ends)
    ends = dict(sorted(ends.items()))
    group.ends = list(ends)
    times = [(group.us(tod), known.samples) for tod, known in ends.items()]
    lengths = [(b[0] - a[0]) / 1e6 for a, b in itertools.pairwise(times)]
    if not info.nominal_s and lengths:
        usual = _median(lengths)
        info.nominal_s = float(round(usual) or usual)
    if info.nominal_s:
        _gaps(group, info.nominal_s)
    # The first end only closes the samples that later ones are compared with.
    for (end, samples), seconds in zip(times[1:], lengths, strict=True):
        info.intervals.append(Interval(end, seconds, flag(seconds, info.nominal_s), samples))
    _bounds(group)


def _median(values: Sequence[float]) -> float:
    # The module statistics is not imported, because its import takes longer than opening a file.
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _interval_ends(group: MonitorSystem, file: MonwriteFile) -> Iterator[tuple[int, int, int]]:
    """Yield time, samples and offset of the interval ends of a file that have samples and a possible time."""
    strays = group.strays[file.path]
    for tod, samples, offset in file.interval_ends():
        if samples and offset not in strays:
            yield tod, samples, offset


def _stray_ends(group: MonitorSystem, file: MonwriteFile) -> set[int]:
    """Return the offsets of interval ends with impossible times, and report each as a problem.

    Such a time differs from both neighbors by more than the length of the recording, and is out of order with
    one of them. For the first and the last end, the missing neighbor is the median first or last time of the
    sample record types.
    """
    marks = file.interval_ends()
    steps = [b[0] - a[0] for a, b in itertools.pairwise(marks) if b[0] > a[0]]
    samples = [row for row in file.inventory() if row["sample"] and row["domain"] != 1 and row["last_tod"]]
    if len(marks) < 3 or not steps or not samples:
        return set()
    nominal_s = group.info.nominal_s
    usual = round(nominal_s * 1e6) * _TOD_US if nominal_s else round(_median(steps))
    length = usual * len(marks)
    earliest = round(_median([row["first_tod"] for row in samples]))
    latest = round(_median([row["last_tod"] for row in samples]))
    times = [earliest, *(tod for tod, _, _ in marks), latest]
    strays: set[int] = set()
    for (_, _, offset), previous, tod, following in zip(marks, times, times[1:], times[2:], strict=False):
        is_distant = min(abs(tod - previous), abs(tod - following)) > length
        if is_distant and not previous < tod < following:
            strays.add(offset)
            if len(group.remarks) < MAX_REMARKS:
                detail = (
                    f"the interval end is stamped {group.clock(tod)} UTC, out of order by more than the "
                    "length of the recording; it is ignored"
                )
                group.remarks.append(group.problem(file.path, offset, _END, "time", detail))
    return strays


def _bounds(group: MonitorSystem) -> None:
    """Set the first and last time of a system.

    Records with timestamps outside the intervals by more than the length of the recording are ignored and
    reported as problems.
    """
    info = group.info
    timestamps = [
        (row[key], file, row)
        for file in group.files
        for row in file.inventory()
        for key in ("first_tod", "last_tod")
        if row[key]
    ]
    if not timestamps:
        return
    lowest, highest = 0, 2**64
    if len(group.ends) > 1:
        first, last = group.ends[0], group.ends[-1]
        usual = round((info.nominal_s or 0) * 1e6) * _TOD_US
        length = max(last - first, usual)
        lowest, highest = first - length, last + length
        bounds = [tod for tod, _, _ in timestamps if lowest <= tod <= highest]
        bounds += [first - usual] if min(tod for tod, _, _ in timestamps) < lowest else [first]
        bounds.append(last)
    else:
        bounds = [tod for tod, _, _ in timestamps]
    info.first_us, info.last_us = group.us(min(bounds)), group.us(max(bounds))
    suspects = {
        (file.path, row["domain"], row["record"]): file
        for tod, file, row in timestamps
        if not lowest <= tod <= highest
    }
    for (_, *key), file in suspects.items():
        if (key[0], key[1]) != _END_KEY:
            group.remarks += _stray_records(group, file, (key[0], key[1]), (lowest, highest))


def _stray_records(
    group: MonitorSystem, file: MonwriteFile, key: tuple[int, int], within: tuple[int, int]
) -> Iterator[Problem]:
    """Yield a problem per record type with timestamps outside of `within`."""
    strays = [
        (offset, int.from_bytes(data[_HEADER_TOD]))
        for offset, data in file.records(*key, MAX_RECORDS)
        if not within[0] <= int.from_bytes(data[_HEADER_TOD]) <= within[1]
    ]
    # Times before 1971 are problems of the index.
    strays = [(offset, tod) for offset, tod in strays if unix_us_from_tod(tod, 0) > _YEAR_1971_US]
    if strays and len(group.remarks) < MAX_REMARKS:
        offset, tod = min(strays)
        count = f"{len(strays):,} record{'s are' if len(strays) > 1 else ' is'}"
        detail = (
            f"{count} stamped outside the intervals by more than the length of the recording, the first "
            f"{group.clock(tod)} UTC"
        )
        yield group.problem(file.path, offset, layouts.record_id(*key), "time", detail)


def interval_begins(file: MonwriteFile) -> list[int]:
    """Return the start offset of each interval of a file: after the previous end, or at a new recording."""
    controls = sorted(control for control, _ in file.configurations())
    starts, previous = [], 0
    for _, _, offset in file.interval_ends():
        last = bisect.bisect_left(controls, offset) - 1
        starts.append(max(previous, controls[last]) if last >= 0 else previous)
        previous = offset + 1
    return starts


def _repeats(group: MonitorSystem, file: MonwriteFile, ends: dict[int, _KnownInterval]) -> None:
    """Add the interval ends of a file; an interval with a known end was already read.

    Overlapping recordings contain the same records, as does a file appended to itself. An interval that is
    merely out of order is read as is. Digests are compared only where ends agree.
    """
    strays = group.strays[file.path]
    tods = {offset: tod for tod, _, offset in file.interval_ends()}
    marks = (
        IntervalBounds(group.us(tod), 0 if offset in strays else samples, offset, begin)
        for (tod, samples, offset), begin in zip(file.interval_ends(), interval_begins(file), strict=True)
    )

    def compare(mark: IntervalBounds, first: bool) -> bool | None:
        own = _KnownInterval(mark.samples, file, mark.offset)
        known = ends.setdefault(tods[mark.offset], own)
        if known is own:
            return None
        digest = group.digests(file)[mark.offset]
        return digest.repeats(group.digests(known.file)[known.offset], first=first)

    repeats = find_repeats(marks, compare)
    group.repeats.append([(repeat.begin, repeat.end) for repeat in repeats])
    for repeat in repeats[:MAX_REMARKS]:
        lost = repeat.end - repeat.begin
        group.remarks.append(group.problem(file.path, repeat.begin, None, repeat.kind, repeat.detail, lost))


def _gaps(group: MonitorSystem, nominal_s: float) -> None:
    """Report gaps between the interval ends of a file, where intervals may be lost.

    Samples are recorded when an interval ends, so samples more than half an interval before the later end
    belong to an unknown interval.
    """
    usual = round(nominal_s * 1e6) * _TOD_US
    for file in group.files:
        previous: int | None = None
        for tod, _, offset in _interval_ends(group, file):
            if previous is not None and tod - previous > GAP * usual:
                last = group.ends[bisect.bisect_left(group.ends, tod) - 1]
                if tod - last > GAP * usual:
                    group.lost_ends.append(tod - usual // 2)
                    minutes = (tod - last) / _TOD_US / 60e6
                    detail = f"no interval ended for {minutes:,.1f} minutes from {group.clock(last)} UTC"
                    if len(group.remarks) < MAX_REMARKS:
                        group.remarks.append(group.problem(file.path, offset, _END, "gap", detail))
            previous = tod
