"""Parser of consecutive reports: finds tables by their headings and reports lines that fit no table.

Headings, titles and headers are read here, line by line; rows are read in blocks (`crates/listing`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import BinaryIO

from msgspec import Struct, field

from zlens.catalog import listings
from zlens.catalog.raw_columns import LISTED
from zlens.catalog.reports import definition
from zlens.catalog.reports.definition import ReportColumn, ReportDefinition, ReportTable
from zlens.catalog.reports.titles import IN_TITLE
from zlens.readers import text_lines
from zlens.readers.listing import headings, separated_cells
from zlens.readers.listing.header import LOST, Header, day, parse_first_line, utc_offset_s
from zlens.readers.listing.headings import TableLayout
from zlens.readers.listing.separated_cells import SeparatedHeadings
from zlens.readers.listing.tables import MAX_TABLES, ListingTables, ListingTarget, distinct_columns
from zlens.readers.text_lines import TextLine

_TIME = re.compile(r"\s*(?:\d{4}[/-]\d\d[/-]\d\d )?\d\d:\d\d:\d\d(?=\s|\Z)")
_LABEL = re.compile(r">+ ?[A-Z][\w. ]{0,18}?[><]{1,2}(?=\s|\Z)")
_NUMBER = re.compile(r"[-+]?[\d,]*\.?\d+[kMG%]?\Z|\.+\Z")
_HEAD_WORD = re.compile(r"(?:End Time|\S+)")
#: The prompt of CMS after a command.
_PROMPT = re.compile(r"(?:Ready(?:\(-?\d+\))?|R);")
_GROUP = re.compile(r"<-|->|<\w[^<>]*\w>")
_PART = re.compile(r" \(part \d+ of \d+\)\Z")
_SHORT = " short"
_NO_DATA = "This input has no data for this report."
#: Number of bytes read at a time, and maximum length of a line.
_BLOCK = 1024 * 1024
#: Lines above the last heading line that may belong to the headings.
_HEIGHT = 8
#: Maximum number of columns of a report that is not in the catalog.
_MAX_COLUMNS = 200
#: The widths to which programs truncate lines. A card has 80 columns, 72 without its sequence number; a
#: printer has 120 or 132, one more with carriage control; a screen of 80 or 132 can omit the last one.
_TRUNCATION_WIDTHS = frozenset((72, 79, 80, 120, 121, 131, 132, 133))


class ListingReport(Struct):
    """A report of a file: its header, and the raw tables with its rows. excerpt: it has no header."""

    header: Header
    first: TextLine
    definition: ReportDefinition | None
    targets: dict[str, ListingTarget] = field(default_factory=dict)
    zone_s: int | None = None
    excerpt: bool = False
    #: The systems that rows name. A table of several systems is one report, of none of them.
    systems: set[str] = field(default_factory=set)


class ListingParser:
    """Parser of one file.

    note     receives problems of a line
    end      receives each report after its last line
    ordered  words of rows may have moved, but their order is unchanged
    """

    def __init__(
        self,
        tables: ListingTables,
        note: Callable[[TextLine, str, str], None],
        end: Callable[[ListingReport], None],
        *,
        ordered: bool = False,
    ) -> None:
        self._order = "words" if ordered else "below"
        self._tables = tables
        self._note = note
        self._end = end
        self._report: ListingReport | None = None
        self._controlled = False
        self._separated: SeparatedHeadings | None = None
        self._lost = False  # of the first column, which would shift headings and rows
        #: The first line with numbers outside any report, and the number of such lines.
        self._outside: tuple[TextLine | None, int] = (None, 0)
        self._begin_table(None)

    def _begin_table(self, table: ReportTable | None) -> None:
        self._table = table
        self._target: ListingTarget | None = None
        self._above: list[str] = []
        self._pending: list[TextLine] = []
        #: Rows without times since the last blank line: heading lines of a text table look like rows.
        self._block: list[str] = []
        self._in_footnotes = self._part = False
        self._blank, self._since_blank = True, 0

    def read(self, file: BinaryIO, progress: Callable[[int], None] | None = None) -> None:
        """Read a file to its end."""
        base, number, rest = 0, 1, b""
        while True:
            block = file.read(_BLOCK)
            data = rest + block
            complete_length = data.rfind(b"\n") + 1 if block else len(data)
            if not complete_length and block and len(data) > text_lines.MAX_LINE:
                complete_length = len(data)
            number = self._read_block(data[:complete_length], base, number)
            base += complete_length
            rest = data[complete_length:]
            if progress is not None:
                progress(base)
            if not block:
                break
        self._finish()
        outside, count = self._outside
        if outside is not None:
            lines = "1 line" if count == 1 else f"{count:,} lines"
            detail = f"{lines} outside any report, starting with {outside.text.strip()[:120]!r}"
            self._note(outside, "no_layout", detail)

    def _read_block(self, data: bytes, base: int, number: int) -> int:
        position = 0
        while position < len(data):
            target, report = self._target, self._report
            if target is not None and report is not None and self._can_read_rows():
                rows = len(target.rows)
                end, count = target.rows.read(data, position, number, base, controlled=self._controlled)
                if len(target.rows) > rows:
                    report.targets[target.name] = target
                if count:
                    self._above = []
                    last_line = data[data.rfind(b"\n", 0, end - 1) + 1 : end].strip()
                    self._blank = len(last_line) <= self._controlled
                    position, number = end, number + count
                    continue
            line_end = data.find(b"\n", position)
            line_end = len(data) if line_end < 0 else line_end
            raw = data[position : min(line_end, position + text_lines.MAX_LINE)]
            text = text_lines.decoded(raw)
            if not self._separated_line(TextLine(number, base + position, text.rstrip("\r\n"))):
                self._line(TextLine(number, base + position, text_lines.clean_line(text)))
            position, number = line_end + 1, number + 1
        return number

    def _can_read_rows(self) -> bool:
        """Return whether the next lines may be read at once, because only rows can look like rows there."""
        target, report = self._target, self._report
        if target is None or self._in_footnotes or self._separated is not None:
            return False
        if report is None or not report.header.whole:
            return False
        if report.definition is not None and listings.lines_of(report.definition.name):
            return False
        return target.timed or (self._since_blank >= _HEIGHT and not self._blank)

    # -- lines ---------------------------------------------------------------------------------------

    def _line(self, line: TextLine) -> None:
        header = parse_first_line(line.text)
        if header is not None:
            self._lost = False
            self._begin(line, header)
            return
        if LOST.match(line.text):
            self._finish()
            self._lost = True
            detail = f"every line has lost its first character ({line.text[:5]} for F{line.text[:5]})"
            self._note(line, "transfer", f"{detail}; not read. Transfer it again with its first column")
            return
        form = listings.match_headerless(line.text)
        report = self._report
        header = report.header if report is not None else None
        if form is not None and (header is None or header.report != form.report or not header.title):
            self._begin_form(line, form)
            return
        if report is not None and _PROMPT.match(line.text):
            self._finish()
            return
        if (report is None or report.excerpt) and not self._lost:
            candidates = headings.match_excerpt(line.text, tuple(self._above[-_HEIGHT:]))
            if candidates:
                self._begin_excerpt(line, candidates)
                return
        if report is None:
            self._above = [*self._above[-_HEIGHT:], line.text] if line.text.strip() else []
            if not self._lost and len(line.text.split()) > 2 and _is_data_line(line):
                self._outside = (self._outside[0] or line, self._outside[1] + 1)
            return
        if not report.header.whole:
            if line.text[1:6] == "From " and text_lines.has_carriage_control(line.text):
                # Only here: the first line may be the only one with its first column in a copied listing.
                self._controlled = True
            report.header.take(line.text)
            return
        if self._controlled and text_lines.has_carriage_control(line.text):
            line = line._replace(text=line.text[1:])
        if not line.text.strip():
            self._blank = True
            return
        if self._blank:
            self._block, self._since_blank = [], 0
        self._since_blank += 1
        self._body(report, line)
        self._blank = False

    def _separated_line(self, line: TextLine) -> bool:
        """Read a line of a table with separated cells, with its tabs; return whether it is one."""
        is_outside = self._report is None or self._report.excerpt
        if is_outside and (found := separated_cells.match_headings(line.text)):
            self._finish()
            facts = definition.load_report(found.facts.report)
            header = Header(name=found.facts.report.upper(), whole=True)
            self._report = ListingReport(header, line, facts, excerpt=True)
            self._separated = found
            return True
        report, headings_found = self._report, self._separated
        if report is None or report.definition is None or headings_found is None:
            return False
        if not line.text.strip():
            return True
        row = separated_cells.parse_row(line.text, headings_found)
        if row is None:
            self._finish()
            return False
        separated = headings_found.facts
        for key, cells in ((separated.table, row.cells), (separated.ratios, row.ratios)):
            if cells:
                self._add(report, report.definition.table(key), cells, line)
        report.systems.update(text for key, text in row.cells.items() if key == separated.system)
        return True

    def _add(self, report: ListingReport, table: ReportTable, cells: dict[str, str], line: TextLine) -> None:
        """Add a row of cells, each at a place of its own."""
        assert report.definition is not None
        target = self._tables.of(report.definition, table)
        keys = [column.key for column in table.columns]
        text, extents = "", []
        for key, cell in cells.items():
            extents.append((len(text), len(text) + len(cell), False, keys.index(key), ""))
            text += f"{cell}  "
        target.rows.set_layout(extents, False)
        if target.rows.row(text, line.number, line.offset):
            report.targets[target.name] = target

    def _begin(self, line: TextLine, header: Header) -> None:
        self._finish()
        name = header.report
        self._report = ListingReport(header, line, definition.load_report(name) if name else None)
        if name is None:
            label = header.name or header.number
            detail = f"the report {label} is not in the catalog; its columns are named after its headings"
            self._note(line, "no_layout", detail)

    def _begin_form(self, line: TextLine, form: listings.HeaderlessListing) -> None:
        self._finish()
        header = Header(name=form.report.upper(), system=form.system(line.text), whole=True)
        report = self._report = ListingReport(header, line, definition.load_report(form.report))
        assert report.definition is not None
        self._table = report.definition.table(form.table) if form.table else None
        self._match_headings(report, report.definition, line)

    def _begin_excerpt(self, line: TextLine, candidates: list[tuple[str, TableLayout]]) -> None:
        """Begin a report without a header, recognized by its headings."""
        name, layout = candidates[0]
        above = self._above
        report, facts = self._report, definition.load_report(name)
        is_same_report = report is not None and report.definition is facts
        table_name = listings.table_name(facts, layout.table)
        if report is None or not is_same_report or table_name in report.targets:
            # A table that starts again may be another page, or the same one again.
            self._finish()
            header = Header(name=name.upper(), whole=True)
            report = self._report = ListingReport(header, line, facts, excerpt=True)
        if not is_same_report:
            others = ", ".join(each for each, _ in candidates[1:])
            alternatives = f" (the same as for {others})" if others else ""
            detail = f"no header; recognized as {name} by its column headings{alternatives}"
            self._note(line, "no_layout", detail)
        self._above, self._table = above, layout.table
        self._match_headings(report, facts, line)

    def _finish(self) -> None:
        """End the report."""
        self._end_of_table()
        if self._report is not None:
            if len(self._report.systems) == 1:
                (self._report.header.system,) = self._report.systems
            self._end(self._report)
        self._report = self._separated = None
        self._controlled = False
        self._begin_table(None)

    def _body(self, report: ListingReport, line: TextLine) -> None:
        content = line.text
        zone = utc_offset_s(content)
        if zone is not None:
            report.zone_s = zone
        if self._in_footnotes:
            return
        if (self._blank and content.startswith("* ")) or content.startswith(_NO_DATA):
            # A footnote follows, which has no values.
            self._end_of_table()
            self._begin_table(None)
            self._in_footnotes = True
            return
        if report.definition is None:
            self._unknown(report, line)
            return
        self._parse_known(report, report.definition, line)

    def _parse_known(self, report: ListingReport, facts: ReportDefinition, line: TextLine) -> None:
        content, first = line.text, facts.tables[0]
        if self._table is None and self._target is None and not first.title and not _headed(first):
            self._table = first
            self._set_layout(facts, headings.layout_without_headings(first))
        table = _title(facts, content)
        if table is not None:
            self._end_of_table()
            self._begin_table(table)
            self._part = _PART.search(content) is not None
            if not table.time:
                # Until headings are found: the report as IBM prints it may have none.
                self._set_layout(facts, headings.layout_without_headings(table))
            return
        date = day(content)
        if date is not None and self._target is not None:
            self._target.rows.set_day(date)
            return
        if (
            self._match_headings(report, facts, line)
            or self._parse_other_table(report, facts, line)
            or self._parse_row(report, line)
        ):
            return
        if self._blank and self._begin_headless_table(report, facts, line):
            return
        self._above = [*self._above[-_HEIGHT:], content]
        self._pending.append(line)

    def _end_of_table(self) -> None:
        """Report the lines that were neither headings nor rows."""
        facts = self._report.definition if self._report is not None else None
        heading_words = _words(facts.name) if facts is not None else frozenset()
        for line in self._pending:
            words = re.findall(r"[^\s<>-]+", line.text)
            if not words or sum(word in heading_words for word in words) * 2 >= len(words):
                continue
            # Headings over several columns: <--- Percent Busy ---->
            is_group = not re.sub(r"<[^<>]*>", "", line.text).strip(" -_")
            if is_group or set(line.text) <= set(" <>-_=."):
                continue
            self._note(line, "no_layout", f"not recognized: {line.text.strip()[:120]!r}")
        self._pending = []

    # -- tables --------------------------------------------------------------------------------------

    def _match_headings(self, report: ListingReport, facts: ReportDefinition, line: TextLine) -> bool:
        """Return whether the line is the last one of headings, and use its columns for the following rows."""
        above = tuple([*self._above, *self._block][-_HEIGHT:])
        keys = [table.key for table in facts.tables]
        # First the table whose title was read.
        layouts: list[TableLayout] = []
        for candidates in ([self._table.key] if self._table is not None else [], keys):
            found = (headings.match_table(line.text, above, facts.name, key) for key in candidates)
            layouts = layouts or [layout for layout in found if layout]
        if not layouts:
            return False
        layout = max(layouts, key=lambda layout: layout.known)
        if self._target is not None:
            for _ in self._block:
                self._target.rows.pop()
        self._table = layout.table
        # Adjacent lines above the last heading line are headings too.
        upper = self._pending[len(self._pending) - self._adjacent_count(line) :]
        others = [each for each in upper if _is_data_line(each) or not _GROUP.search(each.text)]
        self._pending = [*self._pending[: len(self._pending) - len(upper)], *others]
        self._end_of_table()
        self._above, self._block = [], []
        width = self._truncation_width(report, layout)
        self._set_layout(facts, layout, width)
        for extent, column, heading in zip(layout.places, layout.columns, layout.heads, strict=True):
            if column is not None:
                continue
            if extent.end == width:
                detail = f"line truncated within the column heading {heading!r}; column not read"
            else:
                detail = f"column {heading!r} is not in the catalog; its values are stored in column `other`"
            self._note(line, "no_layout", detail)
        return True

    def _adjacent_count(self, line: TextLine) -> int:
        """Return the number of pending lines directly above a line."""
        count = 0
        while count < len(self._pending) and self._pending[-1 - count].number == line.number - 1 - count:
            count += 1
        return count

    def _truncation_width(self, report: ListingReport, layout: TableLayout) -> int | None:
        """Return the width of truncated lines: the width of the rule, if the last columns are missing.

        A table as printed has only columns with values.
        """
        if layout.table.as_printed:
            return None
        last = next((column for column in reversed(layout.table.columns) if any(column.heading)), None)
        return None if self._part or last in layout.columns else report.header.width

    def _set_layout(self, facts: ReportDefinition, layout: TableLayout, width: int | None = None) -> None:
        target = self._tables.of(facts, layout.table)
        index_by_column = {id(column): extent for extent, column in enumerate(layout.table.columns)}
        extents = []
        for extent, column, heading in zip(layout.places, layout.columns, layout.heads, strict=True):
            stored_heading = heading if column is None and extent.end != width else ""
            index = index_by_column.get(id(column), -1) if isinstance(column, ReportColumn) else -1
            extents.append((*extent, index, stored_heading))
        timed = bool(layout.table.time) and layout.columns[:1] == ("",)
        order = self._order
        if layout.headless and all(column.type == "text" for column in layout.table.columns):
            order = "texts"
        target.rows.set_layout(extents, timed, cut=width, order=order)
        self._target = target

    def _parse_other_table(self, report: ListingReport, facts: ReportDefinition, line: TextLine) -> bool:
        """Read a line that belongs to another table than adjacent lines; return whether it does."""
        for key, pattern in listings.lines_of(facts.name):
            match = pattern.fullmatch(line.text.strip())
            if match is None:
                continue
            indent = len(line.text) - len(line.text.lstrip())
            table = facts.table(key)
            target = self._tables.of(facts, table)
            keys = [column.key for column in table.columns]
            extents = [
                (match.start(name) + indent, match.end(name) + indent, False, keys.index(name), "")
                for name in sorted(pattern.groupindex, key=match.start)
            ]
            text = list(" " * len(line.text))
            for start, end, *_ in extents:
                text[start:end] = line.text[start:end]
            target.rows.set_layout(extents, False)
            if target.rows.row("".join(text), line.number, line.offset):
                report.targets[target.name] = target
                return True
        return False

    def _begin_headless_table(self, report: ListingReport, facts: ReportDefinition, line: TextLine) -> bool:
        """Begin a table without title and headings if a line is its row; return whether it is."""
        keys = [table.key for table in facts.tables]
        current = keys.index(self._table.key) if self._table is not None else -1
        previous = self._target
        for table in facts.tables[current + 1 :]:
            if not table.title and not _headed(table):
                self._set_layout(facts, headings.layout_without_headings(table))
                if self._parse_row(report, line):
                    self._table = table
                    return True
        self._target = previous
        return False

    def _parse_row(self, report: ListingReport, line: TextLine) -> bool:
        """Read the line as a row of the table; return whether it is one."""
        target = self._target
        if target is None:
            return False
        # The end of a row that covers less than the others, which its times tell.
        short = [line.text.removesuffix(_SHORT)] if target.timed and line.text.endswith(_SHORT) else []
        if not any(target.rows.row(text, line.number, line.offset) for text in (line.text, *short)):
            return False
        report.targets[target.name] = target
        if target.table is not None and not target.table.time:
            self._block.append(line.text)
        self._above = []
        return True

    # -- reports outside the catalog -------------------------------------------------------------------

    def _unknown(self, report: ListingReport, line: TextLine) -> None:
        """Read a table by its headings: the line above the first row names the columns."""
        content = line.text
        timed = _TIME.match(content) is not None or _LABEL.match(content.lstrip()) is not None
        if not timed and not (len(content.split()) > 1 and _is_data_line(line)):
            self._above = [*self._above[-_HEIGHT:], content]
            return
        if self._above:
            self._set_unknown_layout(report, line, timed)
            self._above = []
        if not self._parse_row(report, line):
            self._note(line, "no_layout", f"not recognized: {content.strip()[:120]!r}")

    def _set_unknown_layout(self, report: ListingReport, line: TextLine, timed: bool) -> None:
        last = self._above[-1]
        words = [(match.start(), match.end()) for match in _HEAD_WORD.finditer(last)][:_MAX_COLUMNS]
        value_words = words[1:] if timed else words
        columns = distinct_columns([last[start:end] for start, end in value_words])
        label = (report.header.name or report.header.number).lower()
        name = LISTED + re.sub(r"[^a-z0-9]+", "_", label)
        target = self._tables.unknown(name, columns, timed)
        if target is None:
            detail = f"{name} has {MAX_TABLES} tables with other columns; this one is not read"
            self._note(line, "no_layout", detail)
            self._target = None
            return
        extents = [(start, end, True, index, "") for index, (start, end) in enumerate(value_words)]
        end = words[-1][1] if words else None
        # Lines are truncated to the width of a card, terminal or printer; any other width is the report's
        # own.
        width = end if end == report.header.width and end in _TRUNCATION_WIDTHS else None
        extents = [(*words[0], False, -1, ""), *extents] if timed else extents
        target.rows.set_layout(extents, timed, cut=width, order=self._order)
        self._target = target


@cache
def _titles(name: str) -> tuple[tuple[ReportTable, re.Pattern[str]], ...]:
    """Return the tables of a report that have a title, with its pattern."""
    return tuple(
        (table, re.compile(".*".join(map(re.escape, IN_TITLE.split(table.title)[::3]))))
        for table in definition.load_report(name).tables
        if table.title
    )


def _title(facts: ReportDefinition, content: str) -> ReportTable | None:
    """Return the table that has this line as its title."""
    plain, titles = _PART.sub("", content.strip()), _titles(facts.name)
    return next((table for table, pattern in titles if pattern.fullmatch(plain)), None)


@cache
def _words(name: str) -> frozenset[str]:
    """Return the words of all headings of a report."""
    return frozenset(
        word
        for table in definition.load_report(name).tables
        for column in table.columns
        for part in column.heading
        for word in part.split()
    ) | {"Interval"}


def _headed(table: ReportTable) -> bool:
    return any(column.heading and column.heading[-1].strip() for column in table.columns)


def _is_data_line(line: TextLine) -> bool:
    """Return whether at least half of a line's words are numbers, or dots instead of numbers."""
    words = line.text.split()
    return sum(bool(_NUMBER.match(word)) for word in words) * 2 >= len(words)
