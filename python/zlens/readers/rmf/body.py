"""Sections of a report: lists of named values and tables, built as the parser reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from zlens.catalog.rmf_reports import RmfReport, RmfSection
from zlens.readers.rmf.columns import ColumnLookup, RowMapping
from zlens.readers.rmf.interval import ReportInterval, SectionCount
from zlens.readers.rmf.problem_list import ProblemList
from zlens.readers.rmf.values import Converter
from zlens.schema.plain_text import format_count

MAX_CELLS = 256
#: A machine has at most 85 partitions and a few hundred processors.
MAX_ROWS_PER_INTERVAL = 20_000
#: Maximum characters of an interval that are held until the column headings, or stored as text.
MAX_HELD = 1024 * 1024
#: Maximum digits of a row's printed number.
_DIGITS = 9

#: Names given to the two unnamed parts of a Monitor III report.
_CAPTION, _ROWS = "Caption", "Rows"


class ReportBody:
    """The part of a report between its header and its end."""

    def __init__(
        self,
        facts: RmfReport,
        converters: dict[tuple[str, str], Converter],
        notes: ProblemList,
        here: Callable[[], int],
    ) -> None:
        self.notes = notes
        self.here = here
        self.columns = ColumnLookup(facts, converters, self.note)
        #: Monitor III writes the column headings of its only table after the rows.
        self._heads_last = facts.element == "report"
        self._rest = facts.rest.id
        #: The current report; None outside a report.
        self.interval: ReportInterval | None = None
        self.reset()

    def reset(self) -> None:
        self.interval = None
        self.segment = self.part = ""
        self._part_offset = self._row_offset = 0
        #: Offset of the current value; None: the current position of the parser.
        self._at: int | None = None
        self._part_known = self._part_noted = False
        self.variable = self.value = ""
        self.cells: list[str] = []
        self._row_type: str | None = None
        self._row_number = self._last_number = 0
        self._heads: tuple[str, ...] = ()
        self._rows: RowMapping | None = None
        #: The row added last: its mapping, its kind and its values.
        self.added: tuple[RowMapping, str | None, list[Any]] | None = None
        self._block: str | None = None
        #: The row that others continue, and the number of its continuation rows.
        self._above: list[Any] | None = None
        self._place = 0
        self._pending: list[tuple[int, str | None, list[str]]] = []
        self._pending_size = 0

    def note(self, kind: str, detail: str, about: str | None = None, offset: int | None = None) -> None:
        value_offset = self._at if offset is None else offset
        location = self.here() if value_offset is None else value_offset
        self.notes.add(kind, detail, location, record=self.label or None, about=about)

    # -- start tags -------------------------------------------------------------------------------

    def begin(self, name: str) -> None:
        """Begin an element of the body."""
        if name == "column-headers":
            self.cells = []
        elif name == "table":
            self._rows, self._heads, self._row_number, self._last_number = None, (), 0, 0
        elif name == "var":
            self.variable = self.value = ""
        elif name == "part":
            self._begin_part("")
        elif name == "caption":
            self._begin_part(_CAPTION)
        elif name == "segment":
            self.segment = self.part = ""

    def _begin_part(self, name: str) -> None:
        self.part = name
        self._part_offset = self.here()
        self._part_known = self._part_noted = False

    def begin_row(self, kind: str | None, offset: int | None = None, number: str | None = None) -> None:
        """Begin a row.

        offset   offset of the row if it is not the current position
        number   the row's printed number; RMF numbers the rows of a table from 1
        """
        self.cells, self.added = [], None
        self._row_offset = self.here() if offset is None else offset
        self._row_type = kind
        if self._heads_last and self.part != _ROWS:
            self._begin_part(_ROWS)
        if number is not None and number.isascii() and number.isdigit() and len(number) <= _DIGITS:
            self._check_number(int(number))

    def _check_number(self, number: int) -> None:
        """Report rows that are missing before the current one."""
        missing = number - self._last_number - 1
        if self.interval is not None and missing > 0:
            self.interval.rows_missing = True
            detail = f"{format_count(missing, 'row')} missing before row {number:,} of a table"
            self.note("truncated", detail, "missing rows", self._row_offset)
        self._last_number = number

    # -- sections ---------------------------------------------------------------------------------

    @property
    def label(self) -> str:
        """The name of the current section."""
        return ": ".join(filter(None, (self.segment, self.part)))

    def named(self, name: str) -> list[tuple[str, str, Converter]]:
        """Return section, column and converter of every column that gets the value with this name."""
        section = self._section("variables")
        columns = self.columns.of(section, name) if section is not None else ()
        return [
            (section.id, column.name, self.columns.converter(section, column))
            for column in columns
            if section is not None
        ]

    def _section(self, shape: str) -> RmfSection | None:
        """Return the section at the current location in the report."""
        section = self.columns.section(self.segment, self.part, shape)
        if section is not None:
            self._part_known = True
        elif not self._part_noted:
            other = "table" if shape == "variables" else "variables"
            if self.columns.section(self.segment, self.part, other) is not None:
                self._part_noted = True
                self.note("section", f"the section has unexpected {shape}; stored as text")
        return section

    def end_part(self, text: str) -> None:
        interval = self.interval
        if interval is None:
            return
        label = self.label
        length = self.here() - self._part_offset
        if label in interval.sections or len(interval.sections) < MAX_CELLS:
            counts = interval.sections.setdefault(label, SectionCount())
            counts.count += 1
            counts.bytes += length
            counts.known = counts.known or self._part_known
        if not self._part_known:
            detail = f"section {label!r} is not in the catalog; stored as text"
            self.note("section", detail, "section", self._part_offset)
        self.part = ""

    def _keep(self, row: int | None, name: str, value: str, offset: int) -> None:
        """Store a value that is not in the catalog as text."""
        interval = self.interval
        if interval is None or not value:
            return
        interval.other_size += len(name) + len(value)
        if interval.other_size > MAX_HELD or interval.other_count >= MAX_ROWS_PER_INTERVAL:
            detail = "more values outside the catalog than zlens stores of one interval; not read"
            self.note("length", detail, offset=offset)
            return
        kind = self._row_type if row is not None else None
        section = (self.segment, self.part) if self.segment else (self.part, "")
        texts = *(part or None for part in section), row, kind, name or None
        interval.rows.setdefault(self._rest, []).append((offset, None, (*texts, value)))
        interval.other_count += 1

    def keep_line(self, line: str, number: int) -> None:
        """Store a printed line that is not in the catalog as text."""
        self._keep(number, "line", line, self.here())

    # -- lists of values --------------------------------------------------------------------------

    def end_var(self, text: str) -> None:
        interval = self.interval
        if interval is None:
            return
        section = self._section("variables")
        columns = self.columns.of(section, self.variable) if section is not None else ()
        if section is None or not columns:
            if section is not None:
                self.columns.unknown(section, self.variable)
            self._keep(None, self.variable, self.value, self.here())
            return
        values = interval.variables.setdefault(section.id, {})
        for column in columns:
            converter = self.columns.converter(section, column)
            if self.value in converter.cache:
                values[column.name] = converter.cache[self.value]
            else:
                values[column.name] = self.columns.value(converter, self.value)

    # -- tables -----------------------------------------------------------------------------------

    def set_headings(self, headings: Iterable[str], part: str | None = None) -> None:
        """Begin a table with these headings, in another part if one is named."""
        if part is not None:
            self.part = part
        self.begin("table")
        self.cells = list(headings)
        self.end_heads("")

    def set_value(self, part: str, name: str, value: str) -> None:
        """Add a value of a list in a part."""
        self.part, self.variable, self.value = part, name, value
        self.end_var("")

    def end_heads(self, text: str) -> None:
        self._heads = tuple(self.cells)
        self.cells = []
        if self.interval is None:
            return
        if self._heads_last and not self.part:
            # An empty table.
            self._begin_part(_ROWS)
        section = self._section("table")
        rows = self.columns.rows(section, self._heads) if section is not None else None
        # No rows are read if none of the headings is known.
        self._rows = rows if rows is not None and any(rows.cells) else None
        self._block = self._above = None
        pending, self._pending, self._pending_size = self._pending, [], 0
        for offset, kind, cells in pending:
            self._row_offset, self._row_type = offset, kind
            self._take(cells)
        if self._heads_last:
            self.end_part("")
            self._rows = None

    def end_table(self, text: str) -> None:
        self._rows, self._heads = None, ()

    def end_row(self, text: str) -> None:
        cells, self.cells = self.cells, []
        if self.interval is None:
            return
        if not self._heads_last:
            self._take(cells)
            return
        if not any(cells):
            return
        self._pending_size += len(cells) + sum(map(len, cells))
        if len(self._pending) >= MAX_ROWS_PER_INTERVAL or self._pending_size > MAX_HELD:
            self._too_many(self.interval)
        else:
            self._pending.append((self._row_offset, self._row_type, cells))

    def end_report(self) -> None:
        """End the report, complete or not."""
        if self._pending and self.interval is not None:
            detail = f"{len(self._pending):,} rows without column headings; not read"
            self.note("section", detail, "rows", self._pending[0][0])
        self.segment = self.part = ""
        self._pending, self._pending_size, self._last_number = [], 0, 0

    def _too_many(self, interval: ReportInterval) -> None:
        if interval.lost_rows == 0:
            detail = f"more than {MAX_ROWS_PER_INTERVAL:,} rows in one interval; the rest is not read"
            self.note("length", detail, offset=self._row_offset)
        interval.lost_rows += 1

    def _take(self, cells: list[str]) -> None:
        """Add the current row."""
        rows, interval = self._rows, self.interval
        if interval is None or not any(cells):
            # Rows of empty cells only separate the blocks of a printed table.
            return
        if interval.row_count >= MAX_ROWS_PER_INTERVAL:
            self._too_many(interval)
            return
        number = self._row_number
        self._row_number += 1
        if rows is None:
            if not self._heads and self._section("table") is not None:
                self.note("section", "a row without column headings; stored as text", offset=self._row_offset)
            self._keep_cells(number, range(len(cells)), self._heads, cells)
            return
        section = rows.section
        if len(cells) != rows.width:
            self._odd_row(section, cells, rows.width)
            self._keep_cells(number, range(rows.width, len(cells)), rows.heads, cells)
        self._keep_cells(number, rows.unknown, rows.heads, cells)
        if section.block_mark and cells[0].startswith(section.block_mark):
            self._block = cells[0].removeprefix(section.block_mark)
        self._at = self._row_offset
        row_values: list[Any] = []
        for mapped_cell in rows.cells:
            if mapped_cell is None:
                row_values.append(None)
                continue
            index, converter = mapped_cell
            cell = cells[index]
            if cell in converter.cache:
                row_values.append(converter.cache[cell])
            else:
                row_values.append(self.columns.value(converter, cell))
        self._at = None
        if rows.block is not None:
            row_values[rows.block] = self._block
        if rows.continues is not None:
            self._continue(rows, not cells[rows.continues] and self._row_type is None, row_values)
        row_kind = self._kind(rows, cells)
        interval.rows.setdefault(section.id, []).append((self._row_offset, row_kind, tuple(row_values)))
        self.added = rows, row_kind, row_values
        interval.row_count += 1

    def _continue(self, rows: RowMapping, continues: bool, row_values: list[Any]) -> None:
        """Copy inherited values to a row that continues the one above."""
        above = self._above if continues else None
        if above is None:
            self._above, self._place = row_values, 0
        else:
            self._place += 1
            for column in rows.above:
                if row_values[column] is None:
                    row_values[column] = above[column]
        if rows.place is not None:
            row_values[rows.place] = self._place

    def _keep_cells(
        self, number: int, indexes: Sequence[int], headings: tuple[str, ...], cells: list[str]
    ) -> None:
        for at in indexes:
            self._keep(number, headings[at] if at < len(headings) else "", cells[at], self._row_offset)

    def _kind(self, rows: RowMapping, cells: list[str]) -> str | None:
        """Return the kind of a row if the table has several kinds."""
        section = rows.section
        kinds = section.row_kind
        if kinds is None:
            return None
        if rows.kind is not None:
            mark = cells[rows.kind]
            if mark[-1:] not in kinds.last:
                self.note("section", f"a row of kind {mark[:20]!r}", "row kind", self._row_offset)
            return kinds.last.get(mark[-1:], kinds.other)
        if self._row_type == "SUM":
            return kinds.sum or kinds.other
        if self._row_type is not None:
            detail = f"a row of type {self._row_type[:20]!r}"
            self.note("section", detail, "row type", self._row_offset)
            return kinds.other
        return kinds.first.get(cells[0], kinds.other)

    def _odd_row(self, section: RmfSection, cells: list[str], width: int) -> None:
        """Report a row whose cells do not match the headings: extra cells become text, missing ones NULL."""
        detail = f"a row of {len(cells)} cells under {width} headings"
        if len(cells) > width:
            self.note("long", detail, offset=self._row_offset)
            return
        if any(cells[section.short_rows :]) or not section.short_rows:
            self.note("short", detail, "short row", self._row_offset)
        cells.extend([""] * (width - len(cells)))
