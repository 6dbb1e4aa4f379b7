"""z/OS text about processors: displays of cores, CPUs and HIS, .CNT files, messages on machine changes.

A file contains one or more of these messages, possibly among the lines of a log. A display is a snapshot with
the time in the log if its line has a date, otherwise the date of the file. Only a log names the system;
without one, the partition, or the one system in the input with the same machine, provides the name.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from zlens._native import unix_us_from_tod
from zlens.catalog.raw_tables import load_tables
from zlens.catalog.zos_messages import MessageFacts
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.inputs.problems import Problem
from zlens.inputs.source import Interval, InventoryRow, Progress, SystemInfo
from zlens.inputs.unix_time import LATEST_US, from_unix_us, local_us
from zlens.readers.files import NotedFile, TextSource, compare_repeat, unknown_system
from zlens.readers.row_tables import Row, RowTable, leading
from zlens.readers.smf import systems as smf_systems
from zlens.readers.zos import log_lines as texts
from zlens.readers.zos.his import HisRun
from zlens.readers.zos.log_lines import LogLine
from zlens.readers.zos.notices import Notice
from zlens.readers.zos.processors import ProcessorDisplay

NAME = "zos-text"

#: Limits on the messages and values stored from one input, in case a file has another format.
MAX_MESSAGES, MAX_VALUES = 10_000, 3_000_000

_EXPECTED = (
    "the response to DISPLAY M=CORE (IEE174I) or DISPLAY HIS (HIS015I), a .CNT file (HIS019I), or lines of a "
    f"log with {', '.join(sorted(texts.NOTICES))}"
)
_SECOND = 1_000_000
_LOSING = frozenset({"truncated", "length", "changed"})

Message = ProcessorDisplay | HisRun | Notice


def detect(first_bytes: bytes, size: int) -> bool:
    """Return whether one of these messages starts in the first lines."""
    return texts.encoding(first_bytes) is not None


def open_files(paths: list[str], options: Options, progress: Progress | None = None) -> ZosTextSource:
    """Read the messages of all files. Raises InputError if none of them contains data."""
    return ZosTextSource(options.tz, options.leap or 0, options.date).read_files(paths, progress)


class _MessageFile(NotedFile):
    """One file and its messages. others: number of lines outside these messages."""

    time_us: int = 0
    others: int = 0
    paging: int = 0
    code: str | None = None
    #: The date of the last line that has one, and whether a line without a date was reported.
    date: dt.date | None = None
    undated: bool = False
    statements: list[_LocatedMessage] = field(default_factory=list)


class _LocatedMessage(Struct, eq=False):
    """A message with its file and system."""

    file: _MessageFile
    message: Message
    info: SystemInfo
    time_us: int = 0

    @property
    def run_file_prefix(self) -> str | None:
        """The part of the file name that all files of one HIS run share."""
        if not isinstance(self.message, HisRun):
            return None
        name = self.message.values.get("file_name") or self.message.values.get("file_prefix") or ""
        return ".".join(str(name).rpartition("/")[2].split(".")[:2]) or None


class ZosTextSource(TextSource):
    """All z/OS text files of an input."""

    name = NAME
    beside = "smf"

    def __init__(self, zone: dt.tzinfo | None, leap: int, date: dt.date | None) -> None:
        super().__init__()
        self._zone = zone
        self._leap = leap
        self._date = date
        self._files: list[_MessageFile] = []
        self._value_count = 0
        self._repeats: list[Problem] = []
        #: The reason why text matched a system of another source, by system.
        self._matched_by: dict[str, str] = {}

    # -- reading -------------------------------------------------------------------------------------

    def refuse(self, path: str, error: InputError) -> None:
        self._files[-1].note("changed", error.message, 0)

    def finish(self) -> None:
        self._assign_systems()
        self._set_times_and_tables()

    def no_data(self, path: str) -> InputError:
        file = self._files[0]
        if file.paging:
            return InputError(
                "this is the response to DISPLAY ASM (IEE200I), which describes page data sets; zlens does "
                "not read it",
                file=file.path, offset=0, expected=_EXPECTED,
            )  # fmt: skip
        reason = file.notes[0][1] if file.notes else "none found"
        return InputError(
            f"the file has no usable z/OS message: {reason}", file=file.path, offset=0, expected=_EXPECTED,
            cure="copy the message with all its lines",
        )  # fmt: skip

    def read(self, path: str, step: Callable[[int], None]) -> None:
        file = _MessageFile(path)
        self._files.append(file)
        with open(file.path, "rb") as raw:
            status = os.fstat(raw.fileno())
            file.size, file.time_us = status.st_size, round(status.st_mtime_ns / 1000)
            first_bytes = raw.read(64 * 1024)
            file.code = texts.encoding(first_bytes)
            raw.seek(0)
            if file.code is None:
                file.note("changed", "the file no longer contains a z/OS message; not read", 0)
                return
            counters = texts.COUNTERS in first_bytes.decode(file.code, "replace")
            lines = texts.lines(raw, file.code, file.note, step, counters=counters)
            for message in self._messages(file, lines):
                if isinstance(message, Notice):
                    if message.wrong is not None:
                        file.note(*message.wrong, message.start.offset)
                        continue
                    self._set_date(file, message)
                else:
                    message.finish()
                if isinstance(message, Notice) or message.has_data:
                    file.statements.append(_LocatedMessage(file, message, SystemInfo("", NAME)))
                self._value_count += message.size
            if os.fstat(raw.fileno()).st_size != file.size:
                file.note("changed", "the file changed while it was read", file.size)

    def _set_date(self, file: _MessageFile, notice: Notice) -> None:
        """Set the date of a line that has none, and report where it is from, once for a file."""
        if notice.start.date is not None:
            file.date = notice.start.date
            return
        date, origin = file.date, "that of a line above"
        if date is None:
            date, origin = self._date_outside(file)
        self._note_date(file, notice.start, f"the line has no date; it is taken to be {date}, {origin}")
        notice.start = replace(notice.start, date=date)

    def _date_outside(self, file: _MessageFile) -> tuple[dt.date, str]:
        """Return the date of a text that has none, and where it is from."""
        if self._date is not None:
            return self._date, "the given one"
        return from_unix_us(file.time_us).date(), "that of the file (option date)"

    def _note_date(self, file: _MessageFile, start: texts.MessageStart, detail: str) -> None:
        """Report once for a file where its date is from."""
        if not file.undated:
            file.undated = True
            file.note("zone", f"{start.id}: {detail}", start.offset)

    def _messages(self, file: _MessageFile, lines: Iterator[LogLine]) -> Iterator[Message]:
        """Yield the messages of a file in order."""
        message: ProcessorDisplay | HisRun | None = None
        paging = False
        for line in lines:
            file.date = texts.line_date(line) or file.date
            start = texts.message_start(line)
            awaits_status = isinstance(message, ProcessorDisplay) and message.form is None
            if start is not None and not (start.bare and awaits_status):
                if message is not None:
                    yield message
                message, paging = None, start.id == texts.PAGING
                file.paging += paging
                if (
                    self._value_count > MAX_VALUES
                    or sum(len(each.statements) for each in self._files) >= MAX_MESSAGES
                ):
                    detail = "more messages than zlens stores of one input; not read from here on"
                    file.note("length", detail, line.offset)
                    return
                if start.id in texts.NOTICES:
                    yield Notice.of(start, line)
                elif not paging:
                    form = ProcessorDisplay if start.id == texts.STATUS else HisRun
                    message = form(start, file.note)
                    if start.id in (texts.STATUS, texts.COUNTERS):
                        _parse_line(message, line)
                continue
            if message is not None and _parse_line(message, line):
                continue
            if any(map(texts.is_other, texts.candidate_bodies(line, message.start.column if message else 0))):
                if message is not None:
                    yield message
                message, paging = None, False
            if message is not None:
                message.note_foreign_line(line)
            elif line.text.strip() and not paging:
                file.others += 1
        if message is not None:
            yield message

    # -- matching messages to systems -----------------------------------------------------------------------

    def _assign_systems(self) -> None:
        """Assign a system to every message: from the log, the partition, or a matching message."""
        statements = [statement for file in self._files for statement in file.statements]
        systems: dict[str, SystemInfo] = {}
        for statement in statements:
            message = statement.message
            lpar = message.values.get("lpar") if isinstance(message, ProcessorDisplay) else None
            name = message.start.system or lpar
            if name:
                statement.info = systems.setdefault(name, SystemInfo(name, NAME))
        for statement in statements:
            if not statement.info.system:
                statement.info = self._find_system(statement, statements)
        for statement in statements:
            _describe(statement)
        self.systems = list({id(statement.info): statement.info for statement in statements}.values())

    def _find_system(self, statement: _LocatedMessage, statements: Sequence[_LocatedMessage]) -> SystemInfo:
        """Return the system of a message that does not name one."""
        prefix = statement.run_file_prefix
        named = [other for other in statements if other.info.system]
        agreeing = [other for other in named if _agree(statement, other)]
        for candidates in (
            [other for other in named if prefix is not None and other.run_file_prefix == prefix],
            [other for other in agreeing if other.file is statement.file],
            [other for other in agreeing if isinstance(other.message, ProcessorDisplay)],
        ):
            if len({id(other.info) for other in candidates}) == 1:
                return candidates[0].info
        name = unknown_system(statement.file.path)
        names = {other.info.system for other in statements}
        while name in names:
            name += "'"
        return SystemInfo(name, NAME)

    def take_identity_from(self, others: Sequence[SystemInfo]) -> None:
        """Take the name and time zone of the matching z/OS system in the input.

        A system matches by name. Otherwise the only z/OS system matches if its machine is the same or unknown
        and its partition does not contradict. Two partitions are never one system.
        """
        zos = {info.system: info for info in others}
        lpars = {info.lpar for info in self.systems if info.lpar and info.system not in zos}
        for info in self.systems:
            other = zos.get(info.system)
            if other is None and len(zos) == 1:
                (only,) = zos.values()
                same = only.lpar == info.lpar if only.lpar and info.lpar else not info.lpar or len(lpars) == 1
                if same and _same_machine(info, only):
                    other = only
                    self._matched_by[other.system] = "the machine" if info.machine else "being the only one"
            if other is not None:
                info.system = other.system
                info.utc_offset_s = other.utc_offset_s if info.utc_offset_s is None else info.utc_offset_s
        self._merge()
        self._set_times_and_tables()

    def _merge(self) -> None:
        """Merge systems that are the same."""
        first: dict[str, SystemInfo] = {}
        for info in self.systems:
            first.setdefault(info.system, info)
        for statement in (statement for file in self._files for statement in file.statements):
            statement.info = first[statement.info.system]
            _describe(statement)
        self.systems = list(first.values())

    def _set_times_and_tables(self) -> None:
        """Set times, intervals and tables once the systems are known."""
        statements = [statement for file in self._files for statement in file.statements]
        for info in self.systems:
            info.intervals, info.files, info.first_us, info.last_us = [], [], None, None
            info.local_time = False
        for statement in statements:
            statement.time_us = self._time(statement)
        statements = self._without_duplicates(statements)
        seen: set[tuple[int, int]] = set()
        for statement in sorted(statements, key=lambda item: item.time_us):
            info = statement.info
            if statement.file.path not in info.files:
                info.files.append(statement.file.path)
            end = statement.time_us
            seconds = _seconds(statement.message) if isinstance(statement.message, HisRun) else None
            start = end - round((seconds or 0) * _SECOND)
            info.first_us = start if info.first_us is None else min(info.first_us, start)
            info.last_us = end if info.last_us is None else max(info.last_us, end)
            if (id(info), end) not in seen:
                seen.add((id(info), end))
                info.intervals.append(Interval(end, seconds))
        self.systems.sort(key=lambda info: info.system)
        self._make_tables(statements)

    def _without_duplicates(self, statements: Sequence[_LocatedMessage]) -> list[_LocatedMessage]:
        """Return the messages without duplicates, which are reported as problems."""
        self._repeats = []
        statements_by_identity: dict[tuple[Any, ...], _LocatedMessage] = {}
        for statement in statements:
            first = statements_by_identity.setdefault(self._identity(statement), statement)
            if first is statement:
                continue
            kind, difference = compare_repeat(_values(first.message) == _values(statement.message))
            location = "in this file" if first.file is statement.file else f"in {first.file.path}"
            start = statement.message.start
            detail = f"{texts.TITLES[start.id]}: already read {location}{difference}; not read again"
            system, path = statement.info.system, statement.file.path
            self._repeats.append(Problem(system, NAME, path, start.offset, start.id, kind, detail))
        return list(statements_by_identity.values())

    def _identity(self, statement: _LocatedMessage) -> tuple[Any, ...]:
        """Return the key of a message, with the time of a display, the run of counters or the event text."""
        message = statement.message
        subject: Any
        if isinstance(message, HisRun):
            subject = message.values.get("file_name") or message.values.get("file_prefix")
        elif isinstance(message, Notice) or message.start.clock is None:
            # Events have no subject, and displays at unknown times may differ.
            subject = repr(_values(message))
        else:
            subject = message.form
        return (statement.info.system, message.start.id, statement.time_us, message.start.clock, subject)

    def _time(self, statement: _LocatedMessage) -> int:
        """Return the time of a display, or the end of the run of a .CNT file, in microseconds UTC."""
        if isinstance(statement.message, HisRun) and (
            ends := [c.end_tod for c in statement.message.cpus.values() if c.end_tod]
        ):
            return unix_us_from_tod(max(ends), self._leap)
        start = statement.message.start
        local = start.local
        if local is None and isinstance(statement.message, HisRun) and start.id == texts.COUNTERS:
            date, origin = self._date_outside(statement.file)
            detail = f"no run has an end, and the text has no date; it is taken to be {date}, {origin}"
            self._note_date(statement.file, start, detail)
        if local is None and self._date is not None:
            local = dt.datetime.combine(self._date, start.clock or dt.time())
        if local is None:
            return min(max(statement.file.time_us, 0), LATEST_US)
        if statement.info.utc_offset_s is not None:
            local -= dt.timedelta(seconds=statement.info.utc_offset_s)
        elif self._zone is not None:
            local = local.replace(tzinfo=self._zone).astimezone(dt.UTC).replace(tzinfo=None)
        else:
            statement.info.local_time = True
        return local_us(local)

    # -- tables --------------------------------------------------------------------------------------

    def _make_tables(self, statements: Sequence[_LocatedMessage]) -> None:
        tables, labels = load_tables("zos/text_tables"), MessageFacts.load()
        others = {
            "his_run": [*labels.run.values(), *labels.service.values()],
            "zos_status": [*labels.machine.values()],
        }
        rows: dict[str, list[Row]] = {name: [] for name in tables.tables}
        for statement in statements:
            message = statement.message
            # All processors of a run share one interval, which ends with the last of them.
            system, path = statement.info.system, statement.file.path
            header = leading(system, NAME, path, message.start.offset, statement.time_us)
            if isinstance(message, Notice):
                rows["zos_notice"].append({**header, **message.row()})
                continue
            if isinstance(message, ProcessorDisplay):
                rows["zos_status"].append({**header, **message.row()})
                rows["zos_core"] += [{**header, **core} for core in message.cores]
                rows["zos_cpu"] += [{**header, **cpu} for cpu in message.cpus]
                continue
            rows["his_run"].append({**header, "seconds": _seconds(message), **message.row()})
            for table, samples in (("his_cnt", message.samples()), ("his_counter", message.counters())):
                for cpu, row in samples:
                    end = header["tod"] if cpu.end_tod is None else unix_us_from_tod(cpu.end_tod, self._leap)
                    cpu_columns = {"tod": end, "seconds": cpu.seconds, "offset": cpu.offset}
                    rows[table].append({**header, **cpu_columns, **row})
        for name, table_rows in rows.items():
            columns = tables.columns(name, [label.column for label in others.get(name, ())])
            self.tables[name] = [RowTable(name, columns, table_rows)]

    # -- the source interface ------------------------------------------------------------------------

    def problems(self, *, complete: bool = False) -> list[Problem]:
        """Return the problems of reading, which are complete once the files are read."""
        problems = list(self._repeats)
        for file in self._files:
            systems = {statement.info.system for statement in file.statements}
            system = systems.pop() if len(systems) == 1 else None
            problems += file.problems(system, NAME, None, _LOSING)
        return problems

    def inventory(self, *, with_layouts: bool = True) -> list[InventoryRow]:
        """Return one row per file, system and message type."""
        rows = []
        for file in self._files:
            groups: dict[tuple[str, str], list[_LocatedMessage]] = {}
            for statement in file.statements:
                groups.setdefault((statement.info.system, statement.message.start.id), []).append(statement)
            for (system, name), group in groups.items():
                messages = [statement.message for statement in group]
                sizes = [max(message.end - message.start.offset, 0) for message in messages]
                times = [statement.time_us for statement in group]
                rows.append(
                    InventoryRow(
                        system, NAME, file.path, None, None, name, texts.TITLES[name], "section", len(group),
                        sum(sizes), min(times), max(times), min(sizes), max(sizes), "zlens",
                    )
                )  # fmt: skip
            if file.paging:
                rows.append(
                    InventoryRow(
                        None, NAME, file.path, None, None, texts.PAGING, texts.TITLES[texts.PAGING],
                        "section", file.paging, None,
                    )
                )  # fmt: skip
        return rows

    def info(self) -> list[dict[str, Any]]:
        """Return one object per file, including the options of HIS runs."""
        return [
            {
                "format": "z/OS text" + (" in EBCDIC" if file.code == "cp037" else ""),
                "path": file.path,
                "bytes": file.size,
                **_run_facts(file),
                **_display_facts(file),
                "of_the_system_by": ", ".join(dict.fromkeys(filter(None, matches))) or None,
                "times": _times(file, self._date),
                "other_lines": file.others or None,
            }
            for file in self._files
            for matches in [[self._matched_by.get(each.info.system) for each in file.statements]]
        ]


def _parse_line(message: ProcessorDisplay | HisRun, line: LogLine) -> bool:
    """Parse a line and return whether it belongs to a message."""
    message.end = line.offset + len(line.text)
    bodies = dict.fromkeys(texts.candidate_bodies(line, message.start.column))
    return any(not body or message.parse_body(body, line) for body in bodies)


def _seconds(message: HisRun) -> float | None:
    return max((cpu.seconds for cpu in message.cpus.values() if cpu.seconds is not None), default=None)


def _values(message: Message) -> Any:
    """Return the content of a message, without its location."""
    if isinstance(message, Notice):
        rows = [message.row()]
    elif isinstance(message, ProcessorDisplay):
        rows = [message.row(), *message.cores, *message.cpus]
    else:
        counts = [*message.samples(), *message.counters()]
        rows = [message.row(), *({**row, "end": cpu.end_tod} for cpu, row in counts)]
    return [{name: value for name, value in row.items() if name != "offset"} for row in rows]


def _describe(statement: _LocatedMessage) -> None:
    """Set the system facts that a message contains."""
    info, message = statement.info, statement.message
    kind, model, serial = message.machine
    info.machine_type = info.machine_type or kind
    info.model = info.model or model
    info.serial = info.serial or serial
    if isinstance(message, ProcessorDisplay):
        info.lpar = info.lpar or message.values.get("lpar")
        number = message.values.get("lpar_id")
        if info.lpar_number is None and number and len(number) <= 4 and number.isalnum():
            info.lpar_number = int(number, 16) if set(number) <= set("0123456789ABCDEF") else None
        info.threads = info.threads or dict(message.threads)
    elif isinstance(message, HisRun) and message.start_time is not None and info.utc_offset_s is None:
        local, tod = message.start_time
        info.utc_offset_s = smf_systems.offset_s(local_us(local), unix_us_from_tod(tod, info.leap_s))
        if info.utc_offset_s is None:
            statement.file.note("time", "START TIME and START TOD do not match", message.start.offset)


def _serial(text: str | None) -> str:
    return (text or "").lstrip("0")


def _same(first: tuple[str | None, str | None], second: tuple[str | None, str | None]) -> bool:
    """Return whether types and serial numbers can belong to one machine; missing values match anything."""
    return all(not a or not b or a == b for a, b in zip(first, second, strict=True))


def _agree(statement: _LocatedMessage, other: _LocatedMessage) -> bool:
    (kind, _, serial), (other_kind, _, other_serial) = statement.message.machine, other.message.machine
    return _same((kind, _serial(serial)), (other_kind, _serial(other_serial)))


def _same_machine(info: SystemInfo, other: SystemInfo) -> bool:
    """Return whether the machines match. Text that names a partition must match exactly."""
    machines = (info.machine_type, _serial(info.serial)), (other.machine_type, _serial(other.serial))
    return machines[0] == machines[1] if info.lpar else _same(*machines)


def _run_facts(file: _MessageFile) -> dict[str, Any]:
    """Return the options of HIS runs, without duplicates from several messages."""
    runs = [statement.message for statement in file.statements if isinstance(statement.message, HisRun)]
    options: dict[str, Any] = {}
    for label, name in _RUN_OPTIONS.items():
        values = dict.fromkeys(str(run.values[name]) for run in runs if run.values.get(name) is not None)
        options[label] = "; ".join(values).replace(", ", " + ") or None
    options["cpus_counted"] = max((len(run.cpus) for run in runs), default=0) or None
    return options


def _times(file: _MessageFile, date: dt.date | None) -> str | None:
    """Return the origin of the times of displays, if it is not the text."""
    starts = [statement.message.start for statement in file.statements]
    if all(start.local is not None or start.id == texts.COUNTERS for start in starts):
        return None
    return "times are the date of the file" if date is None else "times have the given date"


#: The his_run columns that `info` shows, by label.
_RUN_OPTIONS = {
    "SMFINTVAL": "smfintval",
    "CNTINTVAL": "cntintval",
    "STATECHANGE": "statechange",
    "counter_sets_asked_for": "counter_sets_asked",
    "counter_sets": "counter_sets",
    "HIS": "state",
}


def _display_facts(file: _MessageFile) -> dict[str, Any]:
    """Return the facts of the last processor display."""
    messages = [statement.message for statement in file.statements]
    displays = [message for message in messages if isinstance(message, ProcessorDisplay)]
    if not displays:
        return {}
    row = displays[-1].row()
    flag = row.get("hiperdispatch")
    return {
        "HiperDispatch": None if flag is None else "on" if flag else "off",
        "cores_online": row["cores_online"],
        "of_these_parked": row["cores_parked"],
        "percent_of_normal_effectiveness": row.get("effectiveness_pct"),
        "displayed": row["displayed"],
        "cpus_online": sum(cpu["state"] == "online" for cpu in displays[-1].cpus) or None,
    }
