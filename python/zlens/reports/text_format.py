"""The classic text report: header block, headings above columns, rows, footnotes.

A table is printed at its full width. If a width is given (a terminal) and the table is wider, it is folded
into parts below each other, each beginning with the time and the columns that identify the rows. Words longer
than a part are truncated.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from copy import copy
from datetime import datetime
from typing import TYPE_CHECKING

from zlens._native import Lines
from zlens.catalog.reports.definition import (
    LABEL_WIDTH,
    TIME_HEADING,
    ReportColumn,
    ReportDefinition,
    ReportTable,
    group_spans,
)
from zlens.reports import style
from zlens.reports.header import header, notes
from zlens.reports.rows import (
    Block,
    Part,
    RowSection,
    fetch,
    has_times,
    offset_us,
    rows_in_order,
)

if TYPE_CHECKING:
    from zlens.session.session import CoreSession

#: Minimum width of the header block and the footnotes.
NARROWEST = 80

_DAY_US = 86_400_000_000


def chunks(
    definition: ReportDefinition, session: CoreSession, *, now: datetime, width: int | None = None
) -> Iterator[str]:
    blocks = fetch(definition, session)
    if not blocks:
        yield f"{definition.name}: no system in this input; {definition.needs}\n"
    for index, block in enumerate(blocks):
        if index:
            yield "\n\n"
        yield from _block(definition, block, session, now, width)


def _block(
    definition: ReportDefinition, block: Block, session: CoreSession, now: datetime, width: int | None
) -> Iterator[str]:
    display = local(block, session)
    offset = offset_us(block, session)
    sheets = []
    for table, parts in block.shown:
        sheet = PrintedSheet(table, parts, offset)
        sheets += sheet.fold_columns(width)
    full = max([NARROWEST if width is None else min(NARROWEST, width), *(sheet.width for sheet in sheets)])
    yield _lines([*header(definition, block, display, now, full), "_" * full])
    if block.empty:
        message = f"This input has no data for this report. It needs: {definition.needs}"
        yield _lines(["", *textwrap.wrap(message, full, break_on_hyphens=False, break_long_words=False)])
    for sheet in sheets:
        yield "\n"
        yield from sheet.chunks()
    foot = notes(definition, block, session, full)
    if foot:
        yield _lines(["", *foot])


def _lines(lines: list[str]) -> str:
    return "".join(f"{line.rstrip()}\n" for line in lines)


def local(block: Block, session: CoreSession) -> style.Display:
    """Return a function that converts times, each once, to the local time of the block's system."""
    system = block.system
    converted: dict[datetime, datetime] = {}

    def display(time: datetime) -> datetime:
        if time not in converted:
            converted[time] = session.display(time, system)
        return converted[time]

    return display


class PrintedSheet:
    """One table, or one part of a folded table, ready to print."""

    def __init__(self, table: ReportTable, parts: list[Part], offset_us: int) -> None:
        self.table = table
        self.parts = parts
        self.offset_us = offset_us
        self.title = table.title
        self.widths = [self._column_width(i, column) for i, column in enumerate(table.columns)]
        self.chosen = list(range(len(table.columns)))

    def _column_width(self, i: int, column: ReportColumn) -> int:
        """Return the catalog's width, or more for a name or number that cannot be shortened."""
        sections = [section for part in self.parts for section in part if len(section)]
        longest = max((section.longest[i] for section in sections), default=0)
        fixed = max((len(rows.cells.get(column.key, "")) for rows in self.table.rows), default=0)
        return max(column.width, longest, fixed)

    @property
    def label_width(self) -> int:
        return LABEL_WIDTH + 1 if self.table.time else 0

    @property
    def width(self) -> int:
        return self.label_width + sum(self.widths[i] + 1 for i in self.chosen) - 1

    def fold_columns(self, width: int | None) -> list[PrintedSheet]:
        """Return this table in parts of at most this width; column groups are not separated."""
        if width is None:
            return [self]
        # The flag of an interval follows its row, and the time of a peak.
        after = {flag for part in self.parts for section in part for flag in section.flags}
        if any(part[0].rows.kind == "peak" and len(part[0]) for part in self.parts):
            after.add("2026/01/31 00:00:00" if any(map(self._over_midnight, self.parts)) else "00:00:00")
        width -= max((len(text) + 1 for text in after), default=0)
        if self.width <= width:
            return [self]
        repeated = [index for index, column in enumerate(self.table.columns) if column.keep]
        available = width - self.label_width - sum(self.widths[index] + 1 for index in repeated) + 1
        self.widths = [
            max(column.width, min(column_width, available - 1))
            if column.type == "text" and index not in repeated
            else column_width
            for index, (column, column_width) in enumerate(zip(self.table.columns, self.widths, strict=True))
        ]
        pages: list[list[int]] = []
        left = 0
        for unit in self._units(repeated, available):
            needed = sum(self.widths[index] + 1 for index in unit)
            if not pages or needed > left:
                pages.append([])
                left = available
            pages[-1] += unit
            left -= needed
        sheets = []
        for number, page in enumerate(pages, 1):
            sheet = copy(self)
            sheet.chosen = sorted([*repeated, *page])
            sheet.title = f"{self.table.title} (part {number} of {len(pages)})".strip()
            sheets.append(sheet)
        return sheets

    def _units(self, repeated: list[int], available: int) -> list[list[int]]:
        """Return the columns to lay out, in units that are split only if wider than a part."""
        units: list[list[int]] = []
        columns = self.table.columns
        for index, column in enumerate(columns):
            if index in repeated:
                continue
            if units and column.group and columns[units[-1][-1]].group == column.group:
                units[-1].append(index)
            else:
                units.append([index])
        fitting = []
        for unit in units:
            fits = sum(self.widths[index] + 1 for index in unit) <= available
            fitting += [unit] if fits else [[index] for index in unit]
        return fitting

    def chunks(self) -> Iterator[str]:
        yield _lines([*([self.title, ""] if self.title else []), *self.headings()])
        printed = False
        for part in self.parts:
            if not any(len(section) for section in part):
                continue
            if printed and has_times(part[0].rows):
                yield "\n"
            printed = True
            yield from self._part(part)

    def headings(self) -> list[str]:
        columns = tuple(self.table.columns[i] for i in self.chosen)
        widths = [self.widths[i] for i in self.chosen]
        spans = group_spans(columns)
        height = max(
            len(TIME_HEADING) if self.table.time else 1,
            *(len(column.heading) + (1 if column.group else 0) for column in columns),
        )
        grid = []
        for column, width in zip(columns, widths, strict=True):
            stack = [""] * (height - len(column.heading)) + list(column.heading)
            grid.append([pad(line, width, column.align) for line in stack])
        lines = []
        for level in range(height):
            cells = [stack[level] for stack in grid]
            if level == 0:
                for key, first, last in reversed(spans):
                    span = sum(widths[first : last + 1]) + last - first
                    cells[first : last + 1] = [group_heading(self.table.groups[key], span)]
            label = ""
            if self.table.time:
                above = height - len(TIME_HEADING)
                label = f"{TIME_HEADING[level - above] if level >= above else '':<{LABEL_WIDTH}} "
            lines.append(label + " ".join(cells))
        return lines

    def _part(self, part: Part) -> Iterator[str]:
        columns = self.table.columns
        is_peak = part[0].rows.kind == "peak"
        lines = Lines.table(
            rows_in_order(part),
            [(i, self.widths[i], columns[i].align == "right") for i in self.chosen],
            [self._section(section) for section in part],
            label_width=LABEL_WIDTH if self.table.time else None,
            blank=part[0].rows.blank,
            dated=any(map(self._over_midnight, self.parts if is_peak else [part])),
            offset_us=self.offset_us,
        )
        return self._peaks(lines, part[0].rows.label) if is_peak else lines

    def _peaks(self, lines: Iterator[str], label: str) -> Iterator[str]:
        """Yield rows that begin with their time, after the day if there are several, with it at their end."""
        day = ""
        for line in "".join(lines).splitlines():
            time, row = line[:LABEL_WIDTH], line[LABEL_WIDTH:]
            if "/" in time:
                day = f"{line} "
            else:
                yield f"{label:<{LABEL_WIDTH}}{row:<{self.width - LABEL_WIDTH}} {day}{time}\n"

    def _over_midnight(self, part: Part) -> bool:
        """Return whether the part spans midnight, so that times need a date."""
        if part[0].times is None:
            return False
        first, last = ((time + self.offset_us) // _DAY_US for time in part[0].times)
        return first != last

    def _section(self, section: RowSection) -> tuple[str, list[str | None], list[str]]:
        """Return label, fixed texts, and the texts for missing values."""
        fixed: list[str | None] = []
        empty = []
        # A long label extends over the blank cells after it; without times it covers cells of full width.
        label = section.rows.time_label if self.table.time else section.rows.label
        over = max(len(label) - LABEL_WIDTH, 0) if self.table.time else 0
        for i in self.chosen:
            column, width = self.table.columns[i], self.widths[i]
            text = section.rows.cells.get(column.key)
            blanks = min(over, width) if text == "" else 0
            over = over - blanks if text == "" else 0
            fixed.append(None if text is None else pad(text, width - blanks, column.align))
            dots = "" if is_left_blank(section, column) else style.dots(column.width)
            empty.append(pad(dots, width, column.align))
        return "" if section.rows.kind == "peak" else label, fixed, empty


def is_left_blank(section: RowSection, column: ReportColumn) -> bool:
    """Return whether a missing value is blank, such as a text in a total; others are dotted."""
    return section.rows.kind == "total" and column.type != "number" and column.total == "none"


def pad(text: str, width: int, align: str) -> str:
    return text.rjust(width) if align == "right" else text.ljust(width)


def group_heading(text: str, width: int) -> str:
    """Return `<--- Percent Busy ---->` of the given width."""
    inner = width - 2
    text = f" {text} " if inner >= len(text) + 4 else text[: max(inner, 0)]
    dashes = inner - len(text)
    return "<" + "-" * (dashes // 2) + text + "-" * (dashes - dashes // 2) + ">"
