"""Printed RMF Postprocessor reports: CPU, Workload, Paging and Device Activity, Partition Data.

Pages are read like their XML form: `rmf_listings.toml` maps each part to its XML name. Text that belongs to
no part is stored as text. DATE and TIME are the start of an interval.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, BinaryIO

from msgspec.structs import replace

from zlens.catalog.listings import precision, precision_column
from zlens.catalog.rmf_listings import PrintedFacts, PrintedList, PrintedSamples, ReportPage
from zlens.catalog.rmf_reports import RmfReport
from zlens.inputs.options import Options
from zlens.inputs.source import ArrowSource, Progress
from zlens.readers import text_lines
from zlens.readers.column_store import StoredTable
from zlens.readers.rmf import page as pages
from zlens.readers.rmf.body import ReportBody
from zlens.readers.rmf.interval import ReportInterval
from zlens.readers.rmf.page import Cell, FoundHeadings, PageHeader
from zlens.readers.rmf.page_templates import MOST_LINES, PageTemplates, ParsedPage, Span, ValueOrigin, origin
from zlens.readers.rmf.postprocessor import RmfXmlSource
from zlens.readers.rmf.problem_list import ProblemList
from zlens.readers.rmf.source import RmfFile
from zlens.readers.rmf.values import Converter
from zlens.readers.row_tables import RowStream

NAME = "rmf-text"
#: Lines of a page that may contain its header, and lines above headings that may belong to them.
_HEADER, _ABOVE = 5, 4
#: RMF prints lines of 132 characters.
_WIDEST = 400
_NUMBER = re.compile(r"\s*PAGE\s+\d+\s*\Z")
#: Characters read at a time, and the maximum length of a page that matches a template.
_BLOCK, _PAGE = 1024 * 1024, 64 * 1024
#: Maximum number of open reports: pages of several systems may alternate.
_OPEN = 16
#: Maximum number of cached title lines, which differ by the page number.
_TITLES = 1_000
_EMPTY: Cell = ("", 0, 0)
_GROUP = re.compile(r"--|^\W*$")


def detect(first_bytes: bytes, size: int) -> bool:
    """Return whether a file is text with the title and header of an RMF report."""
    if b"\0" in first_bytes:
        return False
    facts = PrintedFacts.load()
    lines = text_lines.decoded(first_bytes).splitlines()
    for number, line in enumerate(lines):
        if pages.title(line) in facts.pages:
            header = PageHeader()
            return any(header.parse_line(below, facts) for below in lines[number + 1 : number + 1 + _HEADER])
    return False


def open_files(paths: list[str], options: Options, progress: Progress | None = None) -> RmfTextSource:
    """Read the reports of all files."""
    return RmfTextSource(options.tz, options.known).read_files(paths, progress)


class RmfTextSource(RmfXmlSource):
    """All files of an input with printed Postprocessor reports."""

    name = NAME
    format = "RMF Postprocessor listing"
    expected = "a printed RMF Postprocessor report with its title and its header"
    cure = (
        "print the report again (REPORTS(CPU), REPORTS(DEVICE(DASD)), SYSRPTS(WLMGL(SCPER))), or request XML"
    )

    def _parts(self, report: ReportInterval) -> list[str]:
        return sorted({*report.rows, *report.variables})

    def _has_interval_row(self, report: ReportInterval) -> bool:
        return False

    def finish(self) -> None:
        super().finish()
        # Missing tables are normal, because most files have one report.
        self.tables = {table.name: [PreciseTable(rows)] for table, rows in self._stored if len(rows)}

    def _read_file(self, file: RmfFile, step: Callable[[int], None]) -> None:
        with open(file.path, "rb") as stream:
            file.size = os.fstat(stream.fileno()).st_size
            file.encoding = "text"
            parser = RmfListingParser(
                self._facts, self._converters, file.notes, lambda report: self._keep(report, file)
            )
            parser.read(stream, step)
        if not file.intervals:
            problems = file.notes.problems(self.name, file.path)
            if problems:
                file.refusal, file.refusal_offset = problems[0].detail, problems[0].offset


class PreciseTable:
    """A printed table with the precision of each number: half a unit of the last digit of its column.

    RMF prints all numbers of a column with the same decimals, so the maximum number of decimals counts. If
    all numbers end in zeros, as 100.00, the estimated precision is lower than the real one.
    """

    def __init__(self, rows: StoredTable) -> None:
        self._rows = rows
        self._precisions: dict[str, float | None] = {}
        numbers = [column for column in rows.columns if column.type == "float" and column.name != "seconds"]
        self._number_columns = {precision_column(column.name): column.name for column in numbers}
        self.columns = (*rows.columns, *map(precision, numbers))

    @property
    def name(self) -> str:
        return self._rows.name

    def __len__(self) -> int:
        return len(self._rows)

    def stream(self, columns: list[str]) -> ArrowSource:
        return RowStream(self.columns, self._selected_rows, columns)

    def _selected_rows(self, columns: list[str]) -> Iterable[tuple[Any, ...]]:
        if not columns:
            return repeat((), len(self))
        return zip(*(self._values(name) for name in columns), strict=True)

    def _values(self, name: str) -> Iterator[Any]:
        number = self._number_columns.get(name)
        if number is None:
            return self._rows.values(name)
        precision_value = self._precision_of(number)
        return (None if value is None else precision_value for value in self._rows.values(number))

    def _precision_of(self, number: str) -> float | None:
        if number not in self._precisions:
            decimals = [_decimals(value) for value in {*self._rows.values(number)} if value is not None]
            self._precisions[number] = 0.5 * 10.0 ** -max(decimals) if decimals else None
        return self._precisions[number]


def _decimals(value: float) -> int:
    """Return the number of decimals, without trailing zeros."""
    return len(f"{value:.9f}".rstrip("0").partition(".")[2])


class RmfListingParser:
    """Parser of the pages of one file. Pages of the same system and time are one report.

    keep  receives each report when many others started after it, or at the end of the file
    """

    def __init__(
        self,
        facts: RmfReport,
        converters: dict[tuple[str, str], Converter],
        notes: ProblemList,
        keep: Callable[[ReportInterval], None],
    ) -> None:
        self._keep_report = keep
        self._facts = facts
        self._notes = notes
        self._printed: PrintedFacts = PrintedFacts.load()
        self._body = ReportBody(facts, converters, notes, lambda: self._offset)
        self._reports: dict[tuple[str, str, str], ReportInterval] = {}
        self._offset = 0
        self._number = 0
        self._page: ReportPage | None = None
        self._head = PageHeader()
        self._below = 0
        self._block = ""
        self._pairs: dict[str, tuple[str, Span]] = {}
        self._pairs_begin: tuple[int, int] | None = None
        self._titles: set[str] = set()
        self._forms = PageTemplates()
        self._places: dict[tuple[str, ...], ReportInterval] = {}
        #: The report name and the page number of the page that starts.
        self._numbered = ("", 1)
        self._reset_page()

    def _reset_page(self) -> None:
        self._title, self._begun = "", False
        self._above: list[str] = []
        self._pending: list[tuple[int, str]] = []
        self._heads: FoundHeadings | None = None
        self._open: PrintedList | PrintedSamples | None = None
        self._groups: list[tuple[int, str]] = []
        self._areas: list[tuple[int, int, str]] = []
        self._first_words: dict[str, str] = {}
        #: Its lines as in the file, the data for its template, and the number of problems before it.
        self._raw: list[str] = []
        self._lesson, self._noted = ParsedPage(), self._notes.count

    def read(self, file: BinaryIO, progress: Callable[[int], None]) -> None:
        """Read the file to its end."""
        rest = ""
        while True:
            block = file.read(_BLOCK)
            # Latin-1 has a character for each byte, so positions are offsets in the file.
            text = rest + block.decode("latin-1")
            position = self._read_pages(text, last=not block)
            rest = text[position:]
            progress(self._offset)
            if not block:
                break
        self._end_page()
        for report in self._reports.values():
            self._keep_report(report)

    def _read_pages(self, text: str, *, last: bool) -> int:
        """Read the complete pages and lines of a text; return the position of the rest."""
        position = 0
        while position < len(text):
            line_end = text.find("\n", position)
            remaining = len(text) - position
            if line_end < 0 and not last and remaining < text_lines.MAX_LINE:
                break
            end = min(line_end + 1 if line_end >= 0 else len(text), position + text_lines.MAX_LINE)
            line = text[position:end]
            if self._is_title(line):
                if not last and remaining < _PAGE:
                    break
                self._numbered = pages.numbered(text, position)
                page_end = self._known_page(text, position, line.rstrip(), last=last)
                if page_end is not None:
                    position = page_end
                    continue
            self._number += 1
            raw = line.encode("latin-1")
            self._line(text_lines.clean_line(text_lines.decoded(raw)), line)
            self._offset += len(raw)
            position = end
        return position

    def _is_title(self, line: str) -> bool:
        if line in self._titles:
            return True
        is_title = pages.title(line.rstrip()) is not None
        if is_title and len(self._titles) < _TITLES:
            self._titles.add(line)
        return is_title

    def _known_page(self, text: str, start: int, first: str, *, last: bool) -> int | None:
        """Read a page that matches a template; return its end, or None if no template matches."""
        hit = self._forms.find(text, start, first)
        if hit is None:
            return None
        template, match = hit
        end = match.end()
        if end == len(text):
            if not last:
                return None
        elif not self._is_title(text[end : text.find("\n", end) + 1]):
            return None
        self._end_page()
        report = self._places.get(template.place(match))
        if report is None or not self._has_next_page(report):
            header = replace(template.printed, **template.head(match))
            report = self._report(header, self._offset + template.begin)
        if report is None or not template.add_values(match, report, self._offset - start):
            return None
        report.pages |= [self._numbered]
        self._number += template.lines
        self._offset += end - start
        report.bytes = report.bytes or self._offset - report.offset
        return end

    # -- pages -----------------------------------------------------------------------------------------

    def _line(self, line: str, raw: str) -> None:
        if len(line) > _WIDEST:
            self._note("length", f"a line of {len(line):,} characters; its first {_WIDEST} are read", "long")
            line = line[:_WIDEST]
        title = pages.title(line)
        if title is not None:
            self._end_page()
            self._title, self._page = title, self._printed.pages.get(title)
            self._head, self._below = PageHeader(), 0
            self._raw.append(raw)
            return
        if not self._title:
            return
        if len(self._raw) <= MOST_LINES:
            self._raw.append(raw)
        if not line.strip():
            return
        self._below += 1
        if self._below <= _HEADER and (spans := self._head.parse_line(line, self._printed)):
            self._lesson.head += [(name, self._span(*span)) for name, span in spans.items()]
            return
        if not self._begun:
            if self._below <= _HEADER and self._head.ends() is None:
                # Between the lines of the header is the page number.
                self._pending += [] if _NUMBER.match(line) else [(self._number, line.strip())]
                return
            if not self._begin():
                return
        self._content(line)

    def _begin(self) -> bool:
        """Begin the page in the report of its system and time."""
        self._begun = True
        self._lesson.begin = sum(map(len, self._raw[:-1]))
        ends = self._head.ends()
        if ends is None:
            self._note("time", "a page without the time and length of its interval; not read", "page time")
            self._title, self._pending = "", []
            return False
        report = self._report(self._head, self._offset)
        if report is not None:
            report.pages |= [self._numbered]
        body = self._body
        body.reset()
        body.interval = report
        body.begin("segment")
        body.segment = self._page.segment if self._page is not None else self._title
        body.begin("part")
        if self._page is None:
            stored = "its lines are stored as text in rmf_other"
            self._note("section", f"the report {self._title} is not in the catalog; {stored}", self._title)
        return True

    def _report(self, header: PageHeader, offset: int) -> ReportInterval | None:
        """Return the report of the system and time of a header; None if it has no time."""
        ends = header.ends()
        if ends is None:
            return None
        key = (header.system, *ends)
        open_report, complete = self._reports.get(key), None
        if open_report is None and len(self._reports) >= _OPEN:
            complete, *_ = self._reports
        elif open_report is not None and not self._has_next_page(open_report):
            # The report starts again; duplicate values are detected when it is stored.
            complete = key
        if complete is not None:
            self._keep_report(self._reports.pop(complete))
            self._places.clear()
        if key not in self._reports:
            report = self._reports[key] = ReportInterval(
                offset,
                metric=self._facts.report,
                title="RMF Postprocessor listing",
                type="Interval",
                smf_level=header.level.strip(),
                rmf_level=header.version,
                system=header.system,
                start=(ends[0], "en-us"),
                end=(ends[1], "en-us"),
                length=header.interval,
            )
            if header.cycle:
                report.header["cycle"] = str(round(float(header.cycle) * 1000))
        report = self._places[header.report_key] = self._reports[key]
        return report

    def _has_next_page(self, report: ReportInterval) -> bool:
        """Return whether the page that starts belongs to this report, because its number is higher."""
        name, number = self._numbered
        return report.pages.get(name, 0) < number

    def _end_page(self) -> None:
        if self._title and self._below and not self._begun:
            self._begin()
        if self._begun:
            self._end_pairs()
            for number, line in self._pending:
                self._keep(number, line)
            label = self._body.label
            if self._page is not None:
                self._body.end_part("")
                if self._notes.count == self._noted:
                    self._forms.add_template("".join(self._raw), self._lesson, label, self._head)
            report = self._body.interval
            if report is not None:
                report.bytes = report.bytes or self._offset - report.offset
            self._body.end_report()
            self._body.interval = None
        self._reset_page()

    def _note(self, kind: str, detail: str, about: str) -> None:
        self._notes.add(kind, f"line {self._number}: {detail}", self._offset, about=about)

    # -- lines of a page -------------------------------------------------------------------------------

    def _span(self, first_column: int, end_column: int) -> Span:
        """Return the span of a text on the page from its position in the current line."""
        return len(self._raw) - 1, first_column, end_column

    def _content(self, line: str) -> None:
        page = self._page
        # A line may contain rows of lists and other values.
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
        """Store an unrecognized line as text."""
        self._body.keep_line(line, number)
        if self._page is not None:
            detail = f"line {number}: not recognized, stored as text in rmf_other: {line[:80]!r}"
            self._notes.add("section", detail, self._offset, about=f"not recognized {self._title}")

    def _values(self, page: ReportPage, line: str) -> bool:
        has_values = False
        for value in page.values if page.any_value.search(line) is not None else ():
            if match := value.pattern.search(line):
                has_values = True
                self._body.set_value(value.part, value.name, match[1])
                targets = self._body.named(value.name)
                self._lesson.useless |= not targets
                self._lesson.values += [
                    (section, column, origin(converter, self._span(*match.span(1)), variables[column]))
                    for section, column, converter in targets
                    if (variables := self._variables(section))
                ]
        return has_values

    def _variables(self, section: str) -> dict[str, Any]:
        report = self._body.interval
        return report.variables[section] if report is not None else {}

    def _lists(self, page: ReportPage, line: str) -> bool:
        """Read the rows of lists in a line; return whether the line contains nothing else."""
        rest = line
        for each in page.lists:
            for match in each.form.finditer(line):
                rest = rest.replace(match[0], " ", 1)
                if self._open is not each:
                    self._body.set_headings(each.heads, each.part)
                    self._open = each
                self._lesson.charts.add(len(self._raw) - 1)
                self._row([(text, *match.span(group)) for text, group in each.row(match)], None)
        if rest == line:
            return False
        self._heads = None
        return not rest.strip(" >")

    def _table(self, page: ReportPage, line: str) -> bool:
        headings_found = pages.match_headings(page, line, self._above)
        if headings_found is not None:
            self._body.set_headings(self._present(headings_found), headings_found.table.part)
            self._heads, self._open, self._block, self._above = headings_found, None, "", []
            # Lines above headings that only name columns or groups of columns are not stored.
            upper = [form for form, _ in headings_found.table.upper]
            self._pending = [
                (number, text)
                for number, text in self._pending
                if not _GROUP.search(text) and not any(form.search(text) for form in upper)
            ]
            return True
        headings = self._heads
        if headings is None:
            return False
        table = headings.table
        total = table.total.match(line)
        more = total is None and table.more.fullmatch(line) is not None
        if total is None and not more and table.row.fullmatch(line) is None:
            return False
        # The name of a total may contain blanks, and so be below several headings.
        first = headings.columns[0][0]
        row = f"{' ' * total.end()}{line[total.end() :]}" if total is not None else line
        cells = headings.cells(row)
        if cells is None:
            return False
        if total is not None:
            cells[first] = (table.total_name, 0, 0)
        elif more:
            cells.pop(first, None)
        # A partition that is not active has only a name and a status.
        if table.block and not more and len(cells) > 2:
            self._block = cells.get(table.block, _EMPTY)[0] or self._block
            cells[table.block] = (self._block, 0, 0)
        self._row(
            [cells.get(name, _EMPTY) for name in self._present(headings)],
            "SUM" if total is not None else None,
        )
        if total is not None:
            self._block = ""
        return True

    def _present(self, headings: FoundHeadings) -> list[str]:
        names = {name for name, _, _ in headings.columns} | {name for name, _ in headings.table.words}
        return [name for name in headings.table.names if name in names]

    def _row(
        self,
        cells: Sequence[Cell],
        kind: str | None,
        pairs: Sequence[Span] = (),
        first_line: tuple[int, int] | None = None,
    ) -> None:
        """Add a row of the current line, or of `pairs`, the spans of its cells; `begun` is its first line."""
        body, report = self._body, self._body.interval
        previous_other_count = report.other_count if report is not None else 0
        line, offset = first_line or (len(self._raw) - 1, self._offset)
        body.begin_row(kind, offset)
        body.cells = [text for text, _, _ in cells]
        body.end_row("")
        if body.added is None or report is None or report.other_count != previous_other_count:
            self._lesson.useless = True
            return
        rows, row_kind, values = body.added
        spans = pairs or [self._span(start, end) for _, start, end in cells]
        continues = rows.continues is not None and kind is None and not cells[rows.continues][0]
        inherits = rows.above if continues else ()
        origins = []
        for column, mapped_cell in enumerate(rows.cells):
            if mapped_cell is None:
                origins.append(ValueOrigin(None, None, values[column]))
                continue
            index, converter = mapped_cell
            is_inherited = column in inherits and not cells[index][0]
            origins.append(origin(converter, spans[index], None if is_inherited else values[column]))
        self._lesson.rows.append((rows.section.id, row_kind, line, origins, list(inherits)))

    def _pair(self, page: ReportPage, line: str) -> bool:
        if page.pairs is None:
            return False
        if page.pairs.begins.search(line) is not None:
            self._end_pairs()
            self._pairs, self._groups = {}, []
            self._pairs_begin = len(self._raw) - 1, self._offset
        values = {
            value.name: (match[1], *match.span(1))
            for value in page.pairs.values
            if (match := value.pattern.search(line))
        }
        groups = pages.groups(page, line)
        if groups:
            self._groups = groups
        pairs = pages.pairs(page, line, self._groups)
        self._pairs |= {name: (text, self._span(*span)) for name, (text, *span) in (values | pairs).items()}
        return bool(values or groups or pairs)

    def _end_pairs(self) -> None:
        """Add the row of the names and values that were read."""
        if self._pairs:
            self._body.set_headings(self._pairs)
            cells = [(text, start, end) for text, (_, start, end) in self._pairs.values()]
            self._row(cells, None, [span for _, span in self._pairs.values()], self._pairs_begin)
        self._pairs, self._pairs_begin = {}, None

    def _samples(self, page: ReportPage, line: str) -> bool:
        if page.samples is None:
            return False
        counts = pages.counts(line, len(page.samples.names))
        if not counts:
            areas = pages.labels(line, page.samples.names)
            if areas:
                self._areas, self._first_words = areas, {}
            return bool(areas)
        if self._open is not page.samples:
            self._body.set_headings([page.samples.area, page.samples.name, *page.samples.names])
            self._open = page.samples
        areas = self._areas or [(0, 0, "")]
        for start, name, numbers in counts:
            area = min(areas, key=lambda area: max(area[0] - start, start - area[1], 0))
            self._row([(area[2], 0, 0), (self._grouped(page.samples, area[2], name), 0, 0), *numbers], None)
        return True

    def _grouped(self, samples: PrintedSamples, area: str, name: str) -> str:
        """Return a name with the first word that it has in common with a name above."""
        first, _, rest = name.partition(" ")
        if first in samples.groups and rest:
            self._first_words[area] = first
        elif area in self._first_words:
            return f"{self._first_words[area]} {name}"
        return name
