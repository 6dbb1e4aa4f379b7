"""Responses of CP commands, saved from a console as text: QUERY CAPABILITY, INDICATE LOAD, QUERY SHARE.

A response has no date: it gets the modification time of the file or, with a given date, the time of day
before its first line. Several of one file are in file order.
Lines of unknown format are stored as text.
"""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any, BinaryIO

from msgspec import Struct, field

from zlens.catalog import cp_commands
from zlens.catalog.raw_tables import load_tables
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.inputs.source import Interval, InventoryRow, Progress, SystemInfo
from zlens.inputs.unix_time import LATEST_US
from zlens.readers.files import TextSource, unknown_system
from zlens.readers.row_tables import Row, RowTable, leading

NAME = "cp-text"
TABLE, RESPONSES = "cp_capability", "cp_response"

#: Limits, in case a file has another format.
MAX_LINE, MAX_RESPONSES = 4096, 10_000
MAX_ROWS = 200_000
_TABLES = load_tables("zvm/console_tables")
_TYPES = {column.name: column.type for column in _TABLES.columns(TABLE)}
(_CAPABILITY,) = (command for command in cp_commands.commands() if command.labels)
_STAMP = r"(?:\d\d:\d\d:\d\d[ \t]+)?[ \t]*"
_STAMPED = re.compile(r"(?:(\d\d:\d\d:\d\d)(?:[ \t]+|\Z))?[ \t]*")
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,9})?")
_LABELS = "|".join(sorted(map(re.escape, _CAPABILITY.labels), key=len, reverse=True))
_VALUE = re.compile(rf"({_LABELS})\s+(\d{{1,12}}(?:\.\d{{1,9}})?)(?=\s|\Z)")
_LINE = re.compile(rf"(?:(?:{_LABELS})\s+\S+\s*)+")
#: A response on one line ends with the state.
_STATE = re.compile(rf"(.*?)\s*\b({'|'.join(map(re.escape, _CAPABILITY.states))})\.?")
_FIRST, *_ = _CAPABILITY.labels
_COMMANDS = tuple(
    (command, re.compile(rf"(?:CP\s+)?{command.verb}\s+{command.word}", re.IGNORECASE))
    for command in cp_commands.commands()
)
_STARTS = tuple((command, re.compile(command.begins)) for command in cp_commands.commands() if command.begins)
_TYPED = "|".join(rf"{command.verb}\s+{command.word}" for command in cp_commands.commands())
_ANSWERS = "|".join(form.pattern.removeprefix("(?i)") for _, form in _STARTS)
_BEGINS = re.compile(
    rf"(?im)^{_STAMP}(?:{re.escape(_FIRST)}\s+\d|{_ANSWERS}|(?:CP\s+)?(?:{_TYPED})\s*$)".encode()
)


def detect(first_bytes: bytes, size: int) -> bool:
    """Return whether a file is text with one of these commands or their responses."""
    return b"\0" not in first_bytes and _BEGINS.search(first_bytes.replace(b"\r", b"")) is not None


def open_files(paths: list[str], options: Options, progress: Progress | None = None) -> ConsoleSource:
    """Read responses. Raises InputError if no response has a known format."""
    return ConsoleSource(options.date).read_files(paths, progress)


def _given_us(date: dt.date, stamp: str | None) -> int:
    """Return a date with the time of day of a line, midnight without one, in microseconds since 1970."""
    try:
        clock = dt.time.fromisoformat(stamp or "00:00:00")
    except ValueError:
        clock = dt.time()
    return round(dt.datetime.combine(date, clock, dt.UTC).timestamp()) * 1_000_000


class _Block(Struct):
    """The response to a command: its values if the format is known, otherwise the number of its lines."""

    command: cp_commands.CpCommand
    offset: int
    row: Row = field(default_factory=dict)
    lines: int = 0
    stamp: str | None = None
    rows: list[Row] = field(default_factory=list)
    above: dict[str, str] = field(default_factory=dict)


class ConsoleSource(TextSource):
    """All files of an input with CP responses."""

    name = NAME
    beside = "zvm-monitor"

    def __init__(self, date: dt.date | None) -> None:
        super().__init__()
        self._date = date
        self.responses: list[Row] = []
        self.others: list[Row] = []
        self._sizes: dict[str, int] = {}

    # -- reading -------------------------------------------------------------------------------------

    def read(self, path: str, step: Callable[[int], None]) -> None:
        with open(path, "rb") as raw:
            status = os.fstat(raw.fileno())
            self._sizes[path] = status.st_size
            time_us = min(max(status.st_mtime_ns // 1000, 0), LATEST_US)
            for block in self._blocks(path, raw):
                if self._date is not None:
                    time_us = _given_us(self._date, block.stamp)
                if not block.command.is_supported:
                    lines = "1 line is" if block.lines == 1 else f"{block.lines} lines are"
                    detail = f"{block.command.unsupported_reason}; {lines} stored as text in {RESPONSES}"
                    self.note(path, block.offset, "no_layout", f"{detail}. See {block.command.instead}")
                common = leading(None, NAME, path, block.offset, time_us)
                self.others += [common | row for row in block.rows][: MAX_ROWS - len(self.others)]
                if "primary" in block.row or len(self.others) >= MAX_ROWS:
                    if len(self.responses) >= MAX_RESPONSES or len(self.others) >= MAX_ROWS:
                        detail = "more responses than zlens stores; not read from here on"
                        self.note(path, block.offset, "length", detail)
                        return
                    self.responses.append(common | block.row)

    def _blocks(self, path: str, raw: BinaryIO) -> Iterator[_Block]:
        block: _Block | None = None
        for offset, time_text, text in self._lines(path, raw):
            command = next((each for each, form in _COMMANDS if form.fullmatch(text)), None)
            started = next((each for each, form in _STARTS if form.match(text)), None)
            if text.startswith(_FIRST):
                started = _CAPABILITY
            # The first line of the response to a command that was recorded as well.
            is_first_line = block is not None and started is block.command and not block.lines
            if command is not None or (started is not None and not is_first_line):
                if block is not None:
                    yield block
                block = _Block(command or started or _CAPABILITY, offset)
            elif text.startswith(("Ready;", "Ready(")) or (
                not text and (block is None or block.command.labels)
            ):
                if block is not None:
                    yield block
                block = None
            if block is None or command is not None or not text:
                continue
            block.lines += 1
            block.stamp = block.stamp or time_text
            if not block.command.labels:
                self._add_rows(block, path, offset, time_text, text)
            elif not self._add_values(block, text):
                detail = f"{block.command.name}: the meaning of {text[:80]!r} is not known"
                self.note(path, offset, "no_layout", detail)
        if block is not None:
            yield block

    def _add_rows(self, block: _Block, path: str, offset: int, time_text: str | None, text: str) -> None:
        """Add the values of a line, or the line as text."""
        line = {"offset": offset, "stamp": time_text, "command": block.command.name, "line": text}
        parts = sorted(
            (match for form in block.command.parts for match in form.finditer(text)),
            key=lambda match: match.start(),
        )
        rest = text
        for part in parts:
            rest = rest.replace(part[0], " ", 1)
            values = part.groupdict()
            names = {key: values.pop(key, None) for key in ("subject", "part")}
            labels = block.above | {key: name for key, name in names.items() if name}
            if not values:
                block.above = labels
            for name, value in values.items():
                if value is None:
                    continue
                number = float(value) if _NUMBER.fullmatch(value) else None
                block.rows.append({**line, **labels, "name": name, "value": number, "text": value})
        if rest.strip():
            block.rows.append({**line, "text": rest.strip() if parts else text})
            if block.command.is_supported:
                detail = (
                    f"{block.command.name}: the meaning of {rest.strip()[:80]!r} is unknown; stored as text"
                )
                self.note(path, offset, "no_layout", detail)

    def _add_values(self, block: _Block, text: str) -> bool:
        """Add the values of a line of the response; return whether the line belongs to it."""
        if stated := _STATE.fullmatch(text):
            block.row["state"] = stated[2]
            if not stated[1]:
                return True
            text = stated[1]
        values = _VALUE.findall(text) if _LINE.fullmatch(text) else []
        for label, value in values:
            name = block.command.labels[label]
            block.row[name] = round(float(value)) if _TYPES[name] == "int" else float(value)
        return bool(values)

    def _lines(self, path: str, raw: BinaryIO) -> Iterator[tuple[int, str | None, str]]:
        offset, is_line_start = 0, True
        while chunk := raw.readline(MAX_LINE):
            if is_line_start and not chunk.endswith(b"\n") and len(chunk) == MAX_LINE:
                self.note(path, offset, "length", f"a line of more than {MAX_LINE:,} bytes; not read")
            elif is_line_start:
                text = chunk.decode("utf-8", "replace").strip()
                prefix = _STAMPED.match(text)
                yield offset, prefix and prefix[1], text[prefix.end() if prefix else 0 :]
            is_line_start = chunk.endswith(b"\n")
            offset += len(chunk)

    def no_data(self, path: str) -> InputError:
        unread = next((problem for problem in self._problems if problem.kind == "no_layout"), None)
        return InputError(
            unread.detail if unread else "it contains no response to a supported CP command",
            file=path,
            offset=(unread.offset if unread else None) or 0,
            expected="the response to one of "
            + ", ".join(command.name for command in cp_commands.commands()),
        )

    # -- systems -------------------------------------------------------------------------------------

    def finish(self) -> None:
        self.take_identity_from([])

    def take_identity_from(self, others: Sequence[SystemInfo]) -> None:
        """Take name and time zone from the z/VM system of the input, if it has exactly one."""
        names = {info.system: info for info in others}
        [only] = names.values() if len(names) == 1 else [None]
        systems: dict[str, SystemInfo] = {}
        for row in sorted([*self.responses, *self.others], key=itemgetter("tod", "file", "offset")):
            name = only.system if only else unknown_system(row["file"])
            info = systems.setdefault(name, SystemInfo(name, NAME))
            row["system"] = name
            if row["file"] not in info.files:
                info.files.append(row["file"])
            if not info.intervals or info.intervals[-1].end_us != row["tod"]:
                info.intervals.append(Interval(row["tod"], None))
            info.first_us, info.last_us = info.intervals[0].end_us, row["tod"]
            if only is not None:
                info.utc_offset_s = only.utc_offset_s
        self.systems = [systems[name] for name in sorted(systems)]
        self.tables = {TABLE: [RowTable(TABLE, _TABLES.columns(TABLE), self.responses)]}
        if self.others:
            self.tables[RESPONSES] = [RowTable(RESPONSES, _TABLES.columns(RESPONSES), self.others)]

    # -- the source interface ------------------------------------------------------------------------

    def inventory(self, *, with_layouts: bool = True) -> list[InventoryRow]:
        """Return one row per file, system and command."""
        times: dict[tuple[str, str, str], list[int]] = {}
        for row in [*self.responses, *self.others]:
            key = (row["file"], row["system"], row.get("command") or _CAPABILITY.name)
            times.setdefault(key, []).append(row["tod"])
        return [
            InventoryRow(
                system, NAME, file, None, None, name, f"response to {name}", "sample",
                len(tods), None, min(tods), max(tods), layout="zlens",
            )
            for (file, system, name), tods in sorted(times.items())
        ]  # fmt: skip

    def info(self) -> list[dict[str, Any]]:
        return [
            {
                "format": "responses of CP commands",
                "path": path,
                "bytes": size,
                "times": "the date of the file" if self._date is None else "the given date",
            }
            for path, size in self._sizes.items()
        ]
