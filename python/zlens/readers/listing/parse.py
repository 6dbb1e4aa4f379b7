"""From lines to rows: reports one behind the other, their tables by heads, and what has no place."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from zlens.catalog import listings
from zlens.catalog.reports import definition
from zlens.catalog.reports.definition import Column, Definition, Table
from zlens.catalog.reports.titles import IN_TITLE
from zlens.readers.listing import cells, heads, text
from zlens.readers.listing.header import Header, begin, zone_s
from zlens.readers.listing.heads import Layout
from zlens.readers.listing.text import Line

Row = dict[str, Any]
#: A problem: line, kind, what is wrong.
Note = Callable[[Line, str, str], None]

_TIME = re.compile(r"(?:(\d{4})[/-](\d\d)[/-](\d\d) )?(\d\d):(\d\d):(\d\d)(?=\s|\Z)")
_DAY = re.compile(r"(\d{4})[/-](\d\d)[/-](\d\d)\Z|(\d\d)/(\d\d)\Z")
_STAMP = re.compile(r"(\d{4})[/-](\d\d)[/-](\d\d)[ ,](\d\d):(\d\d)(?::(\d\d))?\Z")
_LABEL = re.compile(r">+ ?[A-Z][\w. ]{0,18}?[><]{1,2}(?=\s|\Z)")
_FOOTNOTE = re.compile(r"\* |  \S")
_PART = re.compile(r" \(part \d+ of \d+\)\Z")
_NOTHING = "This input has nothing for this report."
_DAY_S = 86_400
#: Lines above the last one of heads that may belong to them.
_HEIGHT = 8


@dataclass(slots=True)
class Report:
    """A report of a file: its header, and its rows by raw table. Times of rows are seconds of a local day."""

    header: Header
    first: Line
    definition: Definition | None
    rows: dict[str, list[Row]] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    zone_s: int | None = None
    #: Tables of reports that the catalog lacks: the heads of their columns.
    unknown: dict[str, tuple[str, ...]] = field(default_factory=dict)


class Parser:
    """Reads the lines of one file in order; `reports` grows."""

    def __init__(self, note: Note) -> None:
        self.reports: list[Report] = []
        self._note = note
        self._report: Report | None = None
        self._layout: Layout | None = None
        self._table: Table | None = None
        self._above: list[str] = []
        self._pending: list[Line] = []
        self._blank = True
        self._foot = False
        self._controlled = False
        #: Rows without times since the last blank line: heads of another table look like texts.
        self._block: list[tuple[list[Row], str]] = []

    def read(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self._line(line)
        self._end_of_table()

    # -- lines ---------------------------------------------------------------------------------------

    def _line(self, line: Line) -> None:
        header = begin(line.text)
        if header is not None:
            self._begin(line, header)
            return
        form = next(
            (form for form in listings.forms() if form.begins.fullmatch(line.text.strip() + " ")), None
        )
        if form is not None:
            self._begin_form(line, form)
            return
        report = self._report
        if report is None:
            return
        if not report.header.whole:
            if line.text[1:6] == "From " and text.controlled(line.text):
                # Only here: of a copied listing the first line may be all that kept its first column.
                self._controlled = True
            report.header.take(line.text)
            return
        if self._controlled and text.controlled(line.text):
            line = line._replace(text=line.text[1:])
        if not line.text.strip():
            self._blank = True
            return
        self._body(report, line)
        self._blank = False

    def _begin(self, line: Line, header: Header) -> None:
        self._end_of_table()
        self._controlled = False
        name = header.report
        last = self._report
        same = last is not None and (last.header.number, last.header.name) == (header.number, header.name)
        report = Report(header, line, definition.load(name) if name else None)
        if name is None:
            what = header.name or header.number
            self._note(line, "no_layout", f"the report {what} is not in the catalog; read by its heads")
        self._report = report
        self.reports.append(report)
        self._reset(keep=False)
        if same and last is not None:
            report.zone_s = last.zone_s

    def _begin_form(self, line: Line, form: listings.Form) -> None:
        self._end_of_table()
        found = form.begins.fullmatch(line.text.strip() + " ")
        groups = found.groupdict() if found else {}
        header = Header(name=form.report.upper(), whole=True)
        report = Report(header, line, definition.load(form.report))
        header.system = None
        header.title = groups.get("system") or ""
        self._report = report
        self.reports.append(report)
        self._reset(keep=False)
        assert report.definition is not None
        self._table = next(table for table in report.definition.tables if table.key == form.table)
        self._heads(report, line)

    def _reset(self, *, keep: bool) -> None:
        self._layout, self._above, self._foot = None, [], False
        self._pending = []
        if not keep:
            self._table = None
        self._blank = True

    def _body(self, report: Report, line: Line) -> None:
        content = line.text
        zone = zone_s(content)
        if zone is not None:
            report.zone_s = zone
        if self._foot:
            return
        first = report.definition.tables[0] if report.definition else None
        if first and self._table is None and self._layout is None and not first.title and not _headed(first):
            self._table, self._layout = first, heads.headless(first)
        if (self._blank and content.startswith("* ")) or content.startswith(_NOTHING):
            # What follows explains; it has no values.
            self._end_of_table()
            self._reset(keep=False)
            self._foot = True
            return
        if report.definition is None:
            self._unknown(report, line)
            return
        if self._blank:
            self._block = []
        titled = self._title(report, content)
        if titled is not None:
            self._end_of_table()
            self._reset(keep=True)
            self._table = titled
            if not titled.time:
                # Until heads are seen: IBM's own report may have none.
                self._layout = heads.headless(titled)
            return
        if self._heads(report, line):
            return
        if self._layout is None or not self._row(report, line, self._layout):
            if self._blank and self._headless(report, line):
                return
            self._above = [*self._above[-_HEIGHT:], content]
            self._pending.append(line)

    def _end_of_table(self) -> None:
        """Report the lines that were neither heads nor rows."""
        headings = {
            word
            for table in (self._report.definition.tables if self._report and self._report.definition else ())
            for column in table.columns
            for part in column.heading
            for word in part.split()
        }
        for line in self._pending:
            words = re.findall(r"[^\s<>-]+", line.text)
            if not words or sum(word in headings for word in words) * 2 >= len(words):
                continue
            if set(line.text) <= set(" <>-_=.") or _group(line.text):
                continue
            self._note(line, "no_layout", f"not placed: {line.text.strip()[:120]!r}")
        self._pending = []

    # -- tables --------------------------------------------------------------------------------------

    def _title(self, report: Report, content: str) -> Table | None:
        assert report.definition is not None
        plain = _PART.sub("", content.strip())
        return next(
            (
                table
                for table, form in _titles(report.definition.name)
                if form is not None and form.fullmatch(plain)
            ),
            None,
        )

    def _heads(self, report: Report, line: Line) -> bool:
        """Whether the line is the last one of heads; its columns are those of the rows that follow."""
        assert report.definition is not None
        name = report.definition.name
        above = tuple([*self._above, *(content for _, content in self._block)])
        keys = [table.key for table in report.definition.tables]
        own = [key for key in keys if self._table is None or key == self._table.key]
        found = [layout for key in own if (layout := heads.find(line.text, above, name, key))]
        if not found and self._table is not None and self._layout is not None:
            found = [layout for key in keys if (layout := heads.find(line.text, above, name, key))]
        if not found:
            return False
        layout = max(found, key=lambda layout: layout.known)
        for rows, _ in self._block:
            rows.pop()
        self._block = []
        self._layout, self._table = layout, layout.table
        self._above = []
        self._pending = []
        for column, head in zip(layout.columns, layout.heads, strict=True):
            if column is None:
                self._note(line, "no_layout", f"the column {head!r} is not in the catalog; not read")
        return True

    def _headless(self, report: Report, line: Line) -> bool:
        """Whether a line after a blank one begins a table that has neither title nor heads, and is its row."""
        assert report.definition is not None
        keys = [table.key for table in report.definition.tables]
        current = keys.index(self._table.key) if self._table is not None else -1
        for table in report.definition.tables[current + 1 :]:
            if not table.title and not _headed(table):
                layout = heads.headless(table)
                if self._row(report, line, layout):
                    self._layout, self._table = layout, table
                    return True
        return False

    # -- rows ----------------------------------------------------------------------------------------

    def _row(self, report: Report, line: Line, layout: Layout) -> bool:
        """Whether a line is a row of the table, with its values taken."""
        table = layout.table
        assert report.definition is not None
        content = line.text
        day_s, date, kind = None, None, "row"
        if table.time:
            if found := _TIME.match(content.lstrip()):
                lead = len(content) - len(content.lstrip())
                day_s = int(found[4]) * 3600 + int(found[5]) * 60 + int(found[6])
                date = (int(found[1]), int(found[2]), int(found[3])) if found[1] else None
                kind = "interval"
                length = lead + found.end()
                content = " " * length + content[length:]
            else:
                label = _label(table, content)
                if label is None:
                    return False
                kind, length = label
                content = " " * length + content[length:]
        elif label := _label(table, content):
            kind, length = label
            content = " " * length + content[length:]
        elif "<--" in content or "-->" in content:
            return False
        places = layout.places
        columns = layout.columns
        if table.time and columns and columns[0] == "":
            places, columns = places[1:], columns[1:]
        texts = cells.cells(content, places)
        if texts is None:
            return False
        row: Row = {
            "offset": line.offset,
            "line_number": line.number,
            "row_kind": kind,
            "day_s": day_s,
            "date": date,
        }
        for column, cell in zip(columns, texts, strict=True):
            if isinstance(column, Column) and not _take(row, column, cell):
                if kind == "row":
                    return False
                self._note(line, "no_layout", f"{column.name}: {cell[:40]!r} is no number; it is NULL")
        if kind == "interval":
            row["row_kind"] = _kind_of(table, row)
        moment = listings.time_column(report.definition.name, table.key)
        if moment is not None and (found_us := utc_us(row.get(moment))) is not None:
            row["utc_us"], row["row_kind"] = found_us, "interval"
            if report.header.start_us is None:
                report.zone_s = 0
        name = listings.table_name(report.definition, table)
        report.rows.setdefault(name, []).append(row)
        report.tables[name] = table
        if not table.time:
            self._block.append((report.rows[name], line.text))
        self._pending = []
        self._above = []
        return True

    # -- reports that the catalog lacks ------------------------------------------------------------------

    def _unknown(self, report: Report, line: Line) -> None:
        """A table by its heads: the line above the first row names the columns."""
        content = line.text
        timed = _TIME.match(content.lstrip()) is not None or _LABEL.match(content.lstrip()) is not None
        words = content.split()
        numbers = sum(_is_number(word) for word in words)
        data = timed or (len(words) > 1 and numbers * 2 >= len(words))
        name = listings.PREFIX + re.sub(
            r"[^a-z0-9]+", "_", (report.header.name or report.header.number).lower()
        )
        if not data or not (self._above or name in report.unknown):
            self._above = [*self._above[-_HEIGHT:], content]
            return
        if self._above:
            places = [
                cells.Place(m.start(), m.end(), True) for m in re.finditer(r"\S+(?: Time)?", self._above[-1])
            ]
            report.unknown[name] = _distinct([self._above[-1][p.start : p.end] for p in places])
            self._places = places
            self._above = []
        texts = cells.cells(content, self._places)
        if texts is None:
            self._note(line, "no_layout", f"not placed: {content.strip()[:120]!r}")
            return
        row: Row = {
            "offset": line.offset,
            "line_number": line.number,
            "row_kind": "row",
            "day_s": None,
            "date": None,
        }
        if found := _TIME.match(content.lstrip()):
            row["day_s"] = int(found[4]) * 3600 + int(found[5]) * 60 + int(found[6])
            row["row_kind"] = "interval"
        elif _LABEL.match(content.lstrip()):
            row["row_kind"] = content.split()[0].strip("<>. ").lower()
        row.update(zip(report.unknown[name], texts, strict=True))
        report.rows.setdefault(name, []).append(row)


def _distinct(names: list[str]) -> tuple[str, ...]:
    """Names of columns from heads: lower case, numbered where they repeat."""
    found: list[str] = []
    for name in names:
        plain = re.sub(r"[^a-z0-9]+", "_", name.lower().replace("%", "pct_")).strip("_") or "column"
        plain = f"c_{plain}" if plain[0].isdigit() else plain
        plain = f"{plain}_" if plain in {each.name for each in listings.HEADER} else plain
        count = sum(each == plain or each.startswith(f"{plain}_") for each in found)
        found.append(plain if plain not in found else f"{plain}_{count + 1}")
    return tuple(found)


def _is_number(word: str) -> bool:
    try:
        cells.number(word)
    except ValueError:
        return False
    return True


def _take(row: Row, column: Column, cell: str) -> bool:
    """Whether a cell has a value of its column's type, which is taken."""
    name = listings.column_name(column)
    if listings.is_number(column):
        if cell:
            try:
                found = cells.number(cell)
            except ValueError:
                return False
            if found is not None:
                row[name], row[name + listings.HALF] = found
        return True
    if listings.kind(column) == "int":
        row[name] = int(cell) if cell.isascii() and cell.isdecimal() and len(cell) < 16 else None
        return (
            not cell or row[name] is not None or set(cell) == {"."} or "MIX" in cell or cell.startswith(">")
        )
    row[name] = cell if cell and set(cell) != {"."} else None
    return True


@cache
def _titles(name: str) -> tuple[tuple[Table, re.Pattern[str] | None], ...]:
    """The tables of a report with the form of their titles."""
    found = []
    for table in definition.load(name).tables:
        parts = IN_TITLE.split(table.title)[::3]
        form = re.compile(".*".join(re.escape(part) for part in parts)) if table.title else None
        found.append((table, form))
    return tuple(found)


def _headed(table: Table) -> bool:
    return any(column.heading and column.heading[-1].strip() for column in table.columns)


def _group(line: str) -> bool:
    """Whether a line has nothing but headings over several columns: <--- Percent Busy ---->."""
    return not re.sub(r"<[^<>]*>", "", line).strip(" -_")


def _label(table: Table, content: str) -> tuple[str, int] | None:
    """What a row is that begins with a label, and the length of the label."""
    for rows in table.rows:
        if rows.label and content.startswith(rows.label):
            return rows.called, len(rows.label)
    found = _LABEL.match(content)
    if found is not None:
        return found[0].strip("<>. ").lower(), found.end()
    return None


def _kind_of(table: Table, row: Row) -> str:
    """The kind of a row that has a time: a total has a fixed text in one of its columns."""
    for rows in table.rows:
        if rows.kind == "interval" or not rows.cells or rows.label:
            continue
        wanted = {key: text for key, text in rows.cells.items() if text}
        if wanted and all(row.get(key) == text for key, text in wanted.items()):
            return "total"
    first = row.get(listings.column_name(table.columns[0]))
    return "total" if isinstance(first, str) and first.startswith(">") else "interval"


def utc_us(cell: object) -> int | None:
    """Microseconds of a date and time that a cell shows; None if it shows none."""
    parts = stamp_of(cell) if isinstance(cell, str) else None
    if parts is None:
        return None
    try:
        return round(dt.datetime(*parts, tzinfo=dt.UTC).timestamp()) * 1_000_000
    except ValueError:
        return None


def stamp_of(cell: str) -> tuple[int, int, int, int, int, int] | None:
    """Date and time of a cell: 2024/05/14 09:29:57."""
    found = _STAMP.match(cell)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(found[at] or 0) for at in range(1, 7))
    return year, month, day, hour, minute, second
