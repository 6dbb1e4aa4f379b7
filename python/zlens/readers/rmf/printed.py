"""Reports as the RMF Postprocessor prints them: CPU, Workload, Paging and Device Activity, Partition Data.

Pages are read as their XML form would be: `rmf_printed.toml` has what each part is called there. What belongs
to no part is kept as text. DATE and TIME are those at which an interval began.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable
from typing import BinaryIO

from zlens.catalog.rmf_printed import List, Page, Printed, Samples, printed
from zlens.catalog.rmf_reports import Report
from zlens.inputs.options import Options
from zlens.inputs.source import Progress
from zlens.readers import textlines
from zlens.readers.rmf import page as pages
from zlens.readers.rmf.body import Body
from zlens.readers.rmf.interval import ReportInterval
from zlens.readers.rmf.notes import Notes
from zlens.readers.rmf.page import Head, Heads
from zlens.readers.rmf.postprocessor import RmfXmlSource
from zlens.readers.rmf.source import MAX_INTERVALS, ReportFile
from zlens.readers.rmf.values import Converter

NAME = "rmf-text"
#: Lines of a page in which its header is, and lines above heads that may belong to them.
_HEADER, _ABOVE = 5, 4
#: RMF prints lines of 132 characters.
_WIDEST = 400
_NUMBER = re.compile(r"\s*PAGE\s+\d+\s*\Z")
_GROUP = re.compile(r"--|^\W*$")


def detect(head: bytes, size: int) -> bool:
    """Return whether a file is text with the title and header of an RMF report."""
    if b"\0" in head:
        return False
    facts = printed()
    lines = textlines.decoded(head).splitlines()
    for number, line in enumerate(lines):
        if pages.title(line) in facts.pages:
            header = Head()
            return any(header.take(below, facts) for below in lines[number + 1 : number + 1 + _HEADER])
    return False


def open_files(paths: list[str], options: Options, progress: Progress | None = None) -> RmfTextSource:
    """Read the reports of all files."""
    return RmfTextSource(options.tz).read(paths, progress)


class RmfTextSource(RmfXmlSource):
    """All files of an input with printed Postprocessor reports."""

    name = NAME
    format = "RMF Postprocessor listing"
    expected = "a printed RMF Postprocessor report with its title and its header"
    cure = (
        "print the report again (REPORTS(CPU), REPORTS(DEVICE(DASD)), SYSRPTS(WLMGL(SCPER))), or ask for XML"
    )

    def _parts(self, report: ReportInterval) -> list[str]:
        return sorted({*report.rows, *report.variables})

    def _is_whole(self, report: ReportInterval) -> bool:
        return False

    def _finish(self) -> None:
        super()._finish()
        # What is printed is what was asked for: most files have one report.
        self.tables = {table.name: [rows] for table, rows in self._stored if len(rows)}

    def _read_file(self, file: ReportFile, progress: Progress | None, before: int, total: int) -> None:
        number = len(self._files) - 1
        again: Counter[str] = Counter()
        with open(file.path, "rb") as stream:
            file.size = os.fstat(stream.fileno()).st_size
            file.encoding = "text"
            parser = Parser(self._facts, self._converters, file.notes)
            parser.read(stream, lambda done: progress(before + done, total, file.path) if progress else None)
        for report in parser.intervals():
            self._keep(report, number, again)
        if not file.intervals:
            problems = file.notes.problems(self.name, file.path)
            if problems:
                file.refusal, file.refusal_offset = problems[0].detail, problems[0].offset


class Parser:
    """Reads the pages of one file. Pages of the same system and time are one report."""

    def __init__(self, facts: Report, converters: dict[tuple[str, str], Converter], notes: Notes) -> None:
        self._facts = facts
        self._notes = notes
        self._printed: Printed = printed()
        self._body = Body(facts, converters, notes, lambda: self._offset)
        self._reports: dict[tuple[str, str, str], ReportInterval] = {}
        self._offset = 0
        self._number = 0
        self._page: Page | None = None
        self._title = ""
        self._head = Head()
        self._below = 0
        self._above: list[str] = []
        self._pending: list[tuple[int, str]] = []
        self._heads: Heads | None = None
        self._block = ""
        self._groups: list[tuple[int, str]] = []
        self._areas: list[tuple[int, int, str]] = []
        self._pairs: dict[str, str] = {}
        self._open: List | Samples | None = None
        self._begun = False

    def read(self, file: BinaryIO, progress: Callable[[int], None]) -> None:
        """Read the file to its end."""
        for raw in iter(lambda: file.readline(textlines.MAX_LINE), b""):
            self._number += 1
            self._line(textlines.clean(textlines.decoded(raw)))
            self._offset += len(raw)
            if self._number % 10_000 == 0:
                progress(self._offset)
        self._end_page()

    def intervals(self) -> list[ReportInterval]:
        """The reports that were read, in the order of their first pages."""
        return list(self._reports.values())

    # -- pages -----------------------------------------------------------------------------------------

    def _line(self, line: str) -> None:
        if len(line) > _WIDEST:
            self._note("length", f"a line of {len(line):,} characters; its first {_WIDEST} are read", "long")
            line = line[:_WIDEST]
        title = pages.title(line)
        if title is not None:
            self._end_page()
            self._title, self._page = title, self._printed.pages.get(title)
            self._head, self._below = Head(), 0
            return
        if not self._title or not line.strip():
            return
        self._below += 1
        if self._below <= _HEADER and self._head.take(line, self._printed):
            return
        if not self._begun:
            if self._below <= _HEADER and self._head.ends() is None:
                # Between the lines of the header is the number of the page.
                self._pending += [] if _NUMBER.match(line) else [(self._number, line.strip())]
                return
            if not self._begin():
                return
        self._content(line)

    def _begin(self) -> bool:
        """Begin the page in the report of its system and time."""
        self._begun = True
        ends = self._head.ends()
        if ends is None:
            self._note("time", "a page without the time and length of its interval; not read", "page time")
            self._title, self._pending = "", []
            return False
        place = (self._head.system, *ends)
        report = self._reports.get(place)
        if report is None:
            if len(self._reports) >= MAX_INTERVALS:
                self._note("length", "more intervals than zlens keeps from one file; not read", "bound")
                self._title = ""
                return False
            report = self._reports[place] = ReportInterval(
                self._offset,
                metric=self._facts.report,
                title="RMF Postprocessor listing",
                type="Interval",
                smf_level=self._head.level.strip(),
                rmf_level=self._head.version,
                system=self._head.system,
                start=(ends[0], "en-us"),
                end=(ends[1], "en-us"),
                length=self._head.interval,
            )
            if self._head.cycle:
                report.header["cycle"] = str(round(float(self._head.cycle) * 1000))
        body = self._body
        body.reset()
        body.interval = report
        body.begin("segment")
        body.end_segment_name(self._page.segment if self._page is not None else self._title)
        body.begin("part")
        if self._page is None:
            detail = (
                f"the report {self._title} is not in the catalog; its lines are kept as text in rmf_other"
            )
            self._note("section", detail, self._title)
        return True

    def _end_page(self) -> None:
        if self._title and self._below and not self._begun:
            self._begin()
        if self._begun:
            self._end_pairs()
            for number, line in self._pending:
                self._keep(number, line)
            if self._page is not None:
                self._body.end_part("")
            report = self._body.interval
            if report is not None:
                report.bytes += self._offset - report.offset if not report.bytes else 0
            self._body.end_report()
            self._body.interval = None
        self._title, self._begun = "", False
        self._above, self._pending = [], []
        self._heads, self._open, self._groups, self._areas = None, None, [], []

    def _note(self, kind: str, detail: str, about: str) -> None:
        self._notes.add(kind, f"line {self._number}: {detail}", self._offset, about=about)

    # -- lines of a page -------------------------------------------------------------------------------

    def _content(self, line: str) -> None:
        page = self._page
        # A line may have both.
        listed = page is not None and self._lists(page, line)
        if page is not None and (
            listed
            or self._values(page, line)
            or page.titles.match(line) is not None
            or self._pair(page, line)
            or self._samples(page, line)
            or self._table(page, line)
        ):
            return
        self._above = [*self._above[-_ABOVE:], line]
        if line.strip(" 0-_=*"):
            self._pending.append((self._number, line.strip()))
            if len(self._pending) > _ABOVE:
                self._keep(*self._pending.pop(0))

    def _keep(self, number: int, line: str) -> None:
        """Keep a line that has no place as text."""
        self._body.keep_line(line, number)
        if self._page is not None:
            detail = f"line {number}: not placed, kept as text in rmf_other: {line[:80]!r}"
            self._notes.add("section", detail, self._offset, about=f"not placed {self._title}")

    def _values(self, page: Page, line: str) -> bool:
        found = False
        if page.any_value.search(line) is None:
            return False
        for value in page.values:
            match = value.form.search(line)
            if match is not None:
                found = True
                self._body.end_part_name(value.part)
                self._body.begin("var")
                self._body.end_var_name(value.name)
                self._body.end_var_value(match[1])
                self._body.end_var("")
        return found

    def _lists(self, page: Page, line: str) -> bool:
        """Whether all of the line is rows of lists, with their values taken."""
        left = line
        for each in page.lists:
            for found in each.form.finditer(line):
                left = left.replace(found[0], " ", 1)
                if self._open is not each:
                    self._body.end_part_name(each.part)
                    self._body.begin("table")
                    self._body.cells = list(each.heads)
                    self._body.end_heads("")
                    self._open = each
                self._row(each.row(found), None)
        if left == line:
            return False
        self._heads = None
        return not left.strip(" >")

    def _table(self, page: Page, line: str) -> bool:
        found = pages.heads(page, line, self._above)
        if found is not None:
            self._body.end_part_name(found.table.part)
            self._body.begin("table")
            self._body.begin("column-headers")
            self._body.cells = self._present(found)
            self._body.end_heads("")
            self._heads, self._open, self._block, self._above = found, None, "", []
            # Lines above heads that only name groups of columns.
            self._pending = [each for each in self._pending if not _GROUP.search(each[1])]
            return True
        heads = self._heads
        if heads is None:
            return False
        table = heads.table
        total = table.total.match(line)
        more = total is None and table.more.fullmatch(line) is not None
        if total is None and not more and table.row.fullmatch(line) is None:
            return False
        # The name of a total may have blanks, and so stand below several heads.
        first = heads.columns[0][0]
        row = f"{' ' * total.end()}{line[total.end() :]}" if total is not None else line
        cells = heads.cells(row)
        if cells is None:
            return False
        if total is not None:
            cells[first] = table.total_name
        elif more:
            cells.pop(first, None)
        # A partition that is not active has a name and its status alone.
        if table.block and not more and len(cells) > 2:
            self._block = cells.get(table.block) or self._block
            cells[table.block] = self._block
        self._row(
            [cells.get(name, "") for name in self._present(heads)], "SUM" if total is not None else None
        )
        if total is not None:
            self._block = ""
        return True

    def _present(self, heads: Heads) -> list[str]:
        names = {name for name, _, _ in heads.columns} | {name for name, _ in heads.table.words}
        return [name for name in heads.table.names if name in names]

    def _row(self, cells: list[str], kind: str | None) -> None:
        self._body.begin_row(kind)
        self._body.cells = cells
        self._body.end_row("")

    def _pair(self, page: Page, line: str) -> bool:
        if page.pairs is None:
            return False
        if page.pairs.begins.search(line) is not None:
            self._end_pairs()
            self._pairs, self._groups = {}, []
        values = {value.name: match[1] for value in page.pairs.values if (match := value.form.search(line))}
        groups = pages.groups(page, line)
        if groups:
            self._groups = groups
        pairs = pages.pairs(page, line, self._groups)
        self._pairs |= values | pairs
        return bool(values or groups or pairs)

    def _end_pairs(self) -> None:
        """Add the row of the names and values that were read."""
        if self._pairs:
            self._body.begin("table")
            self._body.cells = list(self._pairs)
            self._body.end_heads("")
            self._row(list(self._pairs.values()), None)
        self._pairs = {}

    def _samples(self, page: Page, line: str) -> bool:
        if page.samples is None:
            return False
        counts = pages.counts(line, len(page.samples.names))
        if not counts:
            areas = pages.labels(line, page.samples.names)
            self._areas = areas or self._areas
            return bool(areas)
        if self._open is not page.samples:
            self._body.begin("table")
            self._body.cells = [page.samples.area, page.samples.name, *page.samples.names]
            self._body.end_heads("")
            self._open = page.samples
        for start, name, numbers in counts:
            area = min(
                self._areas, key=lambda area: max(area[0] - start, start - area[1], 0), default=(0, 0, "")
            )
            self._row([area[2], name, *numbers], None)
        return True
