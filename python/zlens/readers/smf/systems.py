"""Machine, release, time zone and intervals of the systems in SMF dumps."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from msgspec import Struct, field

from zlens._native import SmfFile, unix_us_from_tod
from zlens.catalog import smf, smf_record
from zlens.catalog.interval_flags import flag
from zlens.inputs.source import Interval, SystemInfo
from zlens.readers.smf.streams import Id

#: Interval ends that differ by less belong to the same interval, because each processor's record has its own
#: timestamp. In TOD units.
SAME = 20_000 * 4096
#: Time zones differ from UTC by multiples of a quarter of an hour.
_QUARTER_S = 900
#: Maximum delay from writing a record to the timestamp in its header, set when it is buffered.
_SLACK_S = 120

#: SP7.2.5 or ZV020500; SP7.1.3 is version 1, whose releases have two digits.
_RELEASE = re.compile(r"SP(\d)[ .]?(\d)[ .]?(\d)")
_LEVEL = re.compile(r"ZV(\d\d)(\d\d)\d\d")


class RecordedInterval(Struct):
    """Records of one subtype that describe one interval; TOD values."""

    subtype: int
    start: int | None
    end: int
    records: int


class SmfDump(Struct, eq=False):
    """A file, its record types, and the intervals that decoded records describe."""

    file: SmfFile
    rows: list[dict[str, Any]]
    intervals: list[tuple[bytes, int, int | None, int, int]]

    @classmethod
    def of(cls, file: SmfFile) -> SmfDump:
        return cls(file, file.inventory(), file.intervals())

    def order(self) -> tuple[int, int, int, str]:
        """Return the sort key of a file: its first interval end; files without one are last.

        Of files that begin within one interval, the one with more records of it began earlier.
        """
        ends = [(end, records) for _, _, _, end, records in self.intervals]
        first, last = min(ends, default=(2**64, 0))[0], max(ends, default=(2**64, 0))[0]
        return first, -first_samples(ends), last, self.file.path


def first_samples(ends: Iterable[tuple[int, int]]) -> int:
    """Return the number of records of the first interval, given ends and their numbers of records."""
    by_end = sorted(ends)
    return sum(records for end, records in by_end if end - by_end[0][0] < SAME)


class SmfSystem(Struct):
    """One system of all files. ends: increasing TOD values; covered: whether the first subtype has them."""

    info: SystemInfo
    #: Its streams, in order of time where known, otherwise in order of files.
    ids: list[Id]
    #: All files of the input, by number.
    files: list[SmfDump]
    dumps: list[SmfDump] = field(default_factory=list)
    seen: list[RecordedInterval] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    covered: list[bool] = field(default_factory=list)
    superseded: int = 0
    #: Earliest and latest local time in any header, in microseconds.
    first_local: int = 2**62
    last_local: int = -(2**62)


def set_identity(group: SmfSystem, leap: int) -> None:
    """Set machine, release and zone of the system from its first decoded record."""
    layout = smf.layout(smf.counter_record_type())
    record = first_record(group, layout.record, layout.order)
    if record is None:
        return
    values, info = smf_record.decode(layout, record), group.info
    info.machine_type = values.get("MACHTYPE") or None
    info.model = values.get("MACHMODEL") or None
    info.serial = values.get("MACHSEQCODE") or None
    info.release = zos_release(values.get("OSL"))
    local = smf_record.local_us(record)
    written = values.get("CTM")
    if local is not None and written:
        info.utc_offset_s = offset_s(local, unix_us_from_tod(written, leap))


def first_record(group: SmfSystem, record: int, subtypes: Iterable[int]) -> bytes | None:
    """Return the first record of a type in the first stream that has one of the subtypes."""
    for number, record_type, id in group.ids:
        for subtype in subtypes if record_type == record else ():
            for _, data in group.files[number].file.records(record, subtype, id, 1):
                return data
    return None


def zos_release(level: str | None) -> str | None:
    """Return the z/OS release, such as 2.5 from 'SP7.2.5' or 'ZV020500'; other formats are unchanged."""
    if match := _LEVEL.match(level or ""):
        return f"{int(match[1])}.{int(match[2])}"
    match = _RELEASE.match(level or "")
    if match is None:
        return level or None
    version, number = int(match[2]), int(match[3])
    # Version 1 has two-digit releases.
    return f"{version}.{number}" if version > 1 else f"1.{10 * version + number}"


def offset_s(local_us: int, utc_us: int) -> int | None:
    """Return the offset of local time from UTC in seconds, or None if it is not a time zone."""
    seconds = (local_us - utc_us) / 1e6
    offset = round(seconds / _QUARTER_S) * _QUARTER_S
    is_zone = abs(seconds - offset) <= _SLACK_S and abs(offset) <= 18 * 3600
    return offset if is_zone else None


def set_intervals(group: SmfSystem, leap: int) -> None:
    """Set the intervals of a system across all its files, and their usual length."""
    info = group.info
    first_subtype = smf.layout(smf.counter_record_type()).order[0]
    clusters = _clusters(group.seen)
    group.ends = [cluster[-1].end for cluster in clusters]
    group.covered = [any(interval.subtype == first_subtype for interval in cluster) for cluster in clusters]
    group.superseded = sum(
        covered and any(interval.subtype != first_subtype for interval in cluster)
        for covered, cluster in zip(group.covered, clusters, strict=True)
    )
    info.nominal_s = nominal_s(clusters)
    previous_end: int | None = None
    for cluster, covered in zip(clusters, group.covered, strict=True):
        end = cluster[-1].end
        starts = [interval.start for interval in cluster if interval.start is not None]
        # An interval starts at its recorded start or at the previous end, whichever is later.
        start = max([*starts, *([previous_end] if previous_end is not None else [])], default=None)
        if previous_end is not None or covered:
            seconds = (end - start) / 4096e6 if start is not None else None
            # A counter since the start of the run has a difference only from the second record on.
            samples = sum(each.records for each in cluster if not covered or each.subtype == first_subtype)
            end_us, mark = unix_us_from_tod(end, leap), flag(seconds, info.nominal_s)
            info.intervals.append(Interval(end_us, seconds, mark, samples))
        previous_end = end
    if clusters:
        firsts = [interval.start or interval.end for interval in clusters[0]]
        info.first_us = unix_us_from_tod(min(firsts), leap)
        info.last_us = unix_us_from_tod(group.ends[-1], leap)


def _clusters(seen: Iterable[RecordedInterval]) -> list[list[RecordedInterval]]:
    """Group records of the same interval, in order of time."""
    clusters: list[list[RecordedInterval]] = []
    for interval in sorted(seen, key=lambda interval: interval.end):
        if clusters and interval.end - clusters[-1][-1].end < SAME:
            clusters[-1].append(interval)
        else:
            clusters.append([interval])
    return clusters


def nominal_s(clusters: list[list[RecordedInterval]]) -> float | None:
    """Return the usual interval in whole seconds: the most common one, or the longest of several."""
    lengths = [
        round((interval.end - interval.start) / 4096e6)
        for cluster in clusters
        for interval in cluster[-1:]
        if interval.start is not None
    ] or [round((later[-1].end - earlier[-1].end) / 4096e6) for earlier, later in pairwise(clusters)]
    counts = Counter(length for length in lengths if length > 0)
    if not counts:
        return None
    return float(max(counts, key=lambda length: (counts[length], length)))
