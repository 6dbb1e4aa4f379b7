"""RMF Postprocessor reports in XML: the CPU Activity report with partition data.

The catalog (`rmf/postprocessor_cpu.toml`) describes the report and maps it to columns. Times are printed
without a time zone. If a zone is set, they are converted to UTC; in a repeated hour, the first report of a
time in a file is the earlier one and the second the later. Without a zone, they remain as printed, and the
source marks them as local.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

from zlens.inputs.options import Options
from zlens.inputs.source import Progress
from zlens.inputs.unix_time import local_us
from zlens.readers.rmf import values
from zlens.readers.rmf.interval import ReportInterval
from zlens.readers.rmf.problem_list import ProblemList
from zlens.readers.rmf.source import MAX_NAMES, IntervalTimes, RmfFile, RmfSource
from zlens.readers.rmf.xml_encoding import is_report

NAME = "rmf-xml"


def detect(first_bytes: bytes, size: int) -> bool:
    """Return whether a file is RMF report XML but not from Monitor III, including in EBCDIC."""
    return is_report(first_bytes, monitor3=False)


def open_files(paths: list[str], options: Options, progress: Progress | None = None) -> RmfXmlSource:
    """Read the reports of all files."""
    return RmfXmlSource(options.tz, options.known).read_files(paths, progress)


class RmfXmlSource(RmfSource):
    """All files of an input with Postprocessor reports."""

    name = NAME
    facts = "postprocessor_cpu"
    format = "RMF Postprocessor XML"
    expected = "an RMF Postprocessor CPU report in XML"
    cure = (
        "request from RMF the Postprocessor report CPU in XML (REPORTS(CPU), or the data portal's CPU report)"
    )

    @property
    def local(self) -> bool:
        return self.zone is None

    def _duplicate_hint(self) -> str:
        return "; if the clock was set back here, set the time zone (option tz)" if self.local else ""

    def _offset(self, report: ReportInterval, end: int) -> int | None:
        if self.zone is None:
            return None
        offset = dt.datetime.fromtimestamp(end / 1e6, dt.UTC).astimezone(self.zone).utcoffset()
        return int((offset or dt.timedelta()).total_seconds())

    def _times(
        self, report: ReportInterval, name: str, file: RmfFile, reject: Callable[[str, str, str], None]
    ) -> IntervalTimes | None:
        if report.end is None:
            if not report.cut:
                reject("time", "a report without a time; not read", "no time")
            return None
        try:
            end_local = values.local_time(*report.end)
        except values.NotAValueError as error:
            reject("time", f"the interval ends {report.end[0][:40]!r}, not {error}; not read", "end")
            return None
        start_local: dt.datetime | None = None
        if report.start is not None:
            try:
                start_local = values.local_time(*report.start)
            except values.NotAValueError as error:
                detail = f"the interval begins {report.start[0][:40]!r}, not {error}"
                file.notes.add("time", detail, report.offset)
        length = self._length(report, start_local, end_local, file.notes, name)
        end = self._utc(end_local, name, report.offset, file)
        span = (end_local - start_local) // dt.timedelta(microseconds=1) if start_local is not None else 0
        # Across a clock change, the printed start and end do not determine the elapsed time.
        start = end - (span if span and abs(span - length * 1000) < 60e6 else length * 1000)
        return IntervalTimes(start, end, length, start_local is not None, report.end[0])

    @staticmethod
    def _length(
        report: ReportInterval, start: dt.datetime | None, end: dt.datetime, notes: ProblemList, system: str
    ) -> int:
        """Return the length of the interval in milliseconds, 0 if RMF printed no valid one."""

        def report_problem(detail: str, about: str) -> int:
            notes.add("time", detail, report.offset, about=about, system=system)
            return 0

        try:
            length = values.milliseconds(report.length)
        except values.NotAValueError as error:
            return report_problem(f"the interval is {report.length[:40]!r} long, not {error}", "length")
        if length == 0:
            return report_problem("an interval of zero length", "no length")
        # A duration report adds up intervals that may have gaps, so its length can differ.
        if start is not None and report.type != "Duration":
            printed = (end - start) // dt.timedelta(microseconds=1) // 1000
            if abs(printed - length) > 60_000:
                ends = f"its ends are {printed / 1000:,.0f} s apart"
                report_problem(f"the interval is {report.length} long, but {ends}", "ends")
        return length

    def _utc(self, local: dt.datetime, system: str, offset: int, file: RmfFile) -> int:
        zone, notes, duplicate_times = self.zone, file.notes, file.duplicate_times
        if zone is None:
            return local_us(local)
        if values.is_ambiguous(local, zone):
            key = f"{system} {local}"
            if key in duplicate_times or len(duplicate_times) < MAX_NAMES:
                duplicate_times[key] += 1
            if duplicate_times[key] == 1:
                detail = f"the clock showed {local} twice; the first report of a time is the earlier one"
                notes.add("time", detail, offset, about="twice", system=system)
            return values.in_zone(local, zone, second=duplicate_times[key] == 2)
        if values.is_skipped(local, zone):
            detail = f"the clock of this zone never showed {local}; check the zone"
            notes.add("time", detail, offset, about="never", system=system)
        return values.in_zone(local, zone)
