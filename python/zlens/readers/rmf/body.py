"""The sections of a report: lists of named values and tables, as the parser meets them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from zlens.catalog.rmf_reports import Report, Section
from zlens.readers.rmf.columns import Columns, Rows
from zlens.readers.rmf.interval import ReportInterval, Seen
from zlens.readers.rmf.notes import Notes
from zlens.readers.rmf.values import Converter

MAX_CELLS = 256
#: A machine has at most 85 partitions and a few hundred processors.
MAX_ROWS_PER_INTERVAL = 20_000
#: Characters of an interval that are held till their heads come, or kept as the catalog does not know them.
MAX_HELD = 1024 * 1024

#: Names of the two parts of a Monitor III report, which it does not name itself.
_CAPTION, _ROWS = "Caption", "Rows"


class Body:
    """What stands in a report between its header and its end."""

    def __init__(
        self,
        facts: Report,
        converters: dict[tuple[str, str], Converter],
        notes: Notes,
        here: Callable[[], int],
    ) -> None:
        self.notes = notes
        self.here = here
        self.columns = Columns(facts, converters, lambda kind, detail, about: self.note(kind, detail, about))
        #: Monitor III has the heads of its one table behind the rows.
        self._heads_last = facts.element == "report"
        self._rest = facts.rest.id
        #: The report that is read; None outside of one.
        self.interval: ReportInterval | None = None
        self.reset()

    def reset(self) -> None:
        self.interval = None
        self._segment = self._part = ""
        self._part_offset = self._row_offset = 0
        #: Where the value stands that is being read, if not here.
        self._at: int | None = None
        self._part_known = self._part_noted = False
        self._variable = self._value = ""
        self.cells: list[str] = []
        self._row_type: str | None = None
        self._row_number = 0
        self._heads: tuple[str, ...] = ()
        self._rows: Rows | None = None
        self._block: str | None = None
        #: The row that others continue, and how many did.
        self._above: list[Any] | None = None
        self._place = 0
        self._held: list[tuple[int, str | None, list[str]]] = []
        self._held_size = 0

    def note(self, kind: str, detail: str, about: str | None = None, offset: int | None = None) -> None:
        at = self._at if offset is None else offset
        where = self.here() if at is None else at
        self.notes.add(kind, detail, where, record=self._label() or None, about=about)

    def _label(self) -> str:
        return ": ".join(filter(None, (self._segment, self._part)))

    # -- where things begin -----------------------------------------------------------------------

    def begin(self, name: str) -> None:
        """An element that is part of the body begins."""
        if name == "column-headers":
            self.cells = []
        elif name == "table":
            self._rows, self._heads, self._row_number = None, (), 0
        elif name == "var":
            self._variable = self._value = ""
        elif name == "part":
            self._begin_part("")
        elif name == "caption":
            self._begin_part(_CAPTION)
        elif name == "segment":
            self._segment = self._part = ""

    def _begin_part(self, name: str) -> None:
        self._part = name
        self._part_offset = self.here()
        self._part_known = self._part_noted = False

    def begin_row(self, kind: str | None) -> None:
        self.cells = []
        self._row_offset = self.here()
        self._row_type = kind
        if self._heads_last and self._part != _ROWS:
            self._begin_part(_ROWS)

    # -- sections ---------------------------------------------------------------------------------

    def end_segment_name(self, text: str) -> None:
        self._segment = text

    def end_part_name(self, text: str) -> None:
        self._part = text

    def _section(self, shape: str) -> Section | None:
        """The section this place of the file belongs to."""
        section = self.columns.section(self._segment, self._part, shape)
        if section is not None:
            self._part_known = True
        elif not self._part_noted and self._known_elsewhere(shape):
            self._part_noted = True
            self.note("section", f"the section holds {shape} that are not expected; kept as text")
        return section

    def _known_elsewhere(self, shape: str) -> bool:
        other = "table" if shape == "variables" else "variables"
        return self.columns.section(self._segment, self._part, other) is not None

    def end_part(self, text: str) -> None:
        interval = self.interval
        if interval is None:
            return
        label = self._label()
        length = self.here() - self._part_offset
        if label in interval.sections or len(interval.sections) < MAX_CELLS:
            seen = interval.sections.setdefault(label, Seen())
            seen.count += 1
            seen.bytes += length
            seen.known = seen.known or self._part_known
        if not self._part_known:
            said = f"section {label!r} is not in the catalog; kept as text"
            self.note("section", said, "section", self._part_offset)
        self._part = ""

    def _keep(self, row: int | None, name: str, value: str, offset: int) -> None:
        """Keep what the catalog does not know as text."""
        interval = self.interval
        if interval is None or not value:
            return
        interval.other_size += len(name) + len(value)
        if interval.other_size > MAX_HELD or interval.other_count >= MAX_ROWS_PER_INTERVAL:
            said = "more that the catalog does not know than is kept of one interval; not read"
            self.note("length", said, offset=offset)
            return
        kind = self._row_type if row is not None else None
        made = [self._segment or self._part, self._part if self._segment else "", row, kind, name, value]
        interval.rows.setdefault(self._rest, []).append((offset, None, made))
        interval.other_count += 1

    # -- lists of values --------------------------------------------------------------------------

    def end_var_name(self, text: str) -> None:
        self._variable = text

    def end_var_value(self, text: str) -> None:
        self._value = text

    def end_var(self, text: str) -> None:
        interval = self.interval
        if interval is None:
            return
        section = self._section("variables")
        columns = self.columns.of(section, self._variable) if section is not None else ()
        if section is None or not columns:
            if section is not None:
                self.columns.unknown(section, self._variable)
            self._keep(None, self._variable, self._value, self.here())
            return
        into = interval.variables.setdefault(section.id, {})
        for column in columns:
            converter = self.columns.converter(section, column)
            if self._value in converter.cache:
                into[column.name] = converter.cache[self._value]
            else:
                into[column.name] = self.columns.value(converter, self._value)

    # -- tables -----------------------------------------------------------------------------------

    def end_heads(self, text: str) -> None:
        self._heads = tuple(self.cells)
        self.cells = []
        if self.interval is None:
            return
        if self._heads_last and not self._part:
            # A table without a row.
            self._begin_part(_ROWS)
        section = self._section("table")
        rows = self.columns.rows(section, self._heads) if section is not None else None
        # Under heads of which not one is known nothing becomes a row.
        self._rows = rows if rows is not None and any(rows.cells) else None
        self._block = self._above = None
        held, self._held, self._held_size = self._held, [], 0
        for offset, kind, cells in held:
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
        self._held_size += len(cells) + sum(map(len, cells))
        if len(self._held) >= MAX_ROWS_PER_INTERVAL or self._held_size > MAX_HELD:
            self._too_many(self.interval)
        else:
            self._held.append((self._row_offset, self._row_type, cells))

    def end_report(self) -> None:
        """The report ends, or what there is of it."""
        if self._held and self.interval is not None:
            said = f"{len(self._held):,} rows without column heads; not read"
            self.note("section", said, "rows", self._held[0][0])
        self._segment = self._part = ""
        self._held, self._held_size = [], 0

    def _too_many(self, interval: ReportInterval) -> None:
        if interval.lost_rows == 0:
            said = f"more than {MAX_ROWS_PER_INTERVAL:,} rows in one interval; the rest is not read"
            self.note("length", said, offset=self._row_offset)
        interval.lost_rows += 1

    def _take(self, cells: list[str]) -> None:
        """Take the row that is being read over."""
        rows, interval = self._rows, self.interval
        if interval is None or not any(cells):
            # Rows of empty cells only part the blocks of a printed table.
            return
        if interval.row_count >= MAX_ROWS_PER_INTERVAL:
            self._too_many(interval)
            return
        number = self._row_number
        self._row_number += 1
        if rows is None:
            if not self._heads and self._section("table") is not None:
                self.note("section", "a row without column heads; kept as text", offset=self._row_offset)
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
        made: list[Any] = []
        for place in rows.cells:
            if place is None:
                made.append(None)
                continue
            at, converter = place
            cell = cells[at]
            if cell in converter.cache:
                made.append(converter.cache[cell])
            else:
                made.append(self.columns.value(converter, cell))
        self._at = None
        if rows.block is not None:
            made[rows.block] = self._block
        if rows.continues is not None:
            self._continue(rows, not cells[rows.continues] and self._row_type is None, made)
        interval.rows.setdefault(section.id, []).append((self._row_offset, self._kind(rows, cells), made))
        interval.row_count += 1

    def _continue(self, rows: Rows, more: bool, made: list[Any]) -> None:
        """What holds of the row above holds of one that continues it."""
        above = self._above if more else None
        if above is None:
            self._above, self._place = made, 0
        else:
            self._place += 1
            for at in rows.above:
                if made[at] is None:
                    made[at] = above[at]
        if rows.place is not None:
            made[rows.place] = self._place

    def _keep_cells(
        self, number: int, which: Sequence[int], heads: tuple[str, ...], cells: list[str]
    ) -> None:
        for at in which:
            self._keep(number, heads[at] if at < len(heads) else "", cells[at], self._row_offset)

    def _kind(self, rows: Rows, cells: list[str]) -> str | None:
        """What a row is, where a table has rows of several kinds."""
        section = rows.section
        other = section.row_kind_other
        if not other:
            return None
        if rows.kind is not None:
            mark = cells[rows.kind]
            if mark[-1:] not in section.row_kind_last:
                self.note("section", f"a row of kind {mark[:20]!r}", "row kind", self._row_offset)
            return section.row_kind_last.get(mark[-1:], other)
        if self._row_type == "SUM":
            return section.row_kind_sum or other
        if self._row_type is not None:
            said = f"a row of type {self._row_type[:20]!r}"
            self.note("section", said, "row type", self._row_offset)
            return other
        return section.row_kind_first.get(cells[0], other)

    def _odd_row(self, section: Section, cells: list[str], width: int) -> None:
        """A row with more or fewer cells than heads: the rest is kept as text, what is missing is NULL."""
        said = f"a row of {len(cells)} cells under {width} heads"
        if len(cells) > width:
            self.note("long", said, offset=self._row_offset)
            return
        if any(cells[section.short_rows :]) or not section.short_rows:
            self.note("short", said, "short row", self._row_offset)
        cells.extend([""] * (width - len(cells)))
