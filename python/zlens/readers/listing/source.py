"""Listings: reports of Performance Toolkit and related tools, and reports that zlens prints.

A listing is read with the definitions that zlens prints reports from: each table of a report is a raw table
with the report's own columns, and each number has its precision, half a unit of its last digit. Times are
local to the system; in a listing without a date they count from 1970, or from the date of the options.
"""

from __future__ import annotations

import datetime as dt
import os
import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from zlens.catalog import listings
from zlens.catalog.raw_columns import RawColumn
from zlens.catalog.reports import definition
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.inputs.problems import Problem
from zlens.inputs.source import Interval, InventoryRow, Progress, SystemInfo
from zlens.inputs.unix_time import LATEST_US
from zlens.readers import text_lines
from zlens.readers.files import LOCAL_TIMES, TextSource, unknown_system
from zlens.readers.listing import headings, separated_cells
from zlens.readers.listing.mail import restore_file
from zlens.readers.listing.parser import ListingParser, ListingReport
from zlens.readers.listing.tables import ListingTables, ListingTarget
from zlens.readers.row_tables import DecodedTable
from zlens.readers.text_lines import TextLine

NAME, SPANS = listings.SOURCES
#: The source of reports over the entire time of a listing: their one interval ends with another's.
SPANS = "listing-means"
#: Maximum number of problems of each kind that are stored per file; the others are counted.
MAX_NOTES = 100
_DAY_US = 86_400_000_000
_EPOCH = dt.date(1970, 1, 1)
_BEGINS = re.compile(
    rb"(?m)(?:F?CX\d{3}|\$[A-Z]{3,7}|^[1 0+-]? {7,8})\s*(?:Run \d{2,4}[/-]|CPU \w{4}\s+SER )"
)
#: Text that headings or rows of reports contain: groups, rules, labels, and dots for missing values.
_PRINTED = re.compile(rb"<-|->|__|>>|\.\.\.\.|Interval")
#: Bytes of a file without header that are searched for headings, and the lines of headings.
_FIRST, _HEIGHT = 4096, 8


def detect(first_bytes: bytes, size: int) -> bool:
    """Return whether a file is text with the header of a report, or in another known format."""
    if b"\0" in first_bytes:
        return False
    if _BEGINS.search(first_bytes):
        return True
    raw_lines = text_lines.decoded(first_bytes[:_FIRST]).splitlines()
    lines = [text_lines.clean_line(line) for line in raw_lines]
    if any(map(listings.match_headerless, lines)) or any(map(separated_cells.match_headings, raw_lines)):
        return True
    return _PRINTED.search(first_bytes) is not None and any(
        headings.match_excerpt(line, tuple(lines[max(0, index - _HEIGHT) : index]))
        for index, line in enumerate(lines)
    )


def open_files(paths: list[str], options: Options, progress: Progress | None = None) -> ListingSource:
    """Read listings. Raises InputError if none of the files has a row of a report."""
    return ListingSource(options.tz, options.date).read_files(paths, progress)


def _columns(target: ListingTarget) -> tuple[RawColumn, ...]:
    if target.table is not None:
        return listings.columns(target.table)
    kinds = ("float" if target.rows.numeric(index) else "text" for index in range(len(target.heads)))
    return listings.unknown_columns(dict(zip(target.heads, kinds, strict=True)))


class ListingSource(TextSource):
    """All listings of an input."""

    name = NAME

    def __init__(self, tz: dt.tzinfo | None, date: dt.date | None) -> None:
        super().__init__()
        self._tz = tz
        self._date = date
        self._day_us = 0 if date is None else (date - _EPOCH).days * _DAY_US
        self._raw = ListingTables()
        self._infos: dict[tuple[str, str], SystemInfo] = {}
        self._ends: dict[tuple[str, str], dict[int, float | None]] = {}
        self._zones: dict[str, int] = {}
        #: Files with rows that have no date, with the first such report.
        self._undated: dict[str, TextLine] = {}
        self._last: str | None = None
        #: Files with restored text, to which offsets do not apply.
        self._restored: set[str] = set()
        self._table_ranges: dict[tuple[str, str, str], list[int]] = {}
        self._kinds: Counter[tuple[str, str]] = Counter()
        self._files: dict[str, int] = {}

    # -- reading -------------------------------------------------------------------------------------

    def add(self, path: str, line: TextLine | None, kind: str, detail: str) -> None:
        """Add a problem of a line."""
        self._kinds[path, kind] += 1
        if self._kinds[path, kind] <= MAX_NOTES:
            prefix = "" if line is None else f"line {line.number}: "
            offset = None if line is None or path in self._restored else line.offset
            self.add_problem(path, offset, kind, prefix + detail)

    def refuse(self, path: str, error: InputError) -> None:
        self.add(path, None, "changed", error.message)

    def read(self, path: str, step: Callable[[int], None]) -> None:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            self._files[path] = status.st_size
            self._last = None
            restored = restore_file(file)
            if restored.change:
                self.add(path, None, "transfer", restored.change)
                self._restored.add(path)
            parser = ListingParser(
                self._raw,
                lambda line, kind, detail: self.add(path, line, kind, detail),
                lambda report: self._add_report(path, report),
                ordered=restored.ordered,
            )
            parser.read(restored.file, step)
        for target in self._raw.targets.values():
            for number, offset, column, cell in target.rows.notes():
                truncated = f"line truncated at {cell!r}, which may be incomplete; not read"
                detail = f"{column}: {cell!r} is not a number; stored as NULL" if column else truncated
                self.add(path, TextLine(number, offset, ""), "no_layout", detail)

    def _add_report(self, path: str, report: ListingReport) -> None:
        """Assign times and the system to the rows of a report."""
        header = report.header
        system = header.system or self._last or unknown_system(path)
        if header.system:
            self._last = header.system
        if report.zone_s is not None:
            self._zones.setdefault(system, report.zone_s)
        for name, target in report.targets.items():
            table = target.table
            is_utc = report.definition is not None and table is not None and header.start_us is None
            if is_utc and listings.time_column(report.definition.name, table.key):  # type: ignore[union-attr]
                self._zones.setdefault(system, 0)
            offset = self._offset(self._zones.get(system), report)
            spans = target.rows.assign_times(
                system,
                (NAME, SPANS),
                path,
                start_us=header.start_us,
                end_us=header.end_us,
                seconds=header.seconds,
                day_us=self._day_us,
                offset_us=(offset or 0) * 1_000_000,
            )
            if self._date is None and not target.rows.dated:
                self._undated.setdefault(path, report.first)
            key = (system, target.rows.source)
            info = self._infos.get(key)
            if info is None:
                info = self._infos[key] = SystemInfo(*key, utc_offset_s=offset, local_time=offset is None)
            self._describe(info, path, report)
            ends = self._ends.setdefault(key, {})
            conflicting_ends = {span[0] for span in spans if not self._add_interval(target, ends, path, span)}
            repeats = [repeat for repeat in target.rows.repeats() if repeat[0] not in conflicting_ends]
            self._report_duplicates(name, path, report, repeats)
            table_range = self._table_ranges.setdefault((path, system, name), [0, LATEST_US, 0])
            table_range[0] += len(target.rows) - target.placed
            target.placed = len(target.rows)
            for end_us, *_ in spans:
                table_range[1], table_range[2] = min(table_range[1], end_us), max(table_range[2], end_us)

    def _add_interval(
        self,
        target: ListingTarget,
        ends: dict[int, float | None],
        path: str,
        span: tuple[int, float | None, int, int],
    ) -> bool:
        """Add an interval. Of reports with the same interval end, the first one determines the length."""
        end_us, seconds, number, offset = span
        known_s = ends.setdefault(end_us, seconds)
        if known_s is None:
            ends[end_us] = seconds
        elif seconds is not None and abs(known_s - seconds) > 1:
            target.rows.flag(end_us)
            detail = f"the interval has {seconds:g} s; another report with the same end has {known_s:g} s"
            self.add(path, TextLine(number, offset, ""), "conflict", f"{detail}; it is in no measure")
            return False
        return True

    def _report_duplicates(
        self, name: str, path: str, report: ListingReport, repeats: list[tuple[int, str, bool]]
    ) -> None:
        """Report the intervals of a report that were already read."""
        for (other_path, is_duplicate), count in Counter(repeat[1:] for repeat in repeats).items():
            location = "in this file" if other_path == path else f"in {other_path}"
            intervals = f"{count:,} intervals of {name} were already read"
            if is_duplicate:
                self.add(path, report.first, "duplicate", f"{intervals} {location}; not counted again")
            else:
                detail = f"{intervals} {location} with other values; only the first ones read are shown"
                self.add(path, report.first, "conflict", detail)

    def _describe(self, info: SystemInfo, path: str, report: ListingReport) -> None:
        header = report.header
        if path not in info.files:
            info.files.append(path)
        info.machine_type = info.machine_type or header.machine_type
        info.model = info.model or header.model
        info.serial = info.serial or header.serial
        info.release = info.release or header.release
        info.synthetic = info.synthetic or header.synthetic

    def _offset(self, zone_s: int | None, report: ListingReport) -> int | None:
        if zone_s is not None:
            return zone_s
        if self._tz is None:
            return None
        start = report.header.start_us or report.header.end_us or self._day_us
        local = dt.datetime.fromtimestamp(start / 1e6, dt.UTC).replace(tzinfo=self._tz)
        offset = local.utcoffset()
        return None if offset is None else round(offset.total_seconds())

    def finish(self) -> None:
        for key, info in self._infos.items():
            ends = self._ends[key]
            times = sorted(ends)
            info.intervals = [Interval(end, ends[end]) for end in times]
            if times:
                info.first_us = times[0] - round((ends[times[0]] or 0) * 1e6)
                info.last_us = times[-1]
            lengths = Counter(each.seconds for each in info.intervals if each.seconds)
            info.nominal_s = max(lengths, key=lambda length: (lengths[length], -length)) if lengths else None
        self.systems = [self._infos[key] for key in sorted(self._infos) if self._infos[key].intervals]
        for (name, _), target in sorted(self._raw.targets.items()):
            if len(target.rows):
                table = DecodedTable(name, partial(_columns, target), target.rows.table)
                self.tables.setdefault(name, []).append(table)
        local = {info.system: info.files[0] for info in reversed(self.systems) if info.local_time}
        for system, file in sorted(local.items()):
            self._problems.append(Problem(system, NAME, file, 0, None, "zone", LOCAL_TIMES))
        for path, line in self._undated.items():
            detail = "a report has no date: its times count from 1970; set the date (option date)"
            self.add(path, line, "zone", detail)
        for (path, kind), count in self._kinds.items():
            if count > MAX_NOTES:
                more = f"and {count - MAX_NOTES:,} more"
                self.add_problem(path, None, kind, more)

    # -- the source interface ------------------------------------------------------------------------

    def no_data(self, path: str) -> InputError:
        problem = next(iter(self._problems), None)
        return InputError(
            problem.detail if problem else "it has the header of a report and no row of its tables",
            file=path,
            offset=(problem.offset if problem else None) or 0,
            expected="a report of Performance Toolkit, SMTMET, HPALIAS or zlens, with its headings",
            cure="use the complete listing, from its header on",
        )

    def inventory(self, *, with_layouts: bool = True) -> list[InventoryRow]:
        """Return one row per file, system and table."""
        titles = {}
        for _, _, name in self._table_ranges:
            report = listings.tables().get(name, ("", ""))[0]
            titles[name] = definition.load_report(report).title if report else ""
        return [
            InventoryRow(
                system, NAME, file, None, None, name, titles[name], "sample", count, None, first, last,
                layout="zlens" if titles[name] else None,
            )
            for (file, system, name), (count, first, last) in sorted(self._table_ranges.items())
            if last
        ]  # fmt: skip

    def info(self) -> list[dict[str, Any]]:
        return [
            {
                "format": "listing of reports",
                "path": path,
                "bytes": size,
                "system": ", ".join(dict.fromkeys(system for _, system, _ in ranges)) or None,
                "tables": ", ".join(dict.fromkeys(name for *_, name in ranges)) or None,
                "times": "as printed",
            }
            for path, size in self._files.items()
            for ranges in [[key for key in self._table_ranges if key[0] == path]]
        ]
