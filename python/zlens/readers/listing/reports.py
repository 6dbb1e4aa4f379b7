"""Listings: reports of Performance Toolkit and of the tools beside it, and those that zlens prints.

A listing is read by the definitions that zlens prints reports from: each table of a report is a raw table with
the report's own columns, and each number has its precision, half a unit of its last digit. Times are local to
the system; a listing without a date has that of the file.
"""

from __future__ import annotations

import datetime as dt
import os
import re
from collections import Counter
from itertools import pairwise
from typing import Any

from zlens.catalog import listings
from zlens.catalog.columns import Column
from zlens.catalog.reports import definition
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.inputs.problems import Problem
from zlens.inputs.source import Interval, InventoryRow, Progress, RawTable, SystemInfo
from zlens.readers.files import total_size, unreadable
from zlens.readers.listing import cells, text
from zlens.readers.listing.parse import Parser, Report, Row, utc_us
from zlens.readers.listing.text import Line
from zlens.readers.rows import RowTable

NAME = "listing"
#: The source of reports over the whole time of a listing: their one interval ends with another's.
SPANS = "listing-span"
#: Problems of each kind that are kept of a file; the others are counted.
MAX_NOTES = 100
#: Rows of all files: what they take stays below a few gigabytes.
MAX_ROWS = 10_000_000
_DAY_S = 86_400
_LATEST_US = 7_258_118_400_000_000
_BEGINS = re.compile(rb"(?m)(?:FCX\d{3}|\$[A-Z]{3,7}|^[1 0+-]? {7,8})\s*(?:Run \d{4}[/-]|CPU \w{4}\s+SER )")


def detect(head: bytes, size: int) -> bool:
    """Return whether a file is text that has the header of a report, or is of another known form."""
    if b"\0" in head:
        return False
    if _BEGINS.search(head):
        return True
    return any(
        form.begins.fullmatch(line.strip() + " ")
        for line in text.decoded(head[:4096]).splitlines()
        for form in listings.forms()
    )


def open_files(paths: list[str], options: Options, progress: Progress | None = None) -> ListingSource:
    """Read listings. Raises InputError if none of the files has a row of a report."""
    source = ListingSource(options.tz)
    error: InputError | None = None
    done, total = 0, total_size(paths)
    for path in paths:
        try:
            source.read(path)
        except OSError as failure:
            refused = unreadable(path, failure)
            error = error or refused
            source.add(path, None, "changed", refused.message)
        if progress is not None:
            done += os.path.getsize(path) if os.path.exists(path) else 0
            progress(done, total, path)
    source.finish()
    if not source.systems:
        raise error or source.nothing(paths[0])
    return source


class ListingSource:
    """All listings of an input."""

    name = NAME

    def __init__(self, tz: dt.tzinfo | None = None) -> None:
        self.systems: list[SystemInfo] = []
        self.tables: dict[str, list[RawTable]] = {}
        self._tz = tz
        self._reports: list[tuple[str, Report]] = []
        self._rows: dict[str, list[Row]] = {}
        self._columns: dict[str, tuple[Column, ...]] = {}
        self._problems: list[Problem] = []
        self._kinds: Counter[tuple[str, str]] = Counter()
        self._files: dict[str, tuple[int, int]] = {}
        self._count = 0

    # -- reading -------------------------------------------------------------------------------------

    def add(self, path: str, line: Line | None, kind: str, detail: str) -> None:
        """Note a problem of a line."""
        self._kinds[path, kind] += 1
        if self._kinds[path, kind] <= MAX_NOTES:
            where = "" if line is None else f"line {line.number}: "
            offset = None if line is None else line.offset
            self._problems.append(Problem(None, NAME, path, offset, None, kind, where + detail, None))

    def read(self, path: str) -> None:
        """Read a file. Raises OSError."""
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            self._files[path] = (status.st_size, min(max(status.st_mtime_ns // 1000, 0), _LATEST_US))
            parser = Parser(lambda line, kind, detail: self.add(path, line, kind, detail))
            parser.read(text.lines(file))
        self._reports += [(path, report) for report in parser.reports]

    def finish(self) -> None:
        """Give rows their times, and build tables and systems."""
        zones: dict[str, int] = {}
        for path, report in self._reports:
            if report.zone_s is not None:
                zones.setdefault(self._system(path, report), report.zone_s)
        infos: dict[tuple[str, str], SystemInfo] = {}
        ends: dict[tuple[str, str], dict[int, float | None]] = {}
        for path, report in self._reports:
            system = self._system(path, report)
            offset = self._offset(zones.get(system), report)
            for name, rows in report.rows.items():
                self._place(path, report, system, name, rows, offset or 0)
                for row in rows:
                    key = (system, row["source"])
                    if key not in infos:
                        infos[key] = SystemInfo(*key, utc_offset_s=offset, local_time=offset is None)
                    self._describe(infos[key], path, report)
                    own = ends.setdefault(key, {})
                    if row["row_kind"] in ("interval", "row") or row["only"]:
                        self._interval(own, row)
        for key, info in infos.items():
            times = sorted(ends[key])
            info.intervals = [Interval(end, ends[key][end]) for end in times]
            if times:
                info.first_us = times[0] - round((ends[key][times[0]] or 0) * 1e6)
                info.last_us = times[-1]
            lengths = Counter(each.seconds for each in info.intervals if each.seconds)
            info.nominal_s = max(lengths, key=lambda length: (lengths[length], -length)) if lengths else None
        self.systems = [infos[key] for key in sorted(infos) if infos[key].intervals]
        self.tables = {
            name: [RowTable(name, self._columns[name], rows)] for name, rows in sorted(self._rows.items())
        }
        for system in dict.fromkeys(info.system for info in self.systems if info.local_time):
            info = next(info for info in self.systems if info.system == system)
            self._problems.append(
                Problem(system, NAME, info.files[0], 0, None, "zone",
                        "times are local and the time zone is unknown; set it (option tz) to join with "
                        "other data")
            )  # fmt: skip
        for (path, kind), count in self._kinds.items():
            if count > MAX_NOTES:
                self._problems.append(
                    Problem(None, NAME, path, None, None, kind, f"and {count - MAX_NOTES:,} more", None)
                )
        self._reports = []

    def _interval(self, ends: dict[int, float | None], row: Row) -> None:
        """Add the interval of a row. Of reports whose intervals end together, the first one says its length."""
        end, seconds = row["interval_end"], row["seconds"]
        known = ends.setdefault(end, seconds)
        if known is None:
            ends[end] = seconds
        elif seconds is not None and abs(known - seconds) > 1:
            row["flag"] = "other length"
            line = Line(row["line_number"], row["offset"], "")
            detail = (
                f"the interval has {seconds:g} s; that of another report with the same end has {known:g} s"
            )
            self.add(row["file"], line, "conflict", f"{detail}; it is in no measure")

    def _system(self, path: str, report: Report) -> str:
        if report.header.system:
            return report.header.system
        own = {each.header.system for where, each in self._reports if where == path and each.header.system}
        if len(own) == 1:
            return own.pop()
        stem = report.header.title if report.header.start_us is None and report.header.title else ""
        return f"unknown-{stem or os.path.splitext(os.path.basename(path))[0]}"

    def _describe(self, info: SystemInfo, path: str, report: Report) -> None:
        header = report.header
        if path not in info.files:
            info.files.append(path)
        info.machine_type = info.machine_type or header.machine_type
        info.model = info.model or header.model
        info.serial = info.serial or header.serial
        info.release = info.release or header.release
        info.made = info.made or header.made

    def _offset(self, zone_s: int | None, report: Report) -> int | None:
        if zone_s is not None:
            return zone_s
        if self._tz is None:
            return None
        start = report.header.start_us or report.header.end_us or 0
        local = dt.datetime.fromtimestamp(start / 1e6, dt.UTC).replace(tzinfo=self._tz)
        offset = local.utcoffset()
        return None if offset is None else round(offset.total_seconds())

    # -- times ---------------------------------------------------------------------------------------

    def _place(
        self, path: str, report: Report, system: str, name: str, rows: list[Row], offset_s: int
    ) -> None:
        header = report.header
        file_us = self._files[path][1]
        start, end = header.start_us, header.end_us
        begin_us = start if start is not None else file_us // 86_400_000_000 * 86_400_000_000
        length = header.seconds
        if length is None and start is not None and end is not None:
            length = (end - start) / 1e6
        day = begin_us // (_DAY_S * 1_000_000)
        last, moment = None, None
        timed = [row for row in rows if row["day_s"] is not None]
        previous: int | None = start
        seconds: float | None = None
        for row in timed:
            day_s = row["day_s"]
            if row["date"] is not None:
                day = (dt.date(*row["date"]) - dt.date(1970, 1, 1)).days
            elif (last is not None and day_s < last - _DAY_S // 2) or (
                last is None and start is not None and day_s < start // 1_000_000 % _DAY_S
            ):
                day += 1
            last = day_s
            local = (day * _DAY_S + day_s) * 1_000_000
            if local != moment:
                if previous is not None and local > previous:
                    seconds = (local - previous) / 1e6
                elif moment is not None:
                    seconds = None
                previous, moment = local, local
            row["interval_end"] = local - offset_s * 1_000_000
            row["seconds"] = seconds
        # The first interval of a listing that does not say when it begins is as long as the next one.
        if timed and timed[0].get("seconds") is None:
            known = next((row["seconds"] for row in timed if row["seconds"]), None)
            for row in timed:
                if row["interval_end"] == timed[0]["interval_end"]:
                    row["seconds"] = known
        stamped = [row for row in rows if "utc_us" in row]
        steps = [b["utc_us"] - a["utc_us"] for a, b in pairwise(stamped) if b["utc_us"] > a["utc_us"]]
        ends: dict[int, float] = {}
        before: int | None = None
        for row in stamped:
            now = row["utc_us"]
            if now not in ends:
                step = now - before if before is not None and now > before else min(steps, default=0)
                ends[now] = step / 1e6
                before = now
            row["interval_end"], row["seconds"] = now, ends[now] or None
        whole = end if end is not None else moment if moment is not None else file_us
        only = not any(row["row_kind"] == "interval" for row in rows)
        columns = self._column_list(name, report)
        times = [column.name for column in columns if column.type == "time" and column.name not in _FIXED]
        for row in rows:
            if row["day_s"] is None and "utc_us" not in row:
                row["interval_end"], row["seconds"] = whole - offset_s * 1_000_000, length
            for key in ("day_s", "date", "utc_us"):
                row.pop(key, None)
            row.update(
                system=system, source=SPANS if only else NAME, file=path, tod=row["interval_end"], only=only
            )
            for column in times:
                local = utc_us(row.get(column))
                row[column] = None if local is None else local - offset_s * 1_000_000
        room = MAX_ROWS - self._count
        if len(rows) > room:
            self.add(path, None, "length", f"more than {MAX_ROWS:,} rows; {len(rows) - room:,} not read")
            rows = rows[:room]
        self._count += len(rows)
        self._rows.setdefault(name, []).extend(rows)

    def _column_list(self, name: str, report: Report) -> tuple[Column, ...]:
        if name in self._columns:
            return self._columns[name]
        if name in report.tables:
            self._columns[name] = listings.columns(report.tables[name])
        else:
            heads = report.unknown[name]
            found = list(listings.HEADER)
            for head in heads:
                numbers = [_number(row.get(head)) for row in report.rows[name]]
                if all(number is not _TEXT for number in numbers):
                    for row, number in zip(report.rows[name], numbers, strict=True):
                        row[head] = number
                    found.append(Column(head, "float", "", f"the column {head} of the listing"))
                else:
                    found.append(Column(head, "text", "", f"the column {head} of the listing"))
            self._columns[name] = tuple(found)
        return self._columns[name]

    # -- the source interface ------------------------------------------------------------------------

    def nothing(self, path: str) -> InputError:
        found = next((problem for problem in self._problems), None)
        return InputError(
            found.detail if found else "it has the header of a report and no row of its tables",
            file=path,
            offset=(found.offset if found else None) or 0,
            expected="a report of Performance Toolkit, SMTMET, HPALIAS or zlens, with its heads",
            cure="give the whole listing, from its header on",
        )

    def problems(self, *, complete: bool = False) -> list[Problem]:
        """What could not be read; complete once the texts are read."""
        return list(self._problems)

    def resets(self) -> list[tuple[str, int, str, str, str]]:
        """Always empty: there are no counters."""
        return []

    def inventory(self, *, with_layouts: bool = True) -> list[InventoryRow]:
        """One row per file, system and table."""
        found: dict[tuple[str, str, str], list[int]] = {}
        for name, rows in self._rows.items():
            for row in rows:
                found.setdefault((row["file"], row["system"], name), []).append(row["interval_end"])
        titles = {}
        for name in self._rows:
            report = listings.tables().get(name, ("", ""))[0]
            titles[name] = definition.load(report).title if report else ""
        return [
            InventoryRow(
                system, NAME, file, None, None, name, titles[name], "sample", len(times), None,
                min(times), max(times), layout="zlens" if titles[name] else None,
            )
            for (file, system, name), times in sorted(found.items())
        ]  # fmt: skip

    def info(self) -> list[dict[str, Any]]:
        """One object per file."""
        systems: dict[str, dict[str, None]] = {}
        tables: dict[str, dict[str, None]] = {}
        for name, rows in self._rows.items():
            for row in rows:
                systems.setdefault(row["file"], {})[row["system"]] = None
                tables.setdefault(row["file"], {})[name] = None
        return [
            {
                "format": "listing of reports",
                "path": path,
                "bytes": size,
                "system": ", ".join(systems.get(path, {})) or None,
                "tables": ", ".join(tables.get(path, {})) or None,
                "times": "as printed",
            }
            for path, (size, _) in self._files.items()
        ]


_FIXED = {column.name for column in listings.HEADER}
_TEXT = object()


def _number(cell: object) -> Any:
    """The number of a cell of a report that the catalog lacks, None without one, _TEXT for a text."""
    if not isinstance(cell, str) or not cell:
        return None
    try:
        found = cells.number(cell)
    except ValueError:
        return _TEXT
    return None if found is None else found.value
