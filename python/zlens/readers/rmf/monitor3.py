"""RMF Monitor III reports in XML: the CPC report, one answer of the data server or many behind each other.

What a report holds and which columns it becomes stands in the catalog (`rmf/monitor3_cpc.toml`). Its times
are given in UTC and in local time, so no zone is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from zlens.catalog import codes
from zlens.inputs.options import Options
from zlens.inputs.problems import Problem
from zlens.inputs.source import Progress
from zlens.readers.rmf import values
from zlens.readers.rmf.form import is_report
from zlens.readers.rmf.interval import ReportInterval
from zlens.readers.rmf.notes import Notes
from zlens.readers.rmf.source import MAX_GAPS, RmfSource, Times, shown

NAME = "rmf3-xml"

#: Ranges that touch may overlap by what is rounded off.
_TOUCH_US = 1_000_000


def detect(head: bytes, size: int) -> bool:
    """Whether a file is report XML of RMF Monitor III; in EBCDIC, too."""
    return is_report(head, monitor3=True)


def open_files(paths: list[str], options: Options, progress: Progress | None = None) -> RmfMonitor3Source:
    """Read the reports of all files."""
    return RmfMonitor3Source(options.tz).read(paths, progress)


class RmfMonitor3Source(RmfSource):
    """All files of an input with reports of Monitor III."""

    name = NAME
    facts = "monitor3_cpc"
    format = "RMF Monitor III XML"
    expected = "an RMF Monitor III CPC report in XML"
    cure = "ask the RMF data server for the Monitor III report CPC of one system, in XML"

    @property
    def local(self) -> bool:
        return False

    def _offset(self, found: ReportInterval, end: int) -> int | None:
        try:
            local = values.as_utc(values.stamp(found.header.get("local-end", "")))
        except values.NotAValueError:
            return None
        # Clocks are set in quarters of an hour; the two ends are written at the same moment.
        offset = round((local - end) / 1e6)
        return offset if offset % 900 == 0 and abs(offset) < 86400 else None

    def _times(
        self,
        found: ReportInterval,
        name: str,
        notes: Notes,
        again: Counter[str],
        refuse: Callable[[str, str, str], None],
    ) -> Times | None:
        printed = found.header.get("utc-end")
        if printed is None:
            if not found.cut:
                refuse("time", "a report without a time in UTC; not read", "no time")
            return None
        try:
            end = values.as_utc(values.stamp(printed))
        except values.NotAValueError as error:
            refuse("time", f"the range ends {printed[:40]!r}, not {error}; not read", "end")
            return None
        begin: int | None = None
        text = found.header.get("utc-start", "")
        try:
            begin = values.as_utc(values.stamp(text)) if text else None
        except values.NotAValueError as error:
            notes.add("time", f"the range begins {text[:40]!r}, not {error}", found.offset, system=name)
        length = self._length(found, notes, name)
        if begin is not None and length and abs(end - begin - length * 1000) > _TOUCH_US:
            apart = (end - begin) / 1e6
            said = f"the range is {length / 1000:,.0f} s long, but its ends are {apart:,.0f} s apart"
            notes.add("time", said, found.offset, about="ends", system=name)
        return Times(end - length * 1000, end, length, begin is not None, printed)

    def _threads(self, header: dict[str, Any]) -> dict[str, int]:
        stated = {
            word.lower(): header.get(f"mt_mode_{code.lower()}")
            for code, word in codes.words("rmf_cpu_type").items()
        }
        return {kind: threads for kind, threads in stated.items() if threads}

    @staticmethod
    def _length(found: ReportInterval, notes: Notes, system: str) -> int:
        """Milliseconds of the range; 0 where it is not told."""
        try:
            seconds = values.decimal(found.length)
            if seconds <= 0 or found.length_unit not in {"", "seconds"}:
                raise values.NotAValueError("a number of seconds")
        except values.NotAValueError as error:
            said = f"the range is {found.length[:40]!r} {found.length_unit[:20]} long, not {error}"
            notes.add("time", said, found.offset, about="length", system=system)
            return 0
        return round(1000 * seconds)

    def _gaps_of(self, name: str, indexes: list[int], nominal: float) -> None:
        super()._gaps_of(name, indexes, nominal)
        for before, after in pairwise(indexes):
            both = self._end[before] - self._start[after]
            if both > _TOUCH_US and len(self._gaps) < MAX_GAPS:
                file = self._files[self._file[after]].path
                detail = (
                    f"the ranges that end {shown(self._end[before])} and {shown(self._end[after])} "
                    f"overlap by {both / 1e6:,.0f} s; sums over both count that twice"
                )
                self._gaps.append(Problem(name, self.name, file, None, None, "time", detail, None))
