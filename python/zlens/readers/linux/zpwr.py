"""Power readings of Linux on Z: output of zpwr from s390-tools as JSON or CSV.

A reading is a snapshot: the firmware renews it once per update interval, and a tool that asks more often gets
the same one again, with the same iteration. The system is named by the JSON, otherwise by the file.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from zlens.catalog.raw_tables import load_tables
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.inputs.problems import Problem
from zlens.inputs.source import CounterlessSource, Interval, InventoryRow, Progress, RawTable, SystemInfo
from zlens.readers.files import NotedFile, read_error
from zlens.readers.linux import json_lists
from zlens.readers.linux.perf import Note
from zlens.readers.row_tables import Row, RowTable

NAME = "linux-power"

#: Maximum bytes of a file, which is read at once: two weeks of readings every ten seconds.
MAX_SIZE = 64 << 20
_TABLE = "linux_power"
_SECOND = 1_000_000
#: The year 2200.
_LAST_S = 7_258_118_400
_LARGEST = 2**63
_LISTS = {"lpar": ("cpu", "storage", "io"), "cpc": ("total", "unassigned_resources", "infrastructure")}
_VALUES = (*_LISTS["lpar"], *_LISTS["cpc"])
_TIMES = ("iteration", "time_epoch_sec", "time_epoch_nsec", "update_interval")
_EXPECTED = "the output of zpwr --format json or csv on a Linux on Z"
_READINGS = json_lists.begins("zpwr")
_HOST = re.compile(r'"host"\s*:\s*"([!-!#-\[\]-~]{1,64})"')
_LOSING = frozenset({"truncated", "length"})

#: Offset in the text and the values of a reading by name.
_Reading = tuple[int, dict[str, Any]]


def detect(first_bytes: bytes, size: int) -> bool:
    """Return whether a file is the output of zpwr."""
    return _form(first_bytes.decode("utf-8", "replace")) is not None


def _form(text: str) -> str | None:
    bare = text.lstrip("\ufeff\x1e \r\n\t")
    if bare.startswith("{"):
        return "json" if _READINGS.search(bare) else None
    header = bare.partition("\n")[0].replace('"', "").strip().split(",")
    return "csv" if header[0] == "iteration" and {*_TIMES, *_VALUES} <= {*header} else None


def open_files(paths: list[str], options: Options, progress: Progress | None = None) -> PowerSource:
    """Read the readings of all files. Raises InputError if there are none."""
    source = PowerSource()
    error: InputError | None = None
    for done, path in enumerate(paths):
        try:
            source.read(path)
        except OSError as failure:
            error = error or read_error(path, failure)
            source.refuse(path, read_error(path, failure))
        if progress is not None:
            progress(done + 1, len(paths), path)
    if not source.rows:
        raise error or InputError("it has no power reading", file=paths[0], expected=_EXPECTED)
    source.finish()
    return source


class PowerSource(CounterlessSource):
    """All readings of an input."""

    name = NAME

    def __init__(self) -> None:
        self.systems: list[SystemInfo] = []
        self.tables: dict[str, list[RawTable]] = {}
        self.rows: list[Row] = []
        self._files: dict[str, tuple[str, NotedFile]] = {}
        self._problems: list[Problem] = []

    def read(self, path: str) -> None:
        """Read a file, with problems for what is not a reading."""
        file = NotedFile(path)
        with open(path, "rb") as raw:
            file.size = os.fstat(raw.fileno()).st_size
            # A system crash leaves zeros at the end of a file being written.
            text = raw.read(MAX_SIZE).rstrip(b"\0").decode("utf-8", "replace")
            if os.fstat(raw.fileno()).st_size != file.size:
                file.note("changed", "the file changed while it was read", file.size)
        if file.size > MAX_SIZE:
            file.note("length", f"only the first {MAX_SIZE:,} bytes are read", MAX_SIZE)
        form = _form(text[: 64 * 1024])
        host = _HOST.search(text, 0, 64 * 1024) if form == "json" else None
        system = host[1] if host else f"unknown-{Path(path).stem}"
        readings = _json(text, file.note) if form == "json" else _csv(text, file.note)
        latest: tuple[Any, ...] | None = None
        for offset, values in readings:
            numbers = {name: _number(values.get(name)) for name in (*_TIMES, *_VALUES)}
            seconds = numbers["time_epoch_sec"]
            if seconds is None or not 0 < seconds < _LAST_S:
                file.note("time", "a reading without time_epoch_sec; not read", offset)
                continue
            watts = tuple(numbers[name] for name in _VALUES)
            if all(value is None for value in watts):
                file.note("header", "a reading without values; not read", offset)
                continue
            key = (numbers["iteration"], *watts)
            if numbers["iteration"] is not None and key == latest:
                # The firmware has not renewed it.
                continue
            latest = key
            tod = seconds * _SECOND + min(numbers["time_epoch_nsec"] or 0, 10**9 - 1) // 1000
            interval = numbers["update_interval"]
            self.rows.append(
                {
                    "system": system,
                    "source": NAME,
                    "file": path,
                    "offset": offset,
                    "tod": tod,
                    "interval_end": tod,
                    "iteration": numbers["iteration"],
                    "update_s": None if interval is None else interval / 1e9,
                    **dict(zip(_VALUES, watts, strict=True)),
                }
            )
        self._files[path] = system, file

    def refuse(self, path: str, error: InputError) -> None:
        """Report a file that cannot be read."""
        self._problems.append(Problem(None, NAME, path, None, None, "changed", error.message, None))

    def finish(self) -> None:
        """Build the table and the systems; a reading that is in several files is read once."""
        by_time: dict[tuple[str, int], Row] = {}
        for row in self.rows:
            first = by_time.setdefault((row["system"], row["tod"]), row)
            if first is not row:
                same = all(first[name] == row[name] for name in _VALUES)
                kind, difference = ("duplicate", "") if same else ("conflict", " with other values")
                detail = f"a reading of this time was read in {first['file']}{difference}; not read"
                self._files[row["file"]][1].note(kind, detail, row["offset"])
        self.rows = sorted(by_time.values(), key=lambda row: (row["system"], row["tod"]))
        for system, file in self._files.values():
            self._problems += file.problems(system, NAME, "zpwr", _LOSING)
        self.tables[_TABLE] = [RowTable(_TABLE, load_tables("linux/power_tables").columns(_TABLE), self.rows)]
        for system in dict.fromkeys(row["system"] for row in self.rows):
            times = [row["tod"] for row in self.rows if row["system"] == system]
            files = [path for path, (name, _) in self._files.items() if name == system]
            intervals = [Interval(time, None) for time in times]
            self.systems.append(
                SystemInfo(system, NAME, first_us=times[0], last_us=times[-1], files=files, known=intervals)
            )

    def inventory(self, *, with_layouts: bool = True) -> list[InventoryRow]:
        """Return one row per file."""
        rows = []
        for path, (system, file) in self._files.items():
            times = [row["tod"] for row in self.rows if row["file"] == path]
            if times:
                rows.append(
                    InventoryRow(
                        system, NAME, path, None, None, "zpwr", "power readings", "reading", len(times),
                        file.size, min(times), max(times), layout="zlens",
                    )
                )  # fmt: skip
        return rows

    def info(self) -> list[dict[str, Any]]:
        """Return one object per file."""
        return [
            {
                "format": "power readings of Linux on Z (zpwr)",
                "path": path,
                "bytes": file.size,
                "system": system,
                "readings": sum(row["file"] == path for row in self.rows),
                "times": "UTC",
            }
            for path, (system, file) in self._files.items()
        ]


def _json(text: str, note: Note) -> Iterator[_Reading]:
    """Yield the readings of JSON; a truncated file yields the complete ones."""
    for offset, _, reading in json_lists.entries(text, _READINGS, note):
        if isinstance(reading, dict):
            yield offset, {**reading, **_values(reading)}
        else:
            note("header", f"{str(reading)[:40]!r} is not a reading; not read", offset)


def _values(reading: dict[str, Any]) -> dict[str, Any]:
    """Return the values of the objects of a reading, which may also be lists of objects."""
    found: dict[str, Any] = {}
    for name in _LISTS:
        part = reading.get(name)
        for entry in part if isinstance(part, list) else [part]:
            if isinstance(entry, dict):
                found |= entry
    return found


def _csv(text: str, note: Note) -> Iterator[_Reading]:
    """Yield the readings of CSV; another header begins another run."""
    names: list[str] = []
    for offset, line in _lines(text):
        try:
            cells = next(csv.reader(io.StringIO(line)), [])
        except csv.Error:
            cells = []
        if cells and cells[0] == "iteration":
            names = cells
        elif len(cells) != len(names):
            kind = "truncated" if offset + len(line) == len(text) else "header"
            note(kind, f"{len(cells)} values under {len(names)} names; not read", offset)
        else:
            yield offset, dict(zip(names, cells, strict=True))


def _lines(text: str) -> Iterable[tuple[int, str]]:
    offset = 0
    for line in text.splitlines(keepends=True):
        if line.strip():
            yield offset, line
        offset += len(line)


def _number(value: Any) -> int | None:
    """Return an integer, also one in quotes; None if it is none."""
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdecimal() and len(value) < 25:
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST else None
