"""The sections of a report: lists of named values and tables, as the parser meets them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zlens.catalog.rmf_reports import Report, Section
from zlens.readers.rmf_columns import Columns, Rows
from zlens.readers.rmf_interval import ReportInterval, Seen
from zlens.readers.rmf_notes import Notes
from zlens.readers.rmf_values import Converter

MAX_CELLS = 256
#: A machine has at most 85 partitions and a few hundred processors.
MAX_ROWS_PER_INTERVAL = 20_000


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
        self._rows: Rows | None = None

    def note(self, kind: str, detail: str, about: str | None = None, offset: int | None = None) -> None:
        record = f"{self._segment}: {self._part}" if self._part else self._segment or None
        at = self._at if offset is None else offset
        self.notes.add(kind, detail, self.here() if at is None else at, record=record, about=about)

    # -- where things begin -----------------------------------------------------------------------

    def begin(self, name: str) -> None:
        """An element that is part of the body begins."""
        if name == "column-headers":
            self.cells = []
        elif name == "table":
            self._rows = None
        elif name == "var":
            self._variable = self._value = ""
        elif name == "part":
            self._part = ""
            self._part_offset = self.here()
            self._part_known = self._part_noted = False
        elif name == "segment":
            self._segment = self._part = ""

    def begin_row(self, kind: str | None) -> None:
        self.cells = []
        self._row_offset = self.here()
        self._row_type = kind

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
            self.note("section", f"the section holds {shape} that are not expected; not read")
        return section

    def _known_elsewhere(self, shape: str) -> bool:
        other = "table" if shape == "variables" else "variables"
        return self.columns.section(self._segment, self._part, other) is not None

    def end_part(self, text: str) -> None:
        interval = self.interval
        if interval is None:
            return
        label = f"{self._segment}: {self._part}" if self._part else self._segment
        length = self.here() - self._part_offset
        if label in interval.sections or len(interval.sections) < MAX_CELLS:
            seen = interval.sections.setdefault(label, Seen())
            seen.count += 1
            seen.bytes += length
            seen.known = seen.known or self._part_known
        if not self._part_known:
            self.notes.add(
                "section",
                f"section {label!r} is not in the catalog; not read",
                self._part_offset,
                record=label,
                lost=length,
                about="section",
            )
        self._part = ""

    # -- lists of values --------------------------------------------------------------------------

    def end_var_name(self, text: str) -> None:
        self._variable = text

    def end_var_value(self, text: str) -> None:
        self._value = text

    def end_var(self, text: str) -> None:
        interval = self.interval
        section = self._section("variables") if interval is not None else None
        if interval is None or section is None:
            return
        into = interval.variables.setdefault(section.id, {})
        columns = self.columns.of(section, self._variable)
        if not columns:
            self.columns.unknown(self._variable)
        for column in columns:
            converter = self.columns.converter(section, column)
            if self._value in converter.cache:
                into[column.name] = converter.cache[self._value]
            else:
                into[column.name] = self.columns.value(converter, self._value)

    # -- tables -----------------------------------------------------------------------------------

    def end_heads(self, text: str) -> None:
        heads = tuple(self.cells)
        self.cells = []
        section = self._section("table") if self.interval is not None else None
        if section is not None:
            self._rows = self.columns.rows(section, heads)

    def end_table(self, text: str) -> None:
        self._rows = None

    def end_row(self, text: str) -> None:
        cells, rows, interval = self.cells, self._rows, self.interval
        self.cells = []
        if rows is None:
            if interval is not None and self._section("table") is not None:
                self.note("section", "a row without column heads; not read", offset=self._row_offset)
            return
        if interval is None or not any(cells):
            # Rows of empty cells only part the blocks of a printed table.
            return
        if interval.row_count >= MAX_ROWS_PER_INTERVAL:
            if interval.lost_rows == 0:
                said = f"more than {MAX_ROWS_PER_INTERVAL:,} rows in one interval; the rest is not read"
                self.note("length", said, offset=self._row_offset)
            interval.lost_rows += 1
            return
        section = rows.section
        if len(cells) != rows.width:
            self._odd_row(section, cells, rows.width)
        self._at = self._row_offset
        made: list[Any] = []
        for place in rows.cells:
            if place is None:
                made.append(None)
                continue
            number, converter = place
            cell = cells[number]
            if cell in converter.cache:
                made.append(converter.cache[cell])
            else:
                made.append(self.columns.value(converter, cell))
        self._at = None
        interval.rows.setdefault(section.id, []).append((self._row_offset, self._kind(section, cells), made))
        interval.row_count += 1

    def _kind(self, section: Section, cells: list[str]) -> str | None:
        """What a row is, where a table has rows of several kinds."""
        if not section.row_kind_other:
            return None
        if self._row_type == "SUM":
            return section.row_kind_sum or section.row_kind_other
        if self._row_type is not None:
            said = f"a row of type {self._row_type[:20]!r}"
            self.note("section", said, "row type", self._row_offset)
            return section.row_kind_other
        return section.row_kind_first.get(cells[0], section.row_kind_other)

    def _odd_row(self, section: Section, cells: list[str], width: int) -> None:
        """A row with more or fewer cells than heads: what is beyond is not read, what is missing is NULL."""
        said = f"a row of {len(cells)} cells under {width} heads"
        if len(cells) > width:
            self.note("long", said, offset=self._row_offset)
            return
        if any(cells[section.short_rows :]) or not section.short_rows:
            self.note("short", said, "short row", self._row_offset)
        cells.extend([""] * (width - len(cells)))
