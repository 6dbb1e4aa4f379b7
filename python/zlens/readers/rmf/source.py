"""Data from the RMF reports of an input, shared by the Postprocessor and Monitor III readers."""

from __future__ import annotations

import datetime as dt
import os
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, Self

from msgspec import Struct, field

from zlens.catalog.rmf_reports import RmfSection, RmfTable, report
from zlens.errors import InputError
from zlens.inputs.identity import KnownSystem
from zlens.inputs.problems import Problem
from zlens.inputs.source import Interval, InventoryRow, Progress, SystemInfo, machine_name
from zlens.inputs.unix_time import from_unix_us
from zlens.readers.column_store import StoredTable, Texts
from zlens.readers.files import LOCAL_TIMES, TextSource, compare_repeat, read_each, unknown_system
from zlens.readers.rmf import values
from zlens.readers.rmf.interval import ReportInterval, SectionCount, TableRow
from zlens.readers.rmf.problem_list import ProblemList
from zlens.readers.rmf.values import Converter
from zlens.readers.rmf.xml_encoding import form_of
from zlens.readers.rmf.xml_parser import RmfXmlParser

#: Rows stored from one input: centuries of half-hours, and a limit for files that are not reports.
MAX_ROWS = 4_000_000
MAX_INTERVALS = 500_000
#: Systems and sections by name: a sysplex has at most 32 systems, a report about ten sections.
MAX_NAMES = 5_000
#: Maximum number of gaps between intervals that are reported.
MAX_GAPS = 1_000


class RmfFile(Struct):
    """One file and the results of reading it."""

    path: str
    size: int = 0
    intervals: int = 0
    encoding: str = ""
    server: str = ""
    refusal: str = ""
    refusal_offset: int | None = None
    cure: str = ""
    notes: ProblemList = field(default_factory=ProblemList)
    #: Number of reports with a time that the clock showed twice, by system and time.
    duplicate_times: Counter[str] = field(default_factory=Counter)


class _Section(SectionCount):
    """Occurrences of a section for one system in one file."""

    first_us: int | None = None
    last_us: int | None = None


class _Latest(Struct, frozen=True):
    """Facts about a system from its latest interval."""

    end: int
    header: dict[str, Any]
    level: str
    offset_s: int | None


class IntervalTimes(Struct, frozen=True):
    """Start and end of an interval in microseconds UTC, and its length in milliseconds (0: unknown)."""

    begin: int
    end: int
    length: int
    #: Whether the report states its start.
    begun: bool
    #: The interval end as printed in the file.
    printed: str


class StoredInterval(Struct):
    """An interval of a report: the code of its system, its file, its times and its machine."""

    system: int
    file: RmfFile
    times: IntervalTimes
    machine: str | None
    flag: str | None

    @property
    def seconds(self) -> float | None:
        return self.times.length / 1000 if self.times.length else None


class RmfSource(TextSource):
    """All RMF XML files of an input with one kind of report."""

    name: str
    #: The catalog file, the format name, and two parts of the error if no file can be read.
    facts: str
    format: str
    expected: str
    cure: str

    def __init__(self, zone: dt.tzinfo | None, known: Iterable[KnownSystem] = ()) -> None:
        super().__init__()
        self.zone = zone
        self._known = [system for system in known if system.source == self.name]
        self._facts = report(self.facts)
        self._converters: dict[tuple[str, str], Converter] = {}
        self._files: list[RmfFile] = []
        self._gaps: list[Problem] = []
        self._sections: dict[tuple[str, str, str], _Section] = {}
        self._latest: dict[str, _Latest] = {}
        self._rows = 0
        texts = self._texts = Texts()
        # Separate, because countless texts that are not in the catalog must not crowd out the others.
        self._other_texts = Texts()
        #: In the order read.
        intervals = self._intervals = list[StoredInterval]()
        #: Names of systems whose recorded name belongs to another system, by that name and their machine.
        self._distinct_names: dict[tuple[str, str], str] = {}
        #: By system, end and part: the interval, and the digest of its values.
        self._index_of: dict[tuple[int, int, str], tuple[int, int]] = {}
        self._names: set[int] = set()
        common = {
            "system": lambda i: texts.texts[intervals[i].system],
            "source": lambda i: self.name,
            "file": lambda i: intervals[i].file.path,
            "interval_end": lambda i: intervals[i].times.end,
            "seconds": lambda i: intervals[i].seconds,
            "flag": lambda i: intervals[i].flag,
        }
        self._stored: list[tuple[RmfTable, StoredTable]] = []
        for table in self._facts.tables:
            columns = [column.raw for column in table.columns]
            first = self._facts.sections[table.sections[0]]
            column_texts = self._other_texts if first.shape == "rest" else texts
            # The offset and the kind of a row are stored with its values.
            leading = 1 + first.has_row_kind if first.shape in {"table", "rest"} else 0
            stored = StoredTable(table.name, columns, common, column_texts, leading)
            self._stored.append((table, stored))
            if not table.printed:
                self.tables[table.name] = [stored]

    # -- reading ----------------------------------------------------------------------------------

    def read_files(self, paths: list[str], progress: Progress | None) -> Self:
        read_each(paths, self.read, self.refuse, progress)
        if not self._intervals:
            raise self.no_data(paths[0])
        self.finish()
        return self

    def no_data(self, path: str) -> InputError:
        first = next((file for file in self._files if file.refusal), self._files[0])
        more = len(self._files) - 1
        message = first.refusal or "the report has no readable interval"
        if more:
            message += f" (and {more:,} more file{'s' * (more > 1)} without an interval)"
        path, offset = first.path, first.refusal_offset
        return InputError(message, file=path, offset=offset, expected=self.expected, cure=first.cure)

    def read(self, path: str, step: Callable[[int], None]) -> None:
        self._files.append(RmfFile(path, cure=self.cure))
        self._read_file(self._files[-1], step)

    def refuse(self, path: str, error: InputError) -> None:
        file = self._files[-1]
        file.refusal = error.message
        file.notes.add("changed", error.message, 0, lost=None)

    def _read_file(self, file: RmfFile, step: Callable[[int], None]) -> None:
        with open(file.path, "rb", buffering=0) as raw:
            fd = raw.fileno()
            file.size = os.fstat(fd).st_size
            form = form_of(os.pread(fd, 64 * 1024, 0))
            if form is None:
                file.refusal, file.refusal_offset = "this is not an RMF report", 0
                file.notes.add("changed", "this is no longer an RMF report; not read", 0, lost=file.size)
                return
            if form.ebcdic:
                file.refusal = "the XML is in EBCDIC; it was transferred in binary"
                file.refusal_offset = form.begin
                file.cure = "transfer it as text, or convert it: iconv -f IBM-1047 -t UTF-8"
                file.notes.add("transfer", f"{file.refusal}; {file.cure}", form.begin, lost=file.size)
                return
            file.encoding = form.encoding
            if form.stale:
                detail = f"the file declares the encoding {form.stale}; read as {form.encoding}"
                file.notes.add("transfer", detail, form.begin)
            parser = RmfXmlParser(
                self._facts,
                self._converters,
                file.notes,
                lambda report: self._keep(report, file),
                step,
            )
            reached = parser.read(fd, file.size, form)
            file.server = parser.server
            new_size = os.fstat(fd).st_size
            if new_size != file.size or reached < file.size:
                change = "grew" if new_size > file.size else "shrank"
                detail = f"the file {change} while it was read; read up to here"
                file.notes.add("changed", detail, reached, lost=None)
        if not file.intervals:
            problems = file.notes.problems(self.name, file.path)
            if parser.refusals:
                file.refusal, file.refusal_offset = parser.refusals[0]
            elif problems:
                file.refusal, file.refusal_offset = problems[0].detail, problems[0].offset
            if parser.answers:
                file.cure = "correct the request and repeat it"

    def _keep(self, report: ReportInterval, file: RmfFile) -> None:
        """Store the parts of an interval that were not yet read, unless its time is unknown."""
        notes = file.notes
        name = self._system_name(report, file.path)

        def reject(kind: str, detail: str, about: str) -> None:
            notes.add(kind, detail, report.offset, lost=report.bytes, about=about, system=name)

        times = self._times(report, name, file, reject)
        if times is None:
            return
        end = times.end
        parts = self._parts(report)
        header = {n: v for section in report.variables.values() for n, v in section.items() if v is not None}
        machine = machine_name(header.get("machine_type"), header.get("serial"))
        name = self._distinct_name(name, machine, end, parts)
        code = self._texts.code(name)
        digests = {part: report.digest(part) for part in parts}
        repeated_parts: dict[tuple[str, bool], list[str]] = {}
        for part in parts:
            known = self._index_of.get((code, end, part))
            if known is not None:
                index, digest = known
                other_path = self._intervals[index].file.path
                repeated_parts.setdefault((other_path, digest == digests.pop(part)), []).append(part)
        for (other_path, is_same), repeated in repeated_parts.items():
            location = "in this file" if other_path == file.path else f"in {other_path}"
            kind, difference = compare_repeat(is_same)
            part_names = f"{', '.join(repeated)} of " if all(repeated) else ""
            detail = (
                f"{part_names}the interval that ends {times.printed} was already read {location}{difference}"
                f"{self._duplicate_hint()}; not read"
            )
            lost = 0 if digests else report.bytes
            notes.add(kind, detail, report.offset, lost=lost, about=other_path, system=name)
            for part in repeated:
                report.drop(part)
        if not digests:
            return
        rows = self._rows + report.row_count + report.other_count
        is_full = len(self._intervals) >= MAX_INTERVALS or rows > MAX_ROWS
        if is_full or code < 0 or (code not in self._names and len(self._names) >= MAX_NAMES):
            reject("length", "more intervals or systems than zlens stores of one input; not read", "bound")
            return
        self._names.add(code)
        index = len(self._intervals)
        self._index_of.update({(code, end, part): (index, digest) for part, digest in digests.items()})
        flag = "cut" if report.cut or report.rows_missing else None
        self._intervals.append(StoredInterval(code, file, times, machine, flag))
        file.intervals += 1
        if file.intervals == 1 and self.local:
            notes.add("zone", LOCAL_TIMES, report.offset)
        self._store(report, index, times, notes)
        for label, counts in report.sections.items():
            key = (name, file.path, label)
            if key not in self._sections and len(self._sections) >= MAX_NAMES:
                notes.add("section", "more sections than zlens counts; not in the inventory", report.offset)
                continue
            section = self._sections.setdefault(key, _Section())
            section.add(counts)
            begin = times.begin
            section.first_us = begin if section.first_us is None else min(section.first_us, begin)
            section.last_us = end if section.last_us is None else max(section.last_us, end)
        if name not in self._latest or self._latest[name].end < end:
            previous = self._latest.get(name)
            self._latest[name] = _Latest(
                end,
                header or (previous.header if previous else {}),
                report.smf_level or (previous.level if previous else ""),
                self._offset(report, end),
            )

    def _distinct_name(self, name: str, machine: str | None, end: int, parts: Iterable[str]) -> str:
        """Return the system of a report, with its machine if another one of this name has the interval."""
        if machine is None:
            return name
        if (name, machine) not in self._distinct_names:
            code = self._texts.code(name)
            known_intervals = (self._index_of.get((code, end, part)) for part in parts)
            others = {self._intervals[known[0]].machine for known in known_intervals if known is not None}
            for system in self._known:
                machines = [facts["machine"] for first, last, facts in system.ranges if first < end <= last]
                if system.name == name:
                    others.update(machines)
                elif system.recorded_name == name and machine in machines:
                    return system.name
            if others <= {None, machine} or len(self._distinct_names) >= MAX_NAMES:
                return name
            self._distinct_names[name, machine] = f"{name}-{machine.partition('-')[2]}"
        return self._distinct_names[name, machine]

    def _store(self, report: ReportInterval, index: int, times: IntervalTimes, notes: ProblemList) -> None:
        for table, stored in self._stored:
            first = self._facts.sections[table.sections[0]]
            if first.shape in {"table", "rest"}:
                kinds = first.has_row_kind
                rows = _distinct(first, report.rows.get(first.id, ()), notes)
                leading: list[list[Any]] = [[row[0] for row in rows]]
                if kinds:
                    leading.append([row[1] for row in rows])
                stored.extend(index, leading, [row[2] for row in rows])
                self._rows += len(rows)
                continue
            row: list[Any] = [report.offset]
            has_values = False
            for name in table.sections:
                section = self._facts.sections[name]
                if section.shape == "interval":
                    facts = self._interval_facts(report, times)
                    has_values = self._has_interval_row(report)
                else:
                    facts = report.variables.get(name, {})
                    has_values = has_values or bool(facts)
                row += [facts.get(column.name) for column in section.columns]
            if has_values:
                stored.append(index, row)
                self._rows += 1

    def _has_interval_row(self, report: ReportInterval) -> bool:
        """Return whether a report without a header has a row in the table of intervals."""
        return True

    def _interval_facts(self, report: ReportInterval, times: IntervalTimes) -> dict[str, Any]:
        def number(name: str) -> float | None:
            text = report.header.get(name, "")
            try:
                return values.decimal(text) if text else None
            except values.NotAValueError:
                return None

        numbers = {name: number(name) for name in ("cycle", "num-samples", "gatherer-interval")}
        return {
            "interval_start": times.begin if times.begun else None,
            "local": self.local,
            "report": report.metric,
            "report_title": report.title or None,
            "report_type": report.type or None,
            "cycle_ms": _as_integer(numbers["cycle"]),
            "samples": _as_integer(numbers["num-samples"]),
            "gathered_s": numbers["gatherer-interval"],
            "smf_level": report.smf_level or None,
            "rmf_level": report.rmf_level or None,
            "server_level": report.server or None,
        }

    # -- names and times --------------------------------------------------------------------------

    @property
    @abstractmethod
    def local(self) -> bool:
        """Whether report times are local, with an unknown time zone."""

    @abstractmethod
    def _times(
        self, report: ReportInterval, name: str, file: RmfFile, reject: Callable[[str, str, str], None]
    ) -> IntervalTimes | None:
        """Return the times of an interval, or None after reporting a problem."""

    @abstractmethod
    def _offset(self, report: ReportInterval, end: int) -> int | None:
        """Return the offset of the local time of the system from UTC in seconds."""

    def _threads(self, header: dict[str, Any]) -> dict[str, int]:
        """Return active threads per core by processor type, if the header contains them."""
        return {}

    def _parts(self, report: ReportInterval) -> list[str]:
        """Return the parts that one report contains completely: two reports of an interval share none."""
        return [""]

    def _duplicate_hint(self) -> str:
        return ""

    @staticmethod
    def _system_name(report: ReportInterval, path: str) -> str:
        partition = next(filter(None, (one.get("partition") for one in report.variables.values())), None)
        return report.system or partition or unknown_system(path)

    # -- after reading ----------------------------------------------------------------------------

    def finish(self) -> None:
        for _, stored in self._stored:
            stored.flush_rows()
        by_system: dict[str, list[StoredInterval]] = {}
        for interval in sorted(self._intervals, key=lambda interval: interval.times.end):
            by_system.setdefault(self._texts.texts[interval.system], []).append(interval)
        self.systems += (self._system_info(*item) for item in sorted(by_system.items()))

    def _system_info(self, name: str, intervals: list[StoredInterval]) -> SystemInfo:
        # Interval lengths differ from the nominal length by a few milliseconds.
        lengths = Counter(round(each.seconds) for each in intervals if each.seconds and not each.flag)
        nominal = float(max(lengths, key=lambda s: (lengths[s], s))) if lengths else None
        if nominal:
            for each in intervals:
                if each.flag is None and each.seconds and each.seconds < nominal / 2:
                    each.flag = "short"
            self._note_gaps(name, intervals, nominal)
        latest = self._latest[name]
        header = latest.header
        first_by_end: dict[int, Interval] = {}
        for each in intervals:
            first_by_end.setdefault(each.times.end, Interval(each.times.end, each.seconds, each.flag))
        return SystemInfo(
            system=name,
            source=self.name,
            machine_type=header.get("machine_type"),
            model=header.get("model"),
            serial=header.get("serial"),
            release=latest.level or None,
            lpar=header.get("partition"),
            recorded_name=next(
                (recorded for (recorded, _), shown in self._distinct_names.items() if shown == name), None
            ),
            threads=self._threads(header),
            utc_offset_s=latest.offset_s,
            local_time=self.local,
            nominal_s=nominal,
            first_us=min(each.times.begin for each in intervals),
            last_us=intervals[-1].times.end,
            files=list(dict.fromkeys(each.file.path for each in intervals)),
            known=list(first_by_end.values()),
        )

    def _note_gaps(self, name: str, intervals: list[StoredInterval], nominal: float) -> None:
        """Report gaps between intervals."""
        for earlier, later in pairwise(intervals):
            gap = later.times.begin - earlier.times.end
            if gap > 500_000 * nominal:
                detail = f"no report for {gap / 60e6:,.0f} minutes from {minute_text(earlier.times.end)}"
                self._note_gap(name, later, "gap", f"{detail}{' local time' if self.local else ''}")

    def _note_gap(self, name: str, later: StoredInterval, kind: str, detail: str) -> None:
        if len(self._gaps) < MAX_GAPS:
            self._gaps.append(Problem(name, self.name, later.file.path, None, None, kind, detail, None))

    # -- the source interface ---------------------------------------------------------------------

    def problems(self, *, complete: bool = False) -> list[Problem]:
        """Return the problems of reading, which are complete once the files are read."""
        problems = [problem for file in self._files for problem in file.notes.problems(self.name, file.path)]
        dropped = self._texts.dropped + self._other_texts.dropped
        if dropped:
            detail = f"{dropped:,} texts beyond the limit for one input; they are NULL"
            problems.append(Problem(None, self.name, self._files[0].path, None, None, "length", detail, None))
        return problems + self._gaps

    def inventory(self, *, with_layouts: bool = True) -> list[InventoryRow]:
        """Return one row per section, system and file."""
        return [
            InventoryRow(
                system, self.name, file, None, None, label, label.rpartition(": ")[2], "section",
                section.count, section.bytes, section.first_us, section.last_us,
                layout=self.facts if section.known else None,
            )
            for (system, file, label), section in sorted(self._sections.items())
        ]  # fmt: skip

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


def _distinct(section: RmfSection, rows: Sequence[TableRow], notes: ProblemList) -> Sequence[TableRow]:
    """Return the rows of a table without duplicate subjects."""
    if not section.key:
        return rows
    firsts: dict[tuple[Any, ...], TableRow] = {}
    distinct = []
    for row in rows:
        offset, kind, row_values = row
        subject = tuple(row_values[index] for index in section.key_places)
        first = row if subject[0] is None else firsts.setdefault((kind, *subject), row)
        if first is row:
            distinct.append(row)
            continue
        name = ", ".join(str(value) for value in subject if value is not None)
        kind, _ = compare_repeat(first[2] == row_values)
        outcome = "twice; read once" if kind == "duplicate" else "again with other values; the first is shown"
        notes.add(kind, f"the row {name} of {section.label} comes {outcome}", offset)
    return distinct


def _as_integer(number: float | None) -> int | None:
    return int(number) if number is not None and number == int(number) else None


def minute_text(us: int) -> str:
    return f"{from_unix_us(us):%Y-%m-%d %H:%M}"
