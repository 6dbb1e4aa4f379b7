"""Finds in SMF dumps what is to be known of a system: machine, release, zone, intervals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from zlens import _native
from zlens.catalog import smf, smf_record
from zlens.catalog.interval_flags import flag
from zlens.inputs.source import Interval, SystemInfo

#: Records of one interval whose ends differ by less than this tell of the same: each processor's is stamped
#: on its own. In TOD units.
SAME = 20_000 * 4096
#: Zones differ from UTC by quarters of an hour.
_QUARTER_S = 900
#: The header is stamped when the record goes to the buffer, this long after it was written at the most.
_SLACK_S = 120

_RELEASE = re.compile(r"SP(\d)[ .]?(\d)[ .]?(\d)")


@dataclass(slots=True)
class SeenInterval:
    """Records of one subtype that tell of one interval; TOD values."""

    subtype: int
    start: int | None
    end: int
    records: int


@dataclass(slots=True, eq=False)
class Dump:
    """A file, the kinds of record in it, and the intervals that decoded ones tell of."""

    file: _native.SmfFile
    rows: list[dict[str, Any]]
    intervals: list[tuple[bytes, int, int | None, int, int]]

    @classmethod
    def of(cls, file: _native.SmfFile) -> Dump:
        return cls(file, file.inventory(), file.intervals())

    def order(self) -> tuple[int, str]:
        """Files are taken in the order of their first interval; those without one last."""
        return min((end for _, _, _, end, _ in self.intervals), default=2**64), self.file.path


@dataclass(slots=True)
class Group:
    """One system of all files. ends: TOD values that rise; covered: which of them the first subtype tells."""

    info: SystemInfo
    id: bytes
    dumps: list[Dump] = field(default_factory=list)
    seen: list[SeenInterval] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    covered: list[bool] = field(default_factory=list)
    held: int = 0
    #: Earliest and latest local time in any header, in microseconds.
    first_local: int = 2**62
    last_local: int = -(2**62)


def identify(group: Group, leap: int) -> None:
    """What the first decoded record of the system says of machine, release and zone."""
    found = _first(group)
    if found is None:
        return
    values, record = found
    info = group.info
    info.machine_type = values.get("MACHTYPE") or None
    info.model = values.get("MACHMODEL") or None
    info.serial = values.get("MACHSEQCODE") or None
    info.release = release(values.get("OSL"))
    local = smf_record.local_us(record)
    written = values.get("CTM")
    if local is not None and written:
        info.utc_offset_s = offset_s(local, _native.unix_us_from_tod(written, leap))


def _first(group: Group) -> tuple[dict[str, Any], bytes] | None:
    for dump in group.dumps:
        for record in smf.decoded():
            layout = smf.layout(record)
            for subtype in layout.order:
                for _, data in dump.file.records(record, subtype, group.id, 1):
                    return smf_record.decode(layout, data), data
    return None


def release(level: str | None) -> str | None:
    """The level of z/OS as 2.5, from 'SP7.2.5', or 1.13, from 'SP7.1.3'; what has another form as it is."""
    match = _RELEASE.match(level or "")
    if match is None:
        return level or None
    version, number = int(match[2]), int(match[3])
    # Version 1 counted on through two digits.
    return f"{version}.{number}" if version > 1 else f"1.{10 * version + number}"


def offset_s(local_us: int, utc_us: int) -> int | None:
    """Seconds that local time is ahead of UTC, from one moment in both; None where that is no zone."""
    seconds = (local_us - utc_us) / 1e6
    offset = round(seconds / _QUARTER_S) * _QUARTER_S
    near = abs(seconds - offset) <= _SLACK_S and abs(offset) <= 18 * 3600
    return offset if near else None


def times(group: Group, leap: int) -> None:
    """The intervals of a system over all its files, and the usual length of one."""
    info = group.info
    first_subtype = smf.layout(smf.decoded()[0]).order[0]
    clusters = _clusters(group.seen)
    group.ends = [cluster[-1].end for cluster in clusters]
    group.covered = [any(one.subtype == first_subtype for one in cluster) for cluster in clusters]
    group.held = sum(
        covered and any(one.subtype != first_subtype for one in cluster)
        for covered, cluster in zip(group.covered, clusters, strict=True)
    )
    info.nominal_s = nominal_s(clusters)
    before: int | None = None
    for cluster, covered in zip(clusters, group.covered, strict=True):
        end = cluster[-1].end
        starts = [one.start for one in cluster if one.start is not None]
        # An interval begins where it says, or where the one before ended, whichever is later.
        begin = max([*starts, *([before] if before is not None else [])], default=None)
        if before is not None or covered:
            seconds = (end - begin) / 4096e6 if begin is not None else None
            # What was counted since the run began is a difference only from the second record on.
            samples = sum(one.records for one in cluster if not covered or one.subtype == first_subtype)
            info.intervals.append(
                Interval(_native.unix_us_from_tod(end, leap), seconds, flag(seconds, info.nominal_s), samples)
            )
        before = end
    if clusters:
        firsts = [one.start or one.end for one in clusters[0]]
        info.first_us = _native.unix_us_from_tod(min(firsts), leap)
        info.last_us = _native.unix_us_from_tod(group.ends[-1], leap)


def _clusters(seen: Iterable[SeenInterval]) -> list[list[SeenInterval]]:
    """What tells of the same interval together, in the order of time."""
    clusters: list[list[SeenInterval]] = []
    for one in sorted(seen, key=lambda one: one.end):
        if clusters and one.end - clusters[-1][-1].end < SAME:
            clusters[-1].append(one)
        else:
            clusters.append([one])
    return clusters


def nominal_s(clusters: list[list[SeenInterval]]) -> float | None:
    """The usual length of an interval: the commonest in whole seconds, the longest of several as common."""
    lengths = [
        round((one.end - one.start) / 4096e6)
        for cluster in clusters
        for one in cluster[-1:]
        if one.start is not None
    ] or [round((after[-1].end - before[-1].end) / 4096e6) for before, after in pairwise(clusters)]
    counts = Counter(length for length in lengths if length > 0)
    if not counts:
        return None
    return float(max(counts, key=lambda length: (counts[length], length)))
