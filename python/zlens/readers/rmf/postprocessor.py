"""RMF Postprocessor reports in XML: the CPU Activity report with partition data.

What a report holds and which columns it becomes stands in the catalog (`rmf/postprocessor_cpu.toml`).
Times are printed without a zone. With a zone given they become UTC; in the hour a clock repeats, the
first report of a time in a file is the earlier one and the second the later. Without a zone they are
kept as printed and the source says that its times are local.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable

from zlens.inputs.options import Options
from zlens.inputs.source import Progress
from zlens.readers.rmf import values
from zlens.readers.rmf.form import is_report
from zlens.readers.rmf.interval import ReportInterval
from zlens.readers.rmf.notes import Notes
from zlens.readers.rmf.source import MAX_NAMES, RmfSource, Times

NAME = "rmf-xml"


def detect(head: bytes, size: int) -> bool:
    """Whether a file is RMF report XML that is not of Monitor III; in EBCDIC, too."""
    return is_report(head, monitor3=False)


def open_files(paths: list[str], options: Options, progress: Progress | None = None) -> RmfXmlSource:
    """Read the reports of all files."""
    return RmfXmlSource(options.tz).read(paths, progress)


class RmfXmlSource(RmfSource):
    """All files of an input with reports of the Postprocessor."""

    name = NAME
    facts = "postprocessor_cpu"
    format = "RMF Postprocessor XML"
    expected = "an RMF Postprocessor CPU report in XML"
    cure = "ask RMF for the Postprocessor report CPU in XML (REPORTS(CPU), or the data portal's CPU report)"

    @property
    def local(self) -> bool:
        return self.zone is None

    def _twin_hint(self) -> str:
        return "; if a clock was set back here, name its zone (option tz)" if self.local else ""

    def _offset(self, found: ReportInterval, end: int) -> int | None:
        if self.zone is None:
            return None
        shown = dt.datetime.fromtimestamp(end / 1e6, dt.UTC).astimezone(self.zone).utcoffset()
        return int((shown or dt.timedelta()).total_seconds())

    def _times(
        self,
        found: ReportInterval,
        name: str,
        notes: Notes,
        again: Counter[str],
        refuse: Callable[[str, str, str], None],
    ) -> Times | None:
        if found.end is None:
            if not found.cut:
                refuse("time", "a report without a time; not read", "no time")
            return None
        try:
            end_local = values.local_time(*found.end)
        except values.NotAValueError as error:
            refuse("time", f"the interval ends {found.end[0][:40]!r}, not {error}; not read", "end")
            return None
        start_local: dt.datetime | None = None
        if found.start is not None:
            try:
                start_local = values.local_time(*found.start)
            except values.NotAValueError as error:
                notes.add("time", f"the interval begins {found.start[0][:40]!r}, not {error}", found.offset)
        length = self._length(found, start_local, end_local, notes, name)
        end = self._utc(end_local, name, found.offset, notes, again)
        span = (end_local - start_local) // dt.timedelta(microseconds=1) if start_local is not None else 0
        # Over a change of the clock the printed ends say nothing of the time between them.
        begin = end - (span if span and abs(span - length * 1000) < 60e6 else length * 1000)
        return Times(begin, end, length, start_local is not None, found.end[0])

    def _length(
        self,
        found: ReportInterval,
        start: dt.datetime | None,
        end: dt.datetime,
        notes: Notes,
        system: str,
    ) -> int:
        """Milliseconds of the interval; 0 when RMF printed none that can be."""

        def doubt(detail: str, about: str) -> int:
            notes.add("time", detail, found.offset, about=about, system=system)
            return 0

        try:
            length = values.milliseconds(found.length)
        except values.NotAValueError as error:
            return doubt(f"the interval is {found.length[:40]!r} long, not {error}", "length")
        if length == 0:
            return doubt("an interval without length", "no length")
        # A duration report adds intervals up that need not touch, so its length is its own.
        if start is not None and found.type != "Duration":
            printed = (end - start) // dt.timedelta(microseconds=1) // 1000
            if abs(printed - length) > 60_000:
                doubt(
                    f"the interval is {found.length} long, but its ends are {printed / 1000:,.0f} s apart",
                    "ends",
                )
        return length

    def _utc(self, local: dt.datetime, system: str, offset: int, notes: Notes, again: Counter[str]) -> int:
        zone = self.zone
        if zone is None:
            return values.as_utc(local)
        if values.occurs_twice(local, zone):
            key = f"{system} {local}"
            if key in again or len(again) < MAX_NAMES:
                again[key] += 1
            if again[key] == 1:
                notes.add(
                    "time",
                    f"the clock showed {local} twice; the first report of a time is taken for the earlier",
                    offset,
                    about="twice",
                    system=system,
                )
            return values.in_zone(local, zone, second=again[key] == 2)
        if values.never_occurs(local, zone):
            notes.add(
                "time",
                f"the clock of this zone never showed {local}; is the zone right?",
                offset,
                about="never",
                system=system,
            )
        return values.in_zone(local, zone)
