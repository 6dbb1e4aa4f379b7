"""Readings that tools of s390-tools print: each is of one moment, or of the time since the last one.

The system is named by the JSON, otherwise by the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct, field

from zlens.catalog.raw_tables import load_tables
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.inputs.source import Interval, InventoryRow, Progress, SystemInfo
from zlens.inputs.unix_time import LATEST_US
from zlens.readers.files import NotedFile, TextSource, compare_repeat, unknown_system
from zlens.readers.linux.perf import Note
from zlens.readers.row_tables import Row, RowTable, leading

#: Maximum bytes of a file, which is read at once: of zpwr, two weeks of readings every ten seconds.
MAX_SIZE = 64 << 20
#: Maximum number of rows of a file.
_MAX_ROWS = 3_000_000
_LARGEST = 2**63
_SECOND = 1_000_000
_HOST = re.compile(r'"host"\s*:\s*"([!-!#-\[\]-~]{1,64})"')
_LOSING = frozenset({"truncated", "length"})


class Reading(Struct):
    """Rows by table; their columns after the leading ones. `tod` is in microseconds UTC."""

    offset: int
    tod: int
    rows: dict[str, list[Row]]
    #: Length of the interval that ends at `tod`; None: the reading is of one moment.
    seconds: float | None = None


class Tool(Struct, frozen=True):
    """A tool whose readings are a source.

    `form` returns the format of a text from its beginning without marks and blanks, None if it is of another
    tool; `readings` yields those of a text in a format.
    """

    source: str
    name: str
    #: What one reading is, such as "power reading".
    title: str
    #: Set of the raw tables.
    tables: str
    expected: str
    form: Callable[[str], str | None]
    readings: Callable[[str, str, Note], Iterator[Reading]]

    def format_of(self, text: str) -> str | None:
        """Return the format of a text from its beginning; None if it is of another tool."""
        return self.form(text.lstrip("\ufeff\x1e \r\n\t"))

    def detect(self, first_bytes: bytes, size: int) -> bool:
        """Return whether a file is the output of the tool."""
        return self.format_of(first_bytes.decode("utf-8", "replace")) is not None

    def open_files(
        self, paths: list[str], options: Options, progress: Progress | None = None
    ) -> ReadingSource:
        """Read the readings of all files. Raises InputError if there are none."""
        return ReadingSource(self).read_files(paths, progress)


class _File(NotedFile, kw_only=True):
    system: str
    readings: list[Reading] = field(default_factory=list)


class ReadingSource(TextSource):
    """All readings of an input."""

    def __init__(self, tool: Tool) -> None:
        super().__init__()
        self.tool = tool
        self.name = tool.source
        self._files: list[_File] = []

    @property
    def readings(self) -> list[Reading]:
        """The readings of all files."""
        return [reading for file in self._files for reading in file.readings]

    def read(self, path: str, step: Callable[[int], None]) -> None:
        file = _File(path, system=unknown_system(path))
        with open(path, "rb") as raw:
            file.size = os.fstat(raw.fileno()).st_size
            # A system crash leaves zeros at the end of a file being written.
            text = raw.read(MAX_SIZE).rstrip(b"\0").decode("utf-8", "replace")
            if os.fstat(raw.fileno()).st_size != file.size:
                file.note("changed", "the file changed while it was read", file.size)
        if file.size > MAX_SIZE:
            file.note("length", f"only the first {MAX_SIZE:,} bytes are read", MAX_SIZE)
        beginning = text[: 64 * 1024]
        if host := _HOST.search(beginning):
            file.system = host[1]
        form = self.tool.format_of(beginning)
        rows = 0
        for reading in self.tool.readings(text, form, file.note) if form else ():
            rows += sum(map(len, reading.rows.values()))
            if rows > _MAX_ROWS:
                file.note("length", f"more than {_MAX_ROWS:,} rows; not read from here on", reading.offset)
                break
            file.readings.append(reading)
        self._files.append(file)

    def no_data(self, path: str) -> InputError:
        return InputError(f"it has no {self.tool.title}", file=path, expected=self.tool.expected)

    def finish(self) -> None:
        """Build the tables and the systems; a reading that is in several files is read once."""
        tables = load_tables(self.tool.tables)
        rows: dict[str, list[Row]] = {name: [] for name in tables.tables}
        first_by_time: dict[tuple[Any, ...], tuple[str, Reading]] = {}
        intervals: dict[str, dict[int, Interval]] = {}
        for file in self._files:
            for reading in file.readings:
                key = file.system, reading.tod, *reading.rows
                path, first = first_by_time.setdefault(key, (file.path, reading))
                if first is not reading:
                    kind, difference = compare_repeat(first.rows == reading.rows)
                    detail = f"a reading of this time was read in {path}{difference}; not read"
                    file.note(kind, detail, reading.offset)
                    continue
                known = intervals.setdefault(file.system, {})
                known.setdefault(reading.tod, Interval(reading.tod, reading.seconds))
                common = leading(file.system, self.name, file.path, reading.offset, reading.tod)
                common["seconds"] = reading.seconds
                for name, own in reading.rows.items():
                    rows[name] += (common | row for row in own)
        for file in self._files:
            self._problems += file.problems(file.system, self.name, self.tool.name, _LOSING)
        for name, own in rows.items():
            if own:
                own.sort(key=lambda row: (row["system"], row["tod"]))
                self.tables[name] = [RowTable(name, tables.columns(name), own)]
        for system, known in intervals.items():
            files = [file.path for file in self._files if file.system == system]
            self.systems.append(
                SystemInfo(
                    system, self.name, first_us=min(known), last_us=max(known), files=files,
                    known=[known[tod] for tod in sorted(known)],
                )
            )  # fmt: skip

    def inventory(self, *, with_layouts: bool = True) -> list[InventoryRow]:
        """Return one row per file."""
        return [
            InventoryRow(
                file.system, self.name, file.path, None, None, self.tool.name, f"{self.tool.title}s",
                "reading", len(times), file.size, min(times), max(times), layout="zlens",
            )
            for file in self._files
            if (times := [reading.tod for reading in file.readings])
        ]  # fmt: skip

    def info(self) -> list[dict[str, Any]]:
        return [
            {
                "format": f"{self.tool.title}s of Linux on Z ({self.tool.name})",
                "path": file.path,
                "bytes": file.size,
                "system": file.system,
                "readings": len(file.readings),
                "times": "UTC",
            }
            for file in self._files
        ]


def microseconds(seconds: Any, nanoseconds: Any = 0) -> int | None:
    """Return a time since 1970 in microseconds; None if it is none, or not before the year 2200."""
    whole = integer(seconds)
    if whole is None or not 0 < whole * _SECOND < LATEST_US:
        return None
    return whole * _SECOND + min(integer(nanoseconds) or 0, 10**9 - 1) // 1000


def integer(value: Any) -> int | None:
    """Return an integer that is not negative, also one in quotes; None if it is none."""
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdecimal() and len(value) < 25:
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST else None
