"""What is kept of the RMF reports of an input, of the Postprocessor or of Monitor III alike."""

from __future__ import annotations

import datetime as dt
import os
from abc import ABC, abstractmethod
from array import array
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self

from zlens.catalog.columns import Column
from zlens.catalog.rmf_reports import ReportTable, report
from zlens.errors import InputError
from zlens.inputs.problems import Problem
from zlens.inputs.source import Interval, InventoryRow, Progress, RawTable, SystemInfo
from zlens.readers.files import total_size, unreadable
from zlens.readers.rmf import values
from zlens.readers.rmf.form import form_of
from zlens.readers.rmf.interval import ReportInterval
from zlens.readers.rmf.notes import Notes
from zlens.readers.rmf.parse import Parser
from zlens.readers.rmf.store import StoredTable, Texts
from zlens.readers.rmf.values import Converter

#: Rows kept of one input: centuries of half-hours, and a bound for files that are no reports.
MAX_ROWS = 4_000_000
MAX_INTERVALS = 500_000
#: Systems and sections by name: a sysplex has at most 32 systems, a report about ten sections.
MAX_NAMES = 5_000
#: Holes between intervals that get a row of their own.
MAX_GAPS = 1_000


@dataclass(slots=True)
class _File:
    """What there is to say of one file."""

    path: str
    size: int = 0
    intervals: int = 0
    encoding: str = ""
    server: str = ""
    why_not: str = ""
    why_offset: int | None = None
    cure: str = ""
    notes: Notes = field(default_factory=Notes)


@dataclass(slots=True)
class _Section:
    """How often a section stands in one file for one system."""

    count: int = 0
    bytes: int = 0
    known: bool = False
    first_us: int | None = None
    last_us: int | None = None


class _Latest(NamedTuple):
    """What the latest interval of a system tells of it."""

    end: int
    header: dict[str, Any]
    level: str
    offset_s: int | None


class Times(NamedTuple):
    """When an interval was, in microseconds UTC, and how long, in milliseconds (0: not known)."""

    begin: int
    end: int
    length: int
    #: Whether its begin is told.
    begun: bool
    #: Its end as the file has it.
    printed: str


class RmfSource(ABC):
    """All RMF XML files of an input that hold one kind of report."""

    name: str
    #: The catalog file, the format in words, what the user is told when no file will do.
    facts: str
    format: str
    expected: str
    cure: str

    def __init__(self, zone: dt.tzinfo | None) -> None:
        self.zone = zone
        self.systems: list[SystemInfo] = []
        self.tables: dict[str, list[RawTable]] = {}
        self._facts = report(self.facts)
        self._converters: dict[tuple[str, str], Converter] = {}
        self._files: list[_File] = []
        self._gaps: list[Problem] = []
        self._sections: dict[tuple[str, str, str], _Section] = {}
        self._latest: dict[str, _Latest] = {}
        self._rows = 0
        texts = self._texts = Texts()
        # Texts without number in what the catalog does not know shall not crowd out those it does.
        self._other_texts = Texts()
        # One entry per interval kept, in the order read.
        self._system = array("i")
        self._file = array("i")
        self._end = array("q")
        self._start = array("q")
        self._ms = array("q")
        self._flags: list[str | None] = []
        self._seen: dict[tuple[int, int], int] = {}
        self._names: set[int] = set()
        common = {
            "system": lambda i: texts.texts[self._system[i]],
            "source": lambda i: self.name,
            "file": lambda i: self._files[self._file[i]].path,
            "interval_end": lambda i: self._end[i],
            "seconds": lambda i: self._ms[i] / 1000 if self._ms[i] > 0 else None,
            "flag": lambda i: self._flags[i],
        }
        self._stored: list[tuple[ReportTable, StoredTable]] = []
        for table in self._facts.tables:
            columns = [Column(c.name, c.stored, c.unit, c.text) for c in table.columns]
            other = self._facts.sections[table.sections[0]].shape == "rest"
            stored = StoredTable(table.name, columns, common, self._other_texts if other else texts)
            self._stored.append((table, stored))
            self.tables[table.name] = [stored]

    # -- reading ----------------------------------------------------------------------------------

    def read(self, paths: list[str], progress: Progress | None) -> Self:
        """Read files. Raises InputError when not one of them holds a report."""
        total, before = total_size(paths), 0
        for path in paths:
            file = _File(path, cure=self.cure)
            self._files.append(file)
            try:
                self._read_file(file, progress, before, total)
            except OSError as error:
                file.why_not = unreadable(file.path, error).message
                file.notes.add("changed", file.why_not, 0, lost=None)
            before += file.size
        if not self._end:
            first = next((file for file in self._files if file.why_not), self._files[0])
            more = len(self._files) - 1
            message = first.why_not or "the report holds no interval that could be read"
            if more:
                message += f" (and {more:,} more file{'s' * (more > 1)} without an interval)"
            raise InputError(
                message, file=first.path, offset=first.why_offset, expected=self.expected, cure=first.cure
            )
        self._finish()
        return self

    def _read_file(self, file: _File, progress: Progress | None, before: int, total: int) -> None:
        with open(file.path, "rb", buffering=0) as raw:
            fd = raw.fileno()
            file.size = os.fstat(fd).st_size
            form = form_of(os.pread(fd, 64 * 1024, 0))
            if form is None:
                file.why_not, file.why_offset = "this is no RMF report", 0
                file.notes.add("changed", "this is no RMF report any more; not read", 0, lost=file.size)
                return
            if form.ebcdic:
                file.why_not, file.why_offset = (
                    "the XML is in EBCDIC; it was transferred in binary",
                    form.begin,
                )
                file.cure = "transfer it as text, or convert it: iconv -f IBM-1047 -t UTF-8"
                file.notes.add("transfer", f"{file.why_not}; {file.cure}", form.begin, lost=file.size)
                return
            file.encoding = form.encoding
            if form.stale:
                said = f"the file says it is {form.stale} and is not; read as {form.encoding}"
                file.notes.add("transfer", said, form.begin)
            number = len(self._files) - 1
            again: Counter[str] = Counter()
            parser = Parser(
                self._facts,
                self._converters,
                file.notes,
                lambda found: self._keep(found, number, again),
                lambda done: progress(before + done, total, file.path) if progress else None,
            )
            reached = parser.read(fd, file.size, form)
            file.server = parser.server
            now = os.fstat(fd).st_size
            if now != file.size or reached < file.size:
                how = "grew" if now > file.size else "shrank"
                file.notes.add(
                    "changed", f"the file {how} while it was read; read up to here", reached, lost=None
                )
        if not file.intervals:
            met = file.notes.problems(self.name, file.path)
            if parser.refusals:
                file.why_not, file.why_offset = parser.refusals[0]
            elif met:
                file.why_not, file.why_offset = met[0].detail, met[0].offset
            if parser.answers:
                file.cure = "correct the request and ask RMF again"

    def _keep(self, found: ReportInterval, number: int, again: Counter[str]) -> None:
        """Take an interval over, unless its time is unknown or it is known already."""
        file = self._files[number]
        notes = file.notes
        name = self._system_name(found, file.path)

        def refuse(kind: str, detail: str, about: str) -> None:
            notes.add(kind, detail, found.offset, lost=found.bytes, about=about, system=name)

        times = self._times(found, name, notes, again, refuse)
        if times is None:
            return
        end = times.end
        code = self._texts.code(name)
        twin = self._seen.get((code, end))
        if twin is not None:
            other = self._files[self._file[twin]].path
            where = "of this file" if other == file.path else f"of {other}"
            said = f"the interval that ends {times.printed} is known {where}{self._twin_hint()}; not read"
            refuse("duplicate", said, other)
            return
        full = len(self._end) >= MAX_INTERVALS or self._rows + found.row_count + found.other_count > MAX_ROWS
        if full or code < 0 or (code not in self._names and len(self._names) >= MAX_NAMES):
            refuse("length", "more intervals or systems than zlens keeps of one input; not read", "bound")
            return
        self._names.add(code)
        index = len(self._end)
        self._seen[code, end] = index
        self._system.append(code)
        self._file.append(number)
        self._end.append(end)
        self._start.append(times.begin)
        self._ms.append(times.length)
        self._flags.append("cut" if found.cut else None)
        file.intervals += 1
        if file.intervals == 1 and self.local:
            said = "times are local, their zone is not known; name it (option tz) to join it with others"
            notes.add("time", said, found.offset)
        self._store(found, index, times)
        for label, seen in found.sections.items():
            spot = (name, file.path, label)
            if spot not in self._sections and len(self._sections) >= MAX_NAMES:
                notes.add("section", "more sections than zlens counts; not in the inventory", found.offset)
                continue
            place = self._sections.setdefault(spot, _Section())
            place.count += seen.count
            place.bytes += seen.bytes
            place.known = place.known or seen.known
            start = self._start[index]
            place.first_us = start if place.first_us is None else min(place.first_us, start)
            place.last_us = end if place.last_us is None else max(place.last_us, end)
        header = {n: v for section in found.variables.values() for n, v in section.items() if v is not None}
        if name not in self._latest or self._latest[name].end < end:
            old = self._latest.get(name)
            self._latest[name] = _Latest(
                end,
                header or (old.header if old else {}),
                found.smf_level or (old.level if old else ""),
                self._offset(found, end),
            )

    def _store(self, found: ReportInterval, index: int, times: Times) -> None:
        for table, stored in self._stored:
            first = self._facts.sections[table.sections[0]]
            if first.shape in {"table", "rest"}:
                kinds = first.has_row_kind
                for offset, kind, made in found.rows.get(first.id, ()):
                    stored.append(index, [offset, kind, *made] if kinds else [offset, *made])
                    self._rows += 1
                continue
            own: list[Any] = [found.offset]
            present = False
            for name in table.sections:
                section = self._facts.sections[name]
                if section.shape == "interval":
                    facts = self._interval_facts(found, times)
                    present = True
                else:
                    facts = found.variables.get(name, {})
                    present = present or bool(facts)
                own += [facts.get(column.name) for column in section.columns]
            if present:
                stored.append(index, own)
                self._rows += 1

    def _interval_facts(self, found: ReportInterval, times: Times) -> dict[str, Any]:
        def number(name: str) -> float | None:
            text = found.header.get(name, "")
            try:
                return values.decimal(text) if text else None
            except values.NotAValueError:
                return None

        whole = {name: number(name) for name in ("cycle", "num-samples", "gatherer-interval")}
        return {
            "interval_start": times.begin if times.begun else None,
            "local": self.local,
            "report": found.metric,
            "report_title": found.title or None,
            "report_type": found.type or None,
            "cycle_ms": _whole(whole["cycle"]),
            "samples": _whole(whole["num-samples"]),
            "gathered_s": whole["gatherer-interval"],
            "smf_level": found.smf_level or None,
            "rmf_level": found.rmf_level or None,
            "server_level": found.server or None,
        }

    # -- names and times --------------------------------------------------------------------------

    @property
    @abstractmethod
    def local(self) -> bool:
        """Whether the times of the reports are local ones of a zone that is not known."""

    @abstractmethod
    def _times(
        self,
        found: ReportInterval,
        name: str,
        notes: Notes,
        again: Counter[str],
        refuse: Callable[[str, str, str], None],
    ) -> Times | None:
        """When an interval was; None, and a problem, where that is not known. `again` is of one file."""

    @abstractmethod
    def _offset(self, found: ReportInterval, end: int) -> int | None:
        """Seconds that the system's local time is ahead of UTC."""

    def _threads(self, header: dict[str, Any]) -> dict[str, int]:
        """Threads active on a core, by type, as far as the header tells."""
        return {}

    def _twin_hint(self) -> str:
        return ""

    @staticmethod
    def _system_name(found: ReportInterval, path: str) -> str:
        partition = next(
            (section["partition"] for section in found.variables.values() if section.get("partition")), None
        )
        return found.system or partition or f"unknown-{Path(path).stem}"

    # -- when all is read -------------------------------------------------------------------------

    def _finish(self) -> None:
        by_system: dict[int, list[int]] = {}
        for index, code in enumerate(self._system):
            by_system.setdefault(code, []).append(index)
        for code, indexes in sorted(by_system.items(), key=lambda item: self._texts.texts[item[0]]):
            indexes.sort(key=lambda i: self._end[i])
            self.systems.append(self._system_info(self._texts.texts[code], indexes))

    def _system_info(self, name: str, indexes: list[int]) -> SystemInfo:
        # Intervals are a few milliseconds more or less than what was asked for.
        lengths = Counter(
            round(self._ms[i] / 1000) for i in indexes if self._ms[i] and self._flags[i] is None
        )
        nominal = float(max(lengths, key=lambda s: (lengths[s], s))) if lengths else None
        if nominal:
            for i in indexes:
                if self._flags[i] is None and self._ms[i] and self._ms[i] < 500 * nominal:
                    self._flags[i] = "short"
            self._gaps_of(name, indexes, nominal)
        latest = self._latest[name]
        header = latest.header
        last = self._end[indexes[-1]]
        return SystemInfo(
            system=name,
            source=self.name,
            machine_type=header.get("machine_type"),
            model=header.get("model"),
            serial=header.get("serial"),
            release=latest.level or None,
            lpar=header.get("partition"),
            threads=self._threads(header),
            utc_offset_s=latest.offset_s,
            local_time=self.local,
            nominal_s=nominal,
            first_us=min(self._start[i] for i in indexes),
            last_us=last,
            files=list(dict.fromkeys(self._files[self._file[i]].path for i in indexes)),
            intervals=[
                Interval(self._end[i], self._ms[i] / 1000 if self._ms[i] else None, self._flags[i])
                for i in indexes
            ],
        )

    def _gaps_of(self, name: str, indexes: list[int], nominal: float) -> None:
        """Note what is missing between intervals."""
        for before, after in pairwise(indexes):
            hole = self._start[after] - self._end[before]
            if hole > 500_000 * nominal and len(self._gaps) < MAX_GAPS:
                minutes = hole / 60e6
                file = self._files[self._file[after]].path
                detail = f"no report of {minutes:,.0f} minutes from {shown(self._end[before])}"
                if self.local:
                    detail += " local time"
                self._gaps.append(Problem(name, self.name, file, None, None, "gap", detail, None))

    # -- what a source has to tell ----------------------------------------------------------------

    def problems(self, *, complete: bool = False) -> list[Problem]:
        """What could not be read as it stands; all of it is known once the files are read."""
        found = [p for file in self._files for p in file.notes.problems(self.name, file.path)]
        dropped = self._texts.dropped + self._other_texts.dropped
        if dropped:
            detail = f"{dropped:,} texts beyond the bound of one input; they are NULL"
            found.append(Problem(None, self.name, self._files[0].path, None, None, "length", detail, None))
        return found + self._gaps

    def resets(self) -> list[tuple[str, int, str, str, str]]:
        """Reports hold values of intervals, no counters."""
        return []

    def inventory(self, *, with_layouts: bool = True) -> list[InventoryRow]:
        """One row per section, system and file."""
        return [
            InventoryRow(
                system=system,
                source=self.name,
                file=file,
                domain=None,
                record=None,
                name=label,
                title=label.rpartition(": ")[2],
                kind="section",
                count=seen.count,
                bytes=seen.bytes,
                first_us=seen.first_us,
                last_us=seen.last_us,
                layout=self.facts if seen.known else None,
            )
            for (system, file, label), seen in sorted(self._sections.items())
        ]

    def info(self) -> list[dict[str, Any]]:
        return [
            {
                "format": self.format,
                "path": file.path,
                "bytes": file.size,
                "report": self._facts.report,
                "encoding": file.encoding,
                "intervals": file.intervals,
                "server": file.server or None,
                "times": "local" if self.local else "UTC",
            }
            for file in self._files
        ]


def _whole(number: float | None) -> int | None:
    return int(number) if number is not None and number == int(number) else None


def shown(us: int) -> str:
    return f"{dt.datetime.fromtimestamp(us / 1e6, dt.UTC):%Y-%m-%d %H:%M}"
