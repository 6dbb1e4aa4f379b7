"""Texts of z/OS about its processors: answers to DISPLAY M=CORE, M=CPU and HIS, and .CNT files of HIS.

A file holds one of these messages or several, alone or among the lines of a log. A display shows one moment:
that of the log where its line tells a date, else that of the file's date. Only a log tells the system: else
the partition's name stands in, or that of the one system of the input that the machine agrees with.
"""

from __future__ import annotations

import datetime as dt
import os
from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zlens import _native
from zlens.catalog.columns import Column
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.inputs.problems import Problem
from zlens.inputs.source import Interval, InventoryRow, Progress, RawTable, SystemInfo
from zlens.readers.files import total_size, unreadable
from zlens.readers.rows import Row, RowTable
from zlens.readers.smf import systems as smf_systems
from zlens.readers.zos import his, processors
from zlens.readers.zos import lines as texts
from zlens.readers.zos.his import Run
from zlens.readers.zos.lines import Begin, Line
from zlens.readers.zos.processors import Display

NAME = "zos-text"

#: Messages and values kept of one input: bounds for files that are no such texts.
MAX_MESSAGES, MAX_VALUES = 10_000, 3_000_000
#: Problems of one kind and file that get a row of their own.
MAX_NOTES = 50

_EXPECTED = "the answer to DISPLAY M=CORE (IEE174I) or DISPLAY HIS (HIS015I), or a .CNT file (HIS019I)"
_SECOND = 1_000_000
_EPOCH = dt.datetime(1970, 1, 1)
#: No time is later than the year 2200.
_LAST_US = 7_258_118_400 * _SECOND

HEADER = (
    Column("system", "text", "", "system: as the log names it, else the partition's name"),
    Column("source", "text", "", "where it comes from"),
    Column("file", "text", "", "file"),
    Column("offset", "int", "bytes", "where it begins in its file"),
    Column(
        "tod",
        "time",
        "",
        "end of a run of counters; moment of a display, by its log or the date of the file; UTC or local",
    ),
    Column("interval_end", "time", "", "the same"),
    Column("seconds", "float", "s", "length of a run of counters; NULL: it tells of a moment"),
    Column("flag", "text", "", "NULL"),
)

Message = Display | Run


def detect(head: bytes, size: int) -> bool:
    """Whether one of these messages begins among the first lines."""
    return texts.encoding(head) is not None


def open_files(paths: list[str], options: Options, progress: Progress | None = None) -> ZosTextSource:
    """Read the messages of all files. Raises InputError where not one tells anything."""
    source = ZosTextSource(options.tz, options.leap or 0)
    source.read(paths, progress)
    return source


@dataclass(slots=True)
class _File:
    """What there is to say of one file. others: lines outside these messages."""

    path: str
    size: int = 0
    time_us: int = 0
    others: int = 0
    paging: int = 0
    code: str | None = None
    told: list[_Statement] = field(default_factory=list)
    tally: Tally[str] = field(default_factory=Tally)
    notes: list[tuple[str, str, int | None]] = field(default_factory=list)

    def note(self, kind: str, detail: str, offset: int | None) -> None:
        self.tally[kind] += 1
        if self.tally[kind] <= MAX_NOTES:
            self.notes.append((kind, detail, offset))


@dataclass(slots=True, eq=False)
class _Statement:
    """A message, its file, and the system it is of."""

    file: _File
    message: Message
    info: SystemInfo
    time_us: int = 0

    @property
    def run_of(self) -> str | None:
        """What the files of one run of HIS have in common."""
        if isinstance(self.message, Display):
            return None
        name = self.message.facts.get("file_name") or self.message.facts.get("file_prefix") or ""
        return ".".join(str(name).rpartition("/")[2].split(".")[:2]) or None


class ZosTextSource:
    """All such texts of an input."""

    name = NAME
    beside = "smf"

    def __init__(self, zone: dt.tzinfo | None, leap: int) -> None:
        self.systems: list[SystemInfo] = []
        self.tables: dict[str, list[RawTable]] = {}
        self._zone = zone
        self._leap = leap
        self._files: list[_File] = []
        self._held = 0
        #: By what a text was taken for one of a system of another source.
        self._taken: dict[str, str] = {}

    # -- reading -------------------------------------------------------------------------------------

    def read(self, paths: list[str], progress: Progress | None) -> None:
        total, before = total_size(paths), 0
        error: InputError | None = None
        for path in paths:
            file = _File(path)
            try:
                self._read_file(file, progress, before, total)
            except OSError as failure:
                refused = unreadable(path, failure)
                error = error or refused
                file.note("changed", refused.message, 0)
            before += file.size
            self._files.append(file)
        if not any(file.told for file in self._files):
            raise error or self._nothing()
        self._name()
        self._settle()

    def _nothing(self) -> InputError:
        file = self._files[0]
        if file.paging:
            return InputError(
                "this is the answer to DISPLAY ASM (IEE200I), which tells of page data sets: zlens shows "
                "nothing of them",
                file=file.path, offset=0, expected=_EXPECTED,
            )  # fmt: skip
        said = file.notes[0][1] if file.notes else "there is none"
        return InputError(
            f"no message of z/OS in it can be used: {said}", file=file.path, offset=0, expected=_EXPECTED,
            cure="copy the message with all its lines",
        )  # fmt: skip

    def _read_file(self, file: _File, progress: Progress | None, before: int, total: int) -> None:
        with open(file.path, "rb") as raw:
            status = os.fstat(raw.fileno())
            file.size, file.time_us = status.st_size, round(status.st_mtime_ns / 1000)
            file.code = texts.encoding(raw.read(64 * 1024))
            raw.seek(0)
            if file.code is None:
                file.note("changed", "no message of z/OS stands in it any more; not read", 0)
                return

            def step(done: int) -> None:
                if progress is not None:
                    progress(before + done, total, file.path)

            for message in self._messages(file, texts.lines(raw, file.code, file.note, step)):
                message.finish()
                if message.told:
                    file.told.append(_Statement(file, message, SystemInfo("", NAME)))
                self._held += message.size
            if os.fstat(raw.fileno()).st_size != file.size:
                file.note("changed", "the file changed while it was read", file.size)

    def _messages(self, file: _File, lines: Iterator[Line]) -> Iterator[Message]:
        """The messages of a file, one after the other."""
        message: Message | None = None
        paging = False
        for line in lines:
            start = texts.begin(line)
            if start is not None and not (start.bare and _awaits_status(message)):
                if message is not None:
                    yield message
                message, paging = None, start.id == texts.PAGING
                file.paging += paging
                if (
                    self._held > MAX_VALUES
                    or len(file.told) + sum(len(f.told) for f in self._files) >= MAX_MESSAGES
                ):
                    what = "more messages than zlens keeps of one input; not read from here"
                    file.note("length", what, line.offset)
                    return
                if not paging:
                    message = _message(start, file)
                    if start.id in (texts.STATUS, texts.COUNTERS):
                        message.take(line)
                continue
            if message is not None and message.take(line):
                continue
            if any(map(texts.is_other, texts.bodies(line, message.start.column if message else 0))):
                if message is not None:
                    yield message
                message, paging = None, False
            if message is not None:
                message.strange(line)
            elif line.text.strip() and not paging:
                file.others += 1
        if message is not None:
            yield message

    # -- what belongs together -----------------------------------------------------------------------

    def _name(self) -> None:
        """Give every message its system: by the log, by the partition, else by what is known beside it."""
        everything = [told for file in self._files for told in file.told]
        named: dict[str, SystemInfo] = {}
        for told in everything:
            message = told.message
            lpar = message.facts.get("lpar") if isinstance(message, Display) else None
            name = message.start.system or lpar
            if name:
                told.info = named.setdefault(name, SystemInfo(name, NAME))
        for told in everything:
            if not told.info.system:
                told.info = self._unnamed(told, everything)
        for told in everything:
            _describe(told)
        self.systems = list({id(told.info): told.info for told in everything}.values())

    def _unnamed(self, told: _Statement, everything: Sequence[_Statement]) -> SystemInfo:
        """The system of a message that names none."""
        beside = [other for other in everything if other.info.system]
        same = [other for other in beside if other.run_of is not None and other.run_of == told.run_of]
        near = [other for other in beside if other.file is told.file and _agree(told, other)]
        alike = [other for other in beside if isinstance(other.message, Display) and _agree(told, other)]
        for found in (same, near, alike):
            if len({id(other.info) for other in found}) == 1:
                return found[0].info
        name = f"unknown-{Path(told.file.path).stem}"
        taken = {other.info.system for other in everything}
        while name in taken:
            name += "'"
        return SystemInfo(name, NAME)

    def accompany(self, others: Sequence[SystemInfo]) -> None:
        """Take name and zone from the system of z/OS in the input that this is.

        It is the one of the same name; else the only one, if the machine is the same and the partition too as
        far as it is told, or if nothing is told of the machine. Two partitions are not one system.
        """
        zos = {info.system: info for info in others}
        told = {info.lpar for info in self.systems if info.lpar and info.system not in zos}
        for info in self.systems:
            other = zos.get(info.system)
            if other is None and len(zos) == 1:
                (only,) = zos.values()
                same = only.lpar == info.lpar if only.lpar and info.lpar else not info.lpar or len(told) == 1
                if same and _same_machine(info, only):
                    other = only
                    self._taken[other.system] = "the machine" if info.machine else "being the only one"
            if other is not None:
                info.system = other.system
                info.utc_offset_s = other.utc_offset_s if info.utc_offset_s is None else info.utc_offset_s
        self._join()
        self._settle()

    def _join(self) -> None:
        """Systems that turned out to be one."""
        first: dict[str, SystemInfo] = {}
        for info in self.systems:
            first.setdefault(info.system, info)
        for told in (told for file in self._files for told in file.told):
            told.info = first[told.info.system]
            _describe(told)
        self.systems = list(first.values())

    def _settle(self) -> None:
        """Times, intervals and tables, when the systems are known."""
        everything = [told for file in self._files for told in file.told]
        for info in self.systems:
            info.intervals, info.files, info.first_us, info.last_us = [], [], None, None
            info.local_time = False
        for told in everything:
            told.time_us = self._time(told)
        seen: set[tuple[int, int]] = set()
        for told in sorted(everything, key=lambda one: one.time_us):
            info = told.info
            if told.file.path not in info.files:
                info.files.append(told.file.path)
            end, seconds = told.time_us, _seconds(told.message) if isinstance(told.message, Run) else None
            begin = end - round((seconds or 0) * _SECOND)
            info.first_us = begin if info.first_us is None else min(info.first_us, begin)
            info.last_us = end if info.last_us is None else max(info.last_us, end)
            if (id(info), end) not in seen:
                seen.add((id(info), end))
                info.intervals.append(Interval(end, seconds))
        self.systems.sort(key=lambda info: info.system)
        self._make_tables(everything)

    def _time(self, told: _Statement) -> int:
        """When a display was, or the run of a .CNT file ended."""
        if isinstance(told.message, Run) and (
            ends := [c.end_tod for c in told.message.cpus.values() if c.end_tod]
        ):
            return _native.unix_us_from_tod(max(ends), self._leap)
        local = told.message.start.local
        if local is None:
            return min(max(told.file.time_us, 0), _LAST_US)
        if told.info.utc_offset_s is not None:
            local -= dt.timedelta(seconds=told.info.utc_offset_s)
        elif self._zone is not None:
            local = local.replace(tzinfo=self._zone).astimezone(dt.UTC).replace(tzinfo=None)
        else:
            told.info.local_time = True
        return round((local - _EPOCH).total_seconds()) * _SECOND

    # -- tables --------------------------------------------------------------------------------------

    def _make_tables(self, everything: Sequence[_Statement]) -> None:
        rows: dict[str, list[Row]] = {name: [] for name in _COLUMNS}
        for told in everything:
            message, head = told.message, self._header(told)
            if isinstance(message, Display):
                rows["zos_status"].append({**head, **message.row()})
                rows["zos_core"] += [{**head, **core} for core in message.cores]
                rows["zos_cpu"] += [{**head, **cpu} for cpu in message.cpus]
                continue
            rows["his_run"].append({**head, "seconds": _seconds(message), **message.row()})
            for table, found in (("his_cnt", message.samples()), ("his_counter", message.counters())):
                for cpu, row in found:
                    end = (
                        head["tod"]
                        if cpu.end_tod is None
                        else _native.unix_us_from_tod(cpu.end_tod, self._leap)
                    )
                    own = {"tod": end, "seconds": cpu.seconds, "offset": cpu.offset}
                    rows[table].append({**head, **own, **row})
        self.tables = {name: [RowTable(name, columns, rows[name])] for name, columns in _COLUMNS.items()}

    def _header(self, told: _Statement) -> Row:
        return {
            "system": told.info.system,
            "source": NAME,
            "file": told.file.path,
            "offset": told.message.start.offset,
            "tod": told.time_us,
            # All processors of a run are of one interval, which ends when the last of them ended.
            "interval_end": told.time_us,
        }

    # -- what a source has to tell -------------------------------------------------------------------

    def problems(self, *, complete: bool = False) -> list[Problem]:
        """What could not be read as it stands; all of it is known once the files are read."""
        found = []
        for file in self._files:
            named = {told.info.system for told in file.told}
            system = named.pop() if len(named) == 1 else None
            for kind, detail, offset in file.notes:
                lost = None if kind in ("truncated", "length", "changed") else 0
                found.append(Problem(system, NAME, file.path, offset, None, kind, detail, lost))
            for kind, count in file.tally.items():
                if count > MAX_NOTES:
                    detail = f"{count - MAX_NOTES:,} more like these"
                    found.append(Problem(system, NAME, file.path, None, None, kind, detail, None))
        return found

    def resets(self) -> list[tuple[str, int, str, str, str]]:
        """There are none: a .CNT file tells differences."""
        return []

    def inventory(self, *, with_layouts: bool = True) -> list[InventoryRow]:
        """A row per file, system and kind of message."""
        rows = []
        for file in self._files:
            groups: dict[tuple[str, str], list[_Statement]] = {}
            for told in file.told:
                groups.setdefault((told.info.system, told.message.start.id), []).append(told)
            for (system, name), group in groups.items():
                sizes = [max(told.message.end - told.message.start.offset, 0) for told in group]
                times = [told.time_us for told in group]
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
        """One object per file, with what was asked of HIS in it."""
        return [
            {
                "format": "z/OS text" + (" in EBCDIC" if file.code == "cp037" else ""),
                "path": file.path,
                "bytes": file.size,
                **_asked(file),
                **_shown(file),
                "of_the_system_by": ", ".join(
                    dict.fromkeys(
                        by for told in file.told if (by := self._taken.get(told.info.system)) is not None
                    )
                )
                or None,
                "times": _times(file),
                "other_lines": file.others or None,
            }
            for file in self._files
        ]


_COLUMNS = {
    "his_run": (*HEADER, *his.RUN),
    "his_cnt": (*HEADER, *his.SAMPLE),
    "his_counter": (*HEADER, *his.COUNTER),
    "zos_status": (*HEADER, *processors.MACHINE),
    "zos_core": (*HEADER, *processors.CORE),
    "zos_cpu": (*HEADER, *processors.CPU),
}


def _message(start: Begin, file: _File) -> Message:
    return Display(start, file.note) if start.id == texts.STATUS else Run(start, file.note)


def _awaits_status(message: Message | None) -> bool:
    return isinstance(message, Display) and message.form is None


def _seconds(message: Run) -> float | None:
    return max((cpu.seconds for cpu in message.cpus.values() if cpu.seconds is not None), default=None)


def _describe(told: _Statement) -> None:
    """What a message says of its system."""
    info, message = told.info, told.message
    kind, model, serial = message.machine
    info.machine_type = info.machine_type or kind
    info.model = info.model or model
    info.serial = info.serial or serial
    if isinstance(message, Display):
        info.lpar = info.lpar or message.facts.get("lpar")
        number = message.facts.get("lpar_id")
        if info.lpar_number is None and number and len(number) <= 4 and number.isalnum():
            info.lpar_number = int(number, 16) if set(number) <= set("0123456789ABCDEF") else None
        info.threads = info.threads or dict(message.threads)
    elif message.began is not None and info.utc_offset_s is None:
        local, tod = message.began
        began = round((local - _EPOCH).total_seconds()) * _SECOND
        info.utc_offset_s = smf_systems.offset_s(began, _native.unix_us_from_tod(tod, info.leap_s))
        if info.utc_offset_s is None:
            told.file.note("time", "START TIME and START TOD are not of one moment", message.start.offset)


def _serial(text: str | None) -> str:
    return (text or "").lstrip("0")


def _same(one: tuple[str | None, str | None], other: tuple[str | None, str | None]) -> bool:
    """Whether types and serial numbers may be of one machine: what is not told does not say otherwise."""
    return all(not a or not b or a == b for a, b in zip(one, other, strict=True))


def _agree(one: _Statement, other: _Statement) -> bool:
    (kind, _, serial), (its_kind, _, its_serial) = one.message.machine, other.message.machine
    return _same((kind, _serial(serial)), (its_kind, _serial(its_serial)))


def _same_machine(one: SystemInfo, other: SystemInfo) -> bool:
    """Whether a text with a partition is of that machine, and one without is of no other."""
    machines = (one.machine_type, _serial(one.serial)), (other.machine_type, _serial(other.serial))
    return machines[0] == machines[1] if one.lpar else _same(*machines)


def _asked(file: _File) -> dict[str, Any]:
    """What was asked of HIS: each thing once, where several messages tell of it."""
    runs = [told.message for told in file.told if isinstance(told.message, Run)]
    said: dict[str, Any] = {}
    for label, name in _ASKED.items():
        values = dict.fromkeys(str(run.facts[name]) for run in runs if run.facts.get(name) is not None)
        said[label] = "; ".join(values).replace(", ", " + ") or None
    said["cpus_counted"] = max((len(run.cpus) for run in runs), default=0) or None
    return said


def _times(file: _File) -> str | None:
    """What is to be said of the moments of displays."""
    displays = [told.message.start for told in file.told if told.message.start.id != texts.COUNTERS]
    return "a moment is the date of the file" if any(start.local is None for start in displays) else None


#: What `info` says of a run, by column of his_run.
_ASKED = {
    "SMFINTVAL": "smfintval",
    "CNTINTVAL": "cntintval",
    "STATECHANGE": "statechange",
    "counter_sets_asked_for": "counter_sets_asked",
    "counter_sets": "counter_sets",
    "HIS": "state",
}


def _shown(file: _File) -> dict[str, Any]:
    """What the last display of processors shows."""
    shown = [told.message for told in file.told if isinstance(told.message, Display)]
    if not shown:
        return {}
    row = shown[-1].row()
    flag = row.get("hiperdispatch")
    return {
        "HiperDispatch": None if flag is None else "on" if flag else "off",
        "cores_online": row["cores_online"],
        "of_these_parked": row["cores_parked"],
        "percent_of_normal_effectiveness": row.get("effectiveness_pct"),
        "displayed": row["displayed"],
        "cpus_online": sum(cpu["state"] == "online" for cpu in shown[-1].cpus) or None,
    }
