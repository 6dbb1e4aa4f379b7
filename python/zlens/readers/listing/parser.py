"""Parses consecutive reports into rows: finds tables by their headings and reports lines that fit no table.

Heads, titles and headers are read here, line by line; rows below heads in blocks (`crates/listing`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import BinaryIO

from msgspec import Struct, field

from zlens._native import ListingRows
from zlens.catalog import listings
from zlens.catalog.raw_columns import LISTED
from zlens.catalog.reports import definition
from zlens.catalog.reports.definition import ReportColumn, ReportDefinition, ReportTable
from zlens.catalog.reports.titles import IN_TITLE
from zlens.readers import text_lines
from zlens.readers.listing import headings
from zlens.readers.listing.header import LOST, Header, day, parse_first_line, utc_offset_s
from zlens.readers.listing.headings import TableLayout
from zlens.readers.text_lines import TextLine

_TIME = re.compile(r"\s*(?:\d{4}[/-]\d\d[/-]\d\d )?\d\d:\d\d:\d\d(?=\s|\Z)")
_LABEL = re.compile(r">+ ?[A-Z][\w. ]{0,18}?[><]{1,2}(?=\s|\Z)")
_NUMBER = re.compile(r"[-+]?[\d,]*\.?\d+[kMG%]?\Z|\.+\Z")
_HEAD_WORD = re.compile(r"(?:End Time|\S+)")
#: What CMS shows after a command.
_PROMPT = re.compile(r"(?:Ready(?:\(-?\d+\))?|R);")
_GROUP = re.compile(r"<-|->")
_PART = re.compile(r" \(part \d+ of \d+\)\Z")
_NOTHING = "This input has nothing for this report."
#: Bytes read at a time, which no line is longer than.
_BLOCK = 1024 * 1024
#: Lines above the last one of heads that may belong to them.
_HEIGHT = 8
#: Columns of a report that the catalog lacks.
_MOST_COLUMNS = 200
#: Tables with different columns of one report that the catalog lacks.
_MOST_TABLES = 9
#: The lengths to which programs cut lines. A card has 80 columns, 72 without its sequence number; a printer
#: has 120 or 132, one more with carriage control; a screen of 80 or 132 can leave out the last one.
_CUT_TO = frozenset((72, 79, 80, 120, 121, 131, 132, 133))


class ListingTarget(Struct):
    """A raw table with its rows.

    table   its definition; None of a report that the catalog lacks, which has `heads`
    timed   its rows begin with times
    placed  rows that have their times
    """

    name: str
    rows: ListingRows
    table: ReportTable | None
    heads: tuple[str, ...] = ()
    timed: bool = False
    placed: int = 0


class ListingReport(Struct):
    """A report of a file: its header, and the raw tables that have rows of it. excerpt: it has no header."""

    header: Header
    first: TextLine
    definition: ReportDefinition | None
    targets: dict[str, ListingTarget] = field(default_factory=dict)
    zone_s: int | None = None
    excerpt: bool = False


class ListingTables:
    """The raw tables of all files, made when a report needs them."""

    def __init__(self) -> None:
        self.targets: dict[str, ListingTarget] = {}

    def of(self, report: ReportDefinition, table: ReportTable) -> ListingTarget:
        name = listings.table_name(report, table)
        target = self.targets.get(name)
        if target is None:
            columns = [(listings.column_name(column), listings.kind(column)) for column in table.columns]
            labels = [(rows.label, rows.export_name) for rows in table.rows if rows.label]
            moment = listings.time_column(report.name, table.key)
            at = [column.key for column in table.columns].index(moment) if moment else None
            names = [name for name, _ in columns]
            subject = [names.index(column) for column in listings.subject(name, names)]
            rows = ListingRows(
                columns, labels, _total_labels(table), timed=bool(table.time), subject=subject, moment=at
            )
            target = self.targets[name] = ListingTarget(name, rows, table, timed=bool(table.time))
        return target

    def unknown(self, name: str, columns: tuple[str, ...], timed: bool) -> ListingTarget | None:
        """The raw table of a report that the catalog lacks, one for each of its tables; None of too many."""
        for number in range(1, _MOST_TABLES + 1):
            own = name if number == 1 else f"{name}_{number}"
            target = self.targets.get(own)
            if target is None:
                subject = [columns.index(column) for column in listings.subject(own, columns)]
                rows = ListingRows(
                    [(column, "text") for column in columns], [], [], timed=timed, subject=subject
                )
                target = self.targets[own] = ListingTarget(own, rows, None, columns, timed=timed)
            if target.heads == columns:
                return target
        return None


class ListingParser:
    """Reads one file.

    note     takes problems of a line
    end      takes each report when it is read
    ordered  words of rows may have lost their places, not their order
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
        self._target: ListingTarget | None = None
        self._table: ReportTable | None = None
        self._above: list[str] = []
        self._pending: list[TextLine] = []
        self._blank = True
        self._foot = False
        self._controlled = False
        self._part = False
        self._lost = False  # the first column, so that heads and rows would be read beside their places
        #: The first line with numbers outside any report, and the number of such lines.
        self._outside: tuple[TextLine | None, int] = (None, 0)
        #: Rows without times since the last blank line, with their lines: heads of a table look like texts.
        self._block: list[str] = []
        self._since_blank = 0

    def read(self, file: BinaryIO, progress: Callable[[int], None] | None = None) -> None:
        """Read a file to its end."""
        base, number, rest = 0, 1, b""
        while True:
            block = file.read(_BLOCK)
            data = rest + block
            cut = data.rfind(b"\n") + 1 if block else len(data)
            if not cut and block and len(data) > text_lines.MAX_LINE:
                cut = len(data)
            number = self._read_block(data[:cut], base, number)
            base += cut
            rest = data[cut:]
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
        at = 0
        while at < len(data):
            target, report = self._target, self._report
            if target is not None and report is not None and self._can_read_rows():
                rows = len(target.rows)
                after, count = target.rows.read(data, at, number, base, controlled=self._controlled)
                if len(target.rows) > rows:
                    report.targets[target.name] = target
                if count:
                    self._above = []
                    before = data[data.rfind(b"\n", 0, after - 1) + 1 : after].strip()
                    self._blank = len(before) <= self._controlled
                    at, number = after, number + count
                    continue
            cut = data.find(b"\n", at)
            cut = len(data) if cut < 0 else cut
            raw = data[at : min(cut, at + text_lines.MAX_LINE)]
            self._line(TextLine(number, base + at, text_lines.clean_line(text_lines.decoded(raw))))
            at, number = cut + 1, number + 1
        return number

    def _can_read_rows(self) -> bool:
        """Whether the next lines may be read as rows at once: nothing else can look like one."""
        target, report = self._target, self._report
        if target is None or self._foot or report is None or not report.header.whole:
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
            lost = f"every line lacks its first character ({line.text[:5]} for F{line.text[:5]}); not read. "
            self._note(line, "transfer", lost + "Transfer it again with its first column")
            return
        form = listings.match_headerless(line.text)
        report = self._report
        if form is not None and (
            report is None or report.header.report != form.report or not report.header.title
        ):
            self._begin_form(line, form)
            return
        if report is not None and _PROMPT.match(line.text):
            self._finish()
            return
        if (report is None or report.excerpt) and not self._lost:
            found = headings.match_excerpt(line.text, tuple(self._above[-_HEIGHT:]))
            if found:
                self._begin_excerpt(line, found)
                return
        if report is None:
            self._above = [*self._above[-_HEIGHT:], line.text] if line.text.strip() else []
            if not self._lost and len(line.text.split()) > 2 and _is_data_line(line):
                self._outside = (self._outside[0] or line, self._outside[1] + 1)
            return
        if not report.header.whole:
            if line.text[1:6] == "From " and text_lines.has_carriage_control(line.text):
                # Only here: of a copied listing the first line may be all that kept its first column.
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

    def _begin(self, line: TextLine, header: Header) -> None:
        self._finish()
        name = header.report
        self._report = ListingReport(header, line, definition.load_report(name) if name else None)
        if name is None:
            what = header.name or header.number
            detail = f"the report {what} is not in the catalog; its columns are named after its headings"
            self._note(line, "no_layout", detail)

    def _begin_form(self, line: TextLine, form: listings.HeaderlessListing) -> None:
        self._finish()
        header = Header(name=form.report.upper(), system=form.system(line.text), whole=True)
        report = self._report = ListingReport(header, line, definition.load_report(form.report))
        assert report.definition is not None
        self._table = report.definition.table(form.table) if form.table else None
        self._heads(report, report.definition, line)

    def _begin_excerpt(self, line: TextLine, found: list[tuple[str, TableLayout]]) -> None:
        """Begin a report of which there is no header: the one that has these heads."""
        name, layout = found[0]
        above = self._above
        report, known = self._report, definition.load_report(name)
        again = report is not None and report.definition is known
        if report is None or not again or listings.table_name(known, layout.table) in report.targets:
            # A table that begins again may be another page, or the same one again.
            self._finish()
            report = self._report = ListingReport(
                Header(name=name.upper(), whole=True), line, known, excerpt=True
            )
        if not again:
            others = ", ".join(each for each, _ in found[1:])
            same = f" (those of {others} are the same)" if others else ""
            detail = f"no header; recognized as {name} by its column heads{same}"
            self._note(line, "no_layout", detail)
        self._above, self._table = above, layout.table
        self._heads(report, known, line)

    def _finish(self) -> None:
        """End the report."""
        self._end_of_table()
        if self._report is not None:
            self._end(self._report)
        self._report = None
        self._controlled = False
        self._begin_table(None)

    def _begin_table(self, table: ReportTable | None) -> None:
        self._table, self._target = table, None
        self._above, self._block, self._pending = [], [], []
        self._foot = self._part = False
        self._blank, self._since_blank = True, 0

    def _body(self, report: ListingReport, line: TextLine) -> None:
        content = line.text
        zone = utc_offset_s(content)
        if zone is not None:
            report.zone_s = zone
        if self._foot:
            return
        if (self._blank and content.startswith("* ")) or content.startswith(_NOTHING):
            # What follows explains; it has no values.
            self._end_of_table()
            self._begin_table(None)
            self._foot = True
            return
        if report.definition is None:
            self._unknown(report, line)
            return
        self._known(report, report.definition, line)

    def _known(self, report: ListingReport, known: ReportDefinition, line: TextLine) -> None:
        content, first = line.text, known.tables[0]
        if self._table is None and self._target is None and not first.title and not _headed(first):
            self._table = first
            self._set_layout(known, headings.layout_without_headings(first))
        titled = _title(known, content)
        if titled is not None:
            self._end_of_table()
            self._begin_table(titled)
            self._part = _PART.search(content) is not None
            if not titled.time:
                # Until heads are seen: IBM's own report may have none.
                self._set_layout(known, headings.layout_without_headings(titled))
            return
        date = day(content)
        if date is not None and self._target is not None:
            self._target.rows.set_day(date)
            return
        if (
            self._heads(report, known, line)
            or self._other_table(report, known, line)
            or self._row(report, line)
        ):
            return
        if self._blank and self._headless(report, known, line):
            return
        self._above = [*self._above[-_HEIGHT:], content]
        self._pending.append(line)

    def _end_of_table(self) -> None:
        """Report the lines that were neither heads nor rows."""
        known = self._report.definition if self._report is not None else None
        headings = _words(known.name) if known is not None else frozenset()
        for line in self._pending:
            words = re.findall(r"[^\s<>-]+", line.text)
            if not words or sum(word in headings for word in words) * 2 >= len(words):
                continue
            if set(line.text) <= set(" <>-_=.") or _is_group_line(line.text):
                continue
            self._note(line, "no_layout", f"not placed: {line.text.strip()[:120]!r}")
        self._pending = []

    # -- tables --------------------------------------------------------------------------------------

    def _heads(self, report: ListingReport, known: ReportDefinition, line: TextLine) -> bool:
        """Whether the line is the last one of heads; its columns are those of the rows that follow."""
        above = tuple([*self._above, *self._block][-_HEIGHT:])
        keys = [table.key for table in known.tables]
        own = [key for key in keys if self._table is None or key == self._table.key]
        found = [layout for key in own if (layout := headings.match_table(line.text, above, known.name, key))]
        if not found and self._table is not None:
            found = [
                layout for key in keys if (layout := headings.match_table(line.text, above, known.name, key))
            ]
        if not found:
            return False
        layout = max(found, key=lambda layout: layout.known)
        if self._target is not None:
            for _ in self._block:
                self._target.rows.pop()
        self._table = layout.table
        # Lines right above the last one of heads are heads too.
        upper = self._pending[len(self._pending) - self._upper(line) :]
        others = [each for each in upper if _is_data_line(each) or not _GROUP.search(each.text)]
        self._pending = [*self._pending[: len(self._pending) - len(upper)], *others]
        self._end_of_table()
        self._above, self._block = [], []
        width = self._cut(report, layout)
        self._set_layout(known, layout, width)
        for place, column, head in zip(layout.places, layout.columns, layout.heads, strict=True):
            if column is not None:
                continue
            if place.end == width:
                detail = f"line cut within the column head {head!r}; column not read"
            else:
                detail = f"column {head!r} is not in the catalog; its values are kept in column `other`"
            self._note(line, "no_layout", detail)
        return True

    def _upper(self, line: TextLine) -> int:
        """The number of pending lines that stand right above a line."""
        count = 0
        while count < len(self._pending) and self._pending[-1 - count].number == line.number - 1 - count:
            count += 1
        return count

    def _cut(self, report: ListingReport, layout: TableLayout) -> int | None:
        """The length to which lines were cut: that of the rule, if the last columns are missing."""
        last = next((column for column in reversed(layout.table.columns) if any(column.heading)), None)
        return None if self._part or last in layout.columns else report.header.width

    def _set_layout(self, known: ReportDefinition, layout: TableLayout, width: int | None = None) -> None:
        target = self._tables.of(known, layout.table)
        at = {id(column): place for place, column in enumerate(layout.table.columns)}
        places = []
        for place, column, head in zip(layout.places, layout.columns, layout.heads, strict=True):
            kept = head if column is None and place.end != width else ""
            places.append((*place, at.get(id(column), -1) if isinstance(column, ReportColumn) else -1, kept))
        timed = bool(layout.table.time) and layout.columns[:1] == ("",)
        order = self._order
        if layout.headless and all(column.type == "text" for column in layout.table.columns):
            order = "texts"
        target.rows.set_layout(places, timed, cut=width, order=order)
        self._target = target

    def _other_table(self, report: ListingReport, known: ReportDefinition, line: TextLine) -> bool:
        """Whether the line is of another table than those around it, with its values taken."""
        for key, form in listings.lines_of(known.name):
            found = form.fullmatch(line.text.strip())
            if found is None:
                continue
            indent = len(line.text) - len(line.text.lstrip())
            table = known.table(key)
            target = self._tables.of(known, table)
            keys = [column.key for column in table.columns]
            places = [
                (found.start(name) + indent, found.end(name) + indent, False, keys.index(name), "")
                for name in sorted(form.groupindex, key=found.start)
            ]
            text = list(" " * len(line.text))
            for start, end, *_ in places:
                text[start:end] = line.text[start:end]
            target.rows.set_layout(places, False)
            if target.rows.row("".join(text), line.number, line.offset):
                report.targets[target.name] = target
                return True
        return False

    def _headless(self, report: ListingReport, known: ReportDefinition, line: TextLine) -> bool:
        """Whether a line after a blank one begins a table without title and heads, and is its row."""
        keys = [table.key for table in known.tables]
        current = keys.index(self._table.key) if self._table is not None else -1
        before = self._target
        for table in known.tables[current + 1 :]:
            if not table.title and not _headed(table):
                self._set_layout(known, headings.layout_without_headings(table))
                if self._row(report, line):
                    self._table = table
                    return True
        self._target = before
        return False

    def _row(self, report: ListingReport, line: TextLine) -> bool:
        """Whether the line is a row of the table, with its values taken."""
        target = self._target
        if target is None or not target.rows.row(line.text, line.number, line.offset):
            return False
        report.targets[target.name] = target
        if target.table is not None and not target.table.time:
            self._block.append(line.text)
        self._above = []
        return True

    # -- reports that the catalog lacks ------------------------------------------------------------------

    def _unknown(self, report: ListingReport, line: TextLine) -> None:
        """A table by its heads: the line above the first row names the columns."""
        content = line.text
        timed = _TIME.match(content) is not None or _LABEL.match(content.lstrip()) is not None
        if not timed and not (len(content.split()) > 1 and _is_data_line(line)):
            self._above = [*self._above[-_HEIGHT:], content]
            return
        if self._above:
            self._set_unknown_layout(report, line, timed)
            self._above = []
        if not self._row(report, line):
            self._note(line, "no_layout", f"not placed: {content.strip()[:120]!r}")

    def _set_unknown_layout(self, report: ListingReport, line: TextLine, timed: bool) -> None:
        last = self._above[-1]
        words = [(found.start(), found.end()) for found in _HEAD_WORD.finditer(last)][:_MOST_COLUMNS]
        own = words[1:] if timed else words
        columns = _distinct([last[start:end] for start, end in own])
        label = (report.header.name or report.header.number).lower()
        name = LISTED + re.sub(r"[^a-z0-9]+", "_", label)
        target = self._tables.unknown(name, columns, timed)
        if target is None:
            detail = f"{name} has {_MOST_TABLES} tables with other columns; this one is not read"
            self._note(line, "no_layout", detail)
            self._target = None
            return
        places = [(start, end, True, at, "") for at, (start, end) in enumerate(own)]
        end = words[-1][1] if words else None
        # Lines are cut to the width of a card, terminal, or printer; any other width is the report's own.
        width = end if end == report.header.width and end in _CUT_TO else None
        places = [(*words[0], False, -1, ""), *places] if timed else places
        target.rows.set_layout(places, timed, cut=width, order=self._order)
        self._target = target


def _distinct(names: list[str]) -> tuple[str, ...]:
    """Names of columns from heads: lower case, numbered where they repeat."""
    found: list[str] = []
    for name in names:
        plain = re.sub(r"[^a-z0-9]+", "_", name.lower().replace("%", "pct_")).strip("_") or "column"
        plain = f"c_{plain}" if plain[0].isdigit() else plain
        plain = f"{plain}_" if plain in listings.leading() else plain
        count = 1
        wanted = plain
        while wanted in found:
            count += 1
            wanted = f"{plain}_{count}"
        found.append(wanted)
    return tuple(found)


def _total_labels(table: ReportTable) -> list[list[tuple[int, str]]]:
    """The texts by column that rows with a time have if they are totals."""
    keys = [column.key for column in table.columns]
    fixed = [
        [(keys.index(key), text) for key, text in rows.cells.items() if text]
        for rows in table.rows
        if rows.kind != "interval" and not rows.label
    ]
    return [texts for texts in fixed if texts]


@cache
def _titles(name: str) -> tuple[tuple[ReportTable, re.Pattern[str]], ...]:
    """The tables of a report that have a title, with its form."""
    found = []
    for table in definition.load_report(name).tables:
        if table.title:
            parts = IN_TITLE.split(table.title)[::3]
            found.append((table, re.compile(".*".join(re.escape(part) for part in parts))))
    return tuple(found)


def _title(known: ReportDefinition, content: str) -> ReportTable | None:
    """The table that a line is the title of."""
    plain = _PART.sub("", content.strip())
    return next((table for table, form in _titles(known.name) if form.fullmatch(plain)), None)


@cache
def _words(name: str) -> frozenset[str]:
    """The words of all heads of a report."""
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
    """Whether at least half of a line's words are numbers, or dots in place of them."""
    words = line.text.split()
    return sum(bool(_NUMBER.match(word)) for word in words) * 2 >= len(words)


def _is_group_line(line: str) -> bool:
    """Whether a line has nothing but headings over several columns: <--- Percent Busy ---->."""
    return not re.sub(r"<[^<>]*>", "", line).strip(" -_")
