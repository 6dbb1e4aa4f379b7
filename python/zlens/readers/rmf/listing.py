"""Reports as the RMF Postprocessor prints them: CPU, Workload, Paging and Device Activity, Partition Data.

Pages are read as their XML form would be: `rmf_printed.toml` has what each part is called there. What belongs
to no part is kept as text. DATE and TIME are those at which an interval began.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, BinaryIO

from msgspec.structs import replace

from zlens.catalog.listings import precision, precision_column
from zlens.catalog.rmf_listings import PrintedFacts, PrintedList, PrintedSamples, ReportPage, printed
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
from zlens.readers.row_tables import RowStream, typed

NAME = "rmf-text"
#: Lines of a page in which its header is, and lines above heads that may belong to them.
_HEADER, _ABOVE = 5, 4
#: RMF prints lines of 132 characters.
_WIDEST = 400
_NUMBER = re.compile(r"\s*PAGE\s+\d+\s*\Z")
#: Characters read at a time, and the most that a page of a known form has.
_BLOCK, _PAGE = 1024 * 1024, 64 * 1024
#: Reports that may get more pages: those of several systems may alternate.
_OPEN = 16
#: Lines that are titles of pages and are kept: they differ by the number of the page.
_TITLES = 1_000
_EMPTY: Cell = ("", 0, 0)
_GROUP = re.compile(r"--|^\W*$")


def detect(head: bytes, size: int) -> bool:
    """Return whether a file is text with the title and header of an RMF report."""
    if b"\0" in head:
        return False
    facts = printed()
    lines = text_lines.decoded(head).splitlines()
    for number, line in enumerate(lines):
        if pages.title(line) in facts.pages:
            header = PageHeader()
            return any(header.parse_line(below, facts) for below in lines[number + 1 : number + 1 + _HEADER])
    return False


def open_files(paths: list[str], options: Options, progress: Progress | None = None) -> RmfTextSource:
    """Read the reports of all files."""
    return RmfTextSource(options.tz, options.known).read(paths, progress)


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

    def _has_interval_row(self, report: ReportInterval) -> bool:
        return False

    def _finish(self) -> None:
        super()._finish()
        # What is printed is what was asked for: most files have one report.
        self.tables = {table.name: [PreciseTable(rows)] for table, rows in self._stored if len(rows)}

    def _read_file(self, file: RmfFile, progress: Progress | None, before: int, total: int) -> None:
        number = len(self._files) - 1
        again: Counter[str] = Counter()
        with open(file.path, "rb") as stream:
            file.size = os.fstat(stream.fileno()).st_size
            file.encoding = "text"
            parser = RmfListingParser(
                self._facts, self._converters, file.notes, lambda report: self._keep(report, number, again)
            )
            parser.read(stream, lambda done: progress(before + done, total, file.path) if progress else None)
        if not file.intervals:
            problems = file.notes.problems(self.name, file.path)
            if problems:
                file.refusal, file.refusal_offset = problems[0].detail, problems[0].offset


class PreciseTable:
    """A table as printed, with the precision of each number: half of a unit of the last digit of its column.

    RMF prints all numbers of a column with the same decimals, so those of the number with the most count. If
    all of them end in zeros, as 100.00, the precision is taken to be less than it was.
    """

    def __init__(self, rows: StoredTable) -> None:
        self._rows = rows
        self._halves: dict[str, float | None] = {}
        numbers = [column for column in rows.columns if column.type == "float" and column.name != "seconds"]
        self._of = {precision_column(column.name): column.name for column in numbers}
        self.columns = (*rows.columns, *map(precision, numbers))

    @property
    def name(self) -> str:
        return self._rows.name

    def __len__(self) -> int:
        return len(self._rows)

    def stream(self, columns: list[str]) -> ArrowSource:
        return RowStream(typed(self.columns, columns), self._chosen)

    def _chosen(self, columns: list[str]) -> Iterable[tuple[Any, ...]]:
        if not columns:
            return repeat((), len(self))
        return zip(*(self._values(name) for name in columns), strict=True)

    def _values(self, name: str) -> Iterator[Any]:
        number = self._of.get(name)
        if number is None:
            return self._rows.values(name)
        half = self._half(number)
        return (None if value is None else half for value in self._rows.values(number))

    def _half(self, number: str) -> float | None:
        if number not in self._halves:
            decimals = [_decimals(value) for value in {*self._rows.values(number)} if value is not None]
            self._halves[number] = 0.5 * 10.0 ** -max(decimals) if decimals else None
        return self._halves[number]


def _decimals(value: float) -> int:
    """Digits behind the point, without zeros at the end."""
    return len(f"{value:.9f}".rstrip("0").partition(".")[2])


class RmfListingParser:
    """Reads the pages of one file. Pages of the same system and time are one report.

    keep  takes each report when many others began after it, or the file ends
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
        self._printed: PrintedFacts = printed()
        self._body = ReportBody(facts, converters, notes, lambda: self._offset)
        self._reports: dict[tuple[str, str, str], ReportInterval] = {}
        self._offset = 0
        self._number = 0
        self._page: ReportPage | None = None
        self._title = ""
        self._head = PageHeader()
        self._below = 0
        self._above: list[str] = []
        self._pending: list[tuple[int, str]] = []
        self._heads: FoundHeadings | None = None
        self._block = ""
        self._groups: list[tuple[int, str]] = []
        self._areas: list[tuple[int, int, str]] = []
        self._pairs: dict[str, tuple[str, Span]] = {}
        self._pairs_begin: tuple[int, int] | None = None
        self._titles: set[str] = set()
        self._forms = PageTemplates()
        self._places: dict[tuple[str, ...], ReportInterval] = {}
        #: Of the page that begins: its report, and its number in it.
        self._numbered = ("", 1)
        #: Of the current page: its lines as they are in the file, what its form is learned from, and how many
        #: notes there were before it.
        self._raw: list[str] = []
        self._lesson = ParsedPage()
        self._noted = 0
        self._open: PrintedList | PrintedSamples | None = None
        self._begun = False

    def read(self, file: BinaryIO, progress: Callable[[int], None]) -> None:
        """Read the file to its end."""
        rest = ""
        while True:
            block = file.read(_BLOCK)
            # Latin-1 has a character for each byte: positions are those of the file.
            text = rest + block.decode("latin-1")
            at = self._read_pages(text, last=not block)
            rest = text[at:]
            progress(self._offset)
            if not block:
                break
        self._end_page()
        for report in self._reports.values():
            self._keep_report(report)

    def _read_pages(self, text: str, *, last: bool) -> int:
        """Read the pages and lines of a text as far as they are whole; gives the position of the rest."""
        at = 0
        while at < len(text):
            cut = text.find("\n", at)
            left = len(text) - at
            if cut < 0 and not last and left < text_lines.MAX_LINE:
                break
            end = min(cut + 1 if cut >= 0 else len(text), at + text_lines.MAX_LINE)
            line = text[at:end]
            if self._is_title(line):
                if not last and left < _PAGE:
                    break
                self._numbered = pages.numbered(text, at)
                after = self._known_page(text, at, line.rstrip(), last=last)
                if after is not None:
                    at = after
                    continue
            self._number += 1
            raw = line.encode("latin-1")
            self._line(text_lines.clean_line(text_lines.decoded(raw)), line)
            self._offset += len(raw)
            at = end
        return at

    def _is_title(self, line: str) -> bool:
        found = line in self._titles
        if not found and pages.title(line.rstrip()) is not None:
            found = True
            if len(self._titles) < _TITLES:
                self._titles.add(line)
        return found

    def _known_page(self, text: str, at: int, first: str, *, last: bool) -> int | None:
        """Where a page ends that is of a known form, with its values taken; None if it is none."""
        known = self._forms.find(text, at, first)
        if known is None:
            return None
        form, found = known
        end = found.end()
        if end == len(text):
            if not last:
                return None
        elif not self._is_title(text[end : text.find("\n", end) + 1]):
            return None
        self._end_page()
        report = self._places.get(form.place(found))
        if report is None or not self._goes_on(report):
            head = replace(form.printed, **form.head(found))
            report = self._report(head, self._offset + form.begin)
        if report is None or not form.add_values(found, report, self._offset - at):
            return None
        self._numbers(report)
        self._number += form.lines
        self._offset += end - at
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
        if self._below <= _HEADER and (taken := self._head.parse_line(line, self._printed)):
            self._lesson.head += [(name, self._span(*span)) for name, span in taken.items()]
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
        self._lesson.begin = sum(map(len, self._raw[:-1]))
        ends = self._head.ends()
        if ends is None:
            self._note("time", "a page without the time and length of its interval; not read", "page time")
            self._title, self._pending = "", []
            return False
        report = self._report(self._head, self._offset)
        if report is not None:
            self._numbers(report)
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

    def _report(self, head: PageHeader, offset: int) -> ReportInterval | None:
        """The report of the system and time of a header; None if it has no time."""
        ends = head.ends()
        if ends is None:
            return None
        place = (head.system, *ends)
        known = self._reports.get(place)
        if known is not None and not self._goes_on(known):
            # It begins again: what was read twice is found when it is kept.
            self._keep_report(self._reports.pop(place))
            self._places.clear()
        if place not in self._reports:
            if len(self._reports) >= _OPEN:
                first, *_ = self._reports
                self._keep_report(self._reports.pop(first))
                self._places.clear()
            report = self._reports[place] = ReportInterval(
                offset,
                metric=self._facts.report,
                title="RMF Postprocessor listing",
                type="Interval",
                smf_level=head.level.strip(),
                rmf_level=head.version,
                system=head.system,
                start=(ends[0], "en-us"),
                end=(ends[1], "en-us"),
                length=head.interval,
            )
            if head.cycle:
                report.header["cycle"] = str(round(float(head.cycle) * 1000))
        report = self._places[head.report_key] = self._reports[place]
        return report

    def _goes_on(self, report: ReportInterval) -> bool:
        """Whether a report does not have the page that begins: it is another page of it."""
        name, number = self._numbered
        return report.pages.get(name, 0) < number

    def _numbers(self, report: ReportInterval) -> None:
        """Note that a report has the page that begins."""
        name, number = self._numbered
        report.pages[name] = number

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
                report.bytes += self._offset - report.offset if not report.bytes else 0
            self._body.end_report()
            self._body.interval = None
        self._title, self._begun = "", False
        self._above, self._pending = [], []
        self._heads, self._open, self._groups, self._areas = None, None, [], []
        self._raw, self._lesson, self._noted = [], ParsedPage(), self._notes.count

    def _note(self, kind: str, detail: str, about: str) -> None:
        self._notes.add(kind, f"line {self._number}: {detail}", self._offset, about=about)

    # -- lines of a page -------------------------------------------------------------------------------

    def _span(self, start: int, end: int) -> Span:
        """Where a text stands on the page, by its place in the current line."""
        return len(self._raw) - 1, start, end

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

    def _values(self, page: ReportPage, line: str) -> bool:
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
                fed = self._body.named(value.name)
                self._lesson.useless |= not fed
                self._lesson.values += [
                    (section, column, origin(converter, self._span(*match.span(1)), into[column]))
                    for section, column, converter in fed
                    if (into := self._variables(section))
                ]
        return found

    def _variables(self, section: str) -> dict[str, Any]:
        report = self._body.interval
        return report.variables[section] if report is not None else {}

    def _lists(self, page: ReportPage, line: str) -> bool:
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
                self._lesson.charts.add(len(self._raw) - 1)
                self._row([(text, *found.span(group)) for text, group in each.row(found)], None)
        if left == line:
            return False
        self._heads = None
        return not left.strip(" >")

    def _table(self, page: ReportPage, line: str) -> bool:
        found = pages.match_headings(page, line, self._above)
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
            cells[first] = (table.total_name, 0, 0)
        elif more:
            cells.pop(first, None)
        # A partition that is not active has a name and its status alone.
        if table.block and not more and len(cells) > 2:
            self._block = cells.get(table.block, _EMPTY)[0] or self._block
            cells[table.block] = (self._block, 0, 0)
        self._row(
            [cells.get(name, _EMPTY) for name in self._present(heads)], "SUM" if total is not None else None
        )
        if total is not None:
            self._block = ""
        return True

    def _present(self, heads: FoundHeadings) -> list[str]:
        names = {name for name, _, _ in heads.columns} | {name for name, _ in heads.table.words}
        return [name for name in heads.table.names if name in names]

    def _row(
        self,
        cells: Sequence[Cell],
        kind: str | None,
        pairs: Sequence[Span] = (),
        begun: tuple[int, int] | None = None,
    ) -> None:
        """Add a row of the current line, or of `pairs`, the spans of its cells: `begun` is its first line."""
        body, report = self._body, self._body.interval
        other = report.other_count if report is not None else 0
        line, offset = begun or (len(self._raw) - 1, self._offset)
        body.begin_row(kind, offset)
        body.cells = [text for text, _, _ in cells]
        body.end_row("")
        if body.added is None or report is None or report.other_count != other:
            self._lesson.useless = True
            return
        rows, row_kind, values = body.added
        found = pairs or [self._span(start, end) for _, start, end in cells]
        continues = rows.continues is not None and kind is None and not cells[rows.continues][0]
        inherits = rows.above if continues else ()
        origins = []
        for column, place in enumerate(rows.cells):
            if place is None:
                origins.append(ValueOrigin(None, None, values[column]))
                continue
            index, converter = place
            blank = column in inherits and not cells[index][0]
            origins.append(origin(converter, found[index], None if blank else values[column]))
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
            if (match := value.form.search(line))
        }
        groups = pages.groups(page, line)
        if groups:
            self._groups = groups
        pairs = pages.pairs(page, line, self._groups)
        self._pairs |= {
            name: (text, self._span(start, end)) for name, (text, start, end) in (values | pairs).items()
        }
        return bool(values or groups or pairs)

    def _end_pairs(self) -> None:
        """Add the row of the names and values that were read."""
        if self._pairs:
            self._body.begin("table")
            self._body.cells = list(self._pairs)
            self._body.end_heads("")
            cells = [(text, start, end) for text, (_, start, end) in self._pairs.values()]
            self._row(cells, None, [span for _, span in self._pairs.values()], self._pairs_begin)
        self._pairs, self._pairs_begin = {}, None

    def _samples(self, page: ReportPage, line: str) -> bool:
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
            self._row([(area[2], 0, 0), (name, 0, 0), *numbers], None)
        return True
