"""RMF Monitor III reports in XML: the CPC report, as one or more consecutive responses of the data server.

The catalog (`rmf/monitor3_cpc.toml`) describes the report and maps it to columns. Times are recorded in both
UTC and local time, so no time zone is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from zlens.catalog import codes
from zlens.inputs.options import Options
from zlens.inputs.source import Progress
from zlens.inputs.unix_time import local_us
from zlens.readers.rmf import values
from zlens.readers.rmf.interval import ReportInterval
from zlens.readers.rmf.problem_list import ProblemList
from zlens.readers.rmf.source import IntervalTimes, RmfFile, RmfSource, StoredInterval, minute_text
from zlens.readers.rmf.xml_encoding import is_report

NAME = "rmf3-xml"

#: Adjacent ranges may overlap by the rounding error.
_TOUCH_US = 1_000_000


def detect(first_bytes: bytes, size: int) -> bool:
    """Return whether a file is RMF Monitor III report XML, including in EBCDIC."""
    return is_report(first_bytes, monitor3=True)


def open_files(paths: list[str], options: Options, progress: Progress | None = None) -> RmfMonitor3Source:
    """Read the reports of all files."""
    return RmfMonitor3Source(options.tz, options.known).read_files(paths, progress)


class RmfMonitor3Source(RmfSource):
    """All files of an input with Monitor III reports."""

    name = NAME
    facts = "monitor3_cpc"
    format = "RMF Monitor III XML"
    expected = "an RMF Monitor III CPC report in XML"
    cure = "request from the RMF data server the Monitor III report CPC of one system, in XML"

    @property
    def local(self) -> bool:
        return False

    def _offset(self, report: ReportInterval, end: int) -> int | None:
        try:
            local = local_us(values.stamp(report.header.get("local-end", "")))
        except values.NotAValueError:
            return None
        # Offsets are multiples of 15 minutes; both ends are written at the same time.
        offset = round((local - end) / 1e6)
        return offset if offset % 900 == 0 and abs(offset) < 86400 else None

    def _times(
        self, report: ReportInterval, name: str, file: RmfFile, reject: Callable[[str, str, str], None]
    ) -> IntervalTimes | None:
        printed = report.header.get("utc-end")
        if printed is None:
            if not report.cut:
                reject("time", "a report without a time in UTC; not read", "no time")
            return None
        try:
            end = local_us(values.stamp(printed))
        except values.NotAValueError as error:
            reject("time", f"the range ends {printed[:40]!r}, not {error}; not read", "end")
            return None
        start: int | None = None
        text = report.header.get("utc-start", "")
        try:
            start = local_us(values.stamp(text)) if text else None
        except values.NotAValueError as error:
            detail = f"the range begins {text[:40]!r}, not {error}"
            file.notes.add("time", detail, report.offset, system=name)
        length = self._length(report, file.notes, name)
        if start is not None and length and abs(end - start - length * 1000) > _TOUCH_US:
            distance_s = (end - start) / 1e6
            detail = f"the range is {length / 1000:,.0f} s long, but its ends are {distance_s:,.0f} s apart"
            file.notes.add("time", detail, report.offset, about="ends", system=name)
        return IntervalTimes(end - length * 1000, end, length, start is not None, printed)

    def _threads(self, header: dict[str, Any]) -> dict[str, int]:
        by_type = {
            word.lower(): header.get(f"mt_mode_{code.lower()}")
            for code, word in codes.words("rmf_cpu_type").items()
        }
        return {kind: threads for kind, threads in by_type.items() if threads}

    @staticmethod
    def _length(report: ReportInterval, notes: ProblemList, system: str) -> int:
        """Return the length of the range in milliseconds, 0 if it is unknown."""
        try:
            seconds = values.decimal(report.length)
            if seconds <= 0 or report.length_unit not in {"", "seconds"}:
                raise values.NotAValueError("a number of seconds")
        except values.NotAValueError as error:
            detail = f"the range is {report.length[:40]!r} {report.length_unit[:20]} long, not {error}"
            notes.add("time", detail, report.offset, about="length", system=system)
            return 0
        return round(1000 * seconds)

    def _note_gaps(self, name: str, intervals: list[StoredInterval], nominal: float) -> None:
        super()._note_gaps(name, intervals, nominal)
        for earlier, later in pairwise(intervals):
            overlap = earlier.times.end - later.times.begin
            if overlap > _TOUCH_US:
                ends = f"{minute_text(earlier.times.end)} and {minute_text(later.times.end)}"
                detail = f"the ranges that end {ends} overlap by {overlap / 1e6:,.0f} s"
                self._note_gap(name, later, "time", f"{detail}; sums over both count that time twice")
