"""The classic text report: header block, headings over columns, rows, footnotes.

A table is printed at its full width. Only where a width is given (a terminal) and the table is wider, it is
folded: the columns are laid on several parts below each other, each beginning with the time and the columns
that say what a row is about. Words longer than such a part are cut at its end.
"""

from __future__ import annotations

import textwrap
from copy import copy
from datetime import datetime

from zlens.reports import style
from zlens.reports.definition import LABEL_WIDTH, TIME_HEADING, Column, Definition, Table, group_spans
from zlens.reports.header import header, notes
from zlens.reports.rows import Block, Part, Section, Session, fetch, order, timed

#: Header block and footnotes are at least this wide.
NARROWEST = 80


def render(definition: Definition, session: Session, *, now: datetime, width: int | None = None) -> str:
    blocks = fetch(definition, session)
    return "\n\n".join(_block(definition, block, session, now, width) for block in blocks) or (
        f"{definition.name}: no system in this input; {definition.needs}\n"
    )


def _block(definition: Definition, block: Block, session: Session, now: datetime, width: int | None) -> str:
    display = local(block, session)
    sheets = []
    for table, parts in block.shown:
        sheet = Sheet(table, parts, display)
        sheets += sheet.fold(width)
    full = max([NARROWEST if width is None else min(NARROWEST, width), *(sheet.width for sheet in sheets)])
    lines = header(definition, block, display, now, full)
    lines.append("_" * full)
    if block.empty:
        lacking = f"This input has nothing for this report. It needs: {definition.needs}"
        lines += ["", *textwrap.wrap(lacking, full, break_on_hyphens=False, break_long_words=False)]
    else:
        for sheet in sheets:
            lines.append("")
            lines += sheet.lines()
    foot = notes(definition, block, session, full)
    if foot:
        lines.append("")
        lines += foot
    return "\n".join(line.rstrip() for line in lines) + "\n"


def local(block: Block, session: Session) -> style.Display:
    """Shows a time as the system of the block does; each time is converted once."""
    system = block.system
    shown: dict[datetime, datetime] = {}

    def display(when: datetime) -> datetime:
        if when not in shown:
            shown[when] = session.display(when, system)
        return shown[when]

    return display


class Sheet:
    """One table, or one part of a folded one, ready to print."""

    def __init__(self, table: Table, parts: list[Part], display: style.Display) -> None:
        self.table = table
        self.parts = parts
        self.display = display
        self.title = table.title
        self.texts = {
            id(section): [
                style.cells(values, column, display)
                for column, values in zip(table.columns, section.values, strict=True)
            ]
            for part in parts
            for section in part
        }
        self.widths = [self._column_width(i, column) for i, column in enumerate(table.columns)]
        self.chosen = list(range(len(table.columns)))

    def _column_width(self, i: int, column: Column) -> int:
        """As the catalog says, wider only for a name or number that has no shorter form."""
        longest = max((len(text) for texts in self.texts.values() for text in texts[i] if text), default=0)
        fixed = max((len(rows.cells.get(column.key, "")) for rows in self.table.rows), default=0)
        return max(column.width, longest, fixed)

    @property
    def label_width(self) -> int:
        return LABEL_WIDTH + 1 if self.table.time else 0

    @property
    def width(self) -> int:
        return self.label_width + sum(self.widths[i] + 1 for i in self.chosen) - 1

    def fold(self, width: int | None) -> list[Sheet]:
        """This table in as many parts as the width asks for; columns under one heading stay together."""
        if width is None:
            return [self]
        # The flag of an interval stands behind its row.
        flags = {flag for part in self.parts for section in part for flag in set(section.flags) if flag}
        width -= max((len(flag) + 1 for flag in flags), default=0)
        if self.width <= width:
            return [self]
        kept = [i for i, column in enumerate(self.table.columns) if column.keep]
        room = width - self.label_width - sum(self.widths[i] + 1 for i in kept) + 1
        self.widths = [
            max(column.width, min(wide, room - 1)) if column.type == "text" and i not in kept else wide
            for i, (column, wide) in enumerate(zip(self.table.columns, self.widths, strict=True))
        ]
        pages: list[list[int]] = []
        left = 0
        for unit in self._units(kept, room):
            needed = sum(self.widths[i] + 1 for i in unit)
            if not pages or needed > left:
                pages.append([])
                left = room
            pages[-1] += unit
            left -= needed
        sheets = []
        for n, page in enumerate(pages, 1):
            sheet = copy(self)
            sheet.chosen = sorted([*kept, *page])
            sheet.title = f"{self.table.title} (part {n} of {len(pages)})".strip()
            sheets.append(sheet)
        return sheets

    def _units(self, kept: list[int], room: int) -> list[list[int]]:
        """The columns to lay out, in what must not be torn apart unless it is wider than a part."""
        units: list[list[int]] = []
        columns = self.table.columns
        for i, column in enumerate(columns):
            if i in kept:
                continue
            if units and column.group and columns[units[-1][-1]].group == column.group:
                units[-1].append(i)
            else:
                units.append([i])
        whole = []
        for unit in units:
            fits = sum(self.widths[i] + 1 for i in unit) <= room
            whole += [unit] if fits else [[i] for i in unit]
        return whole

    def lines(self) -> list[str]:
        lines = [self.title, ""] if self.title else []
        lines += self.headings()
        printed = False
        for part in self.parts:
            body = list(self._part(part))
            if body and printed and timed(part[0].rows):
                lines.append("")
            lines += body
            printed = printed or bool(body)
        return lines

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
                    cells[first : last + 1] = [group_heading(self.table.group(key).heading, span)]
            label = ""
            if self.table.time:
                above = height - len(TIME_HEADING)
                label = f"{TIME_HEADING[level - above] if level >= above else '':<{LABEL_WIDTH}} "
            lines.append(label + " ".join(cells))
        return lines

    def _part(self, part: Part) -> list[str]:
        bodies = {id(section): self._section(section) for section in part}
        dated = self._over_midnight(part)
        lines: list[str] = []
        last: datetime | None = None
        day = ""
        for section, i in order(part):
            time = section.times[i]
            if time is not None and time != last:
                last = time
                if lines and part[0].rows.blank:
                    lines.append("")
                if dated and style.day(self.display(time)) != day:
                    day = style.day(self.display(time))
                    lines.append(day)
            lines.append(bodies[id(section)][i])
        return lines

    def _over_midnight(self, part: Part) -> bool:
        """Whether a time of day does not say which day."""
        times = [time for time in part[0].times if time]
        return bool(times) and style.day(self.display(min(times))) != style.day(self.display(max(times)))

    def _section(self, section: Section) -> list[str]:
        """The lines of one section."""
        rows = section.rows
        columns = []
        for i in self.chosen:
            column = self.table.columns[i]
            texts = self.texts[id(section)][i]
            width = self.widths[i]
            if column.key in rows.cells:
                columns.append([pad(rows.cells[column.key], width, column.align)] * len(section))
                continue
            empty = (
                " " * width if blank(section, column) else pad(style.dots(column.width), width, column.align)
            )
            if column.align == "right":
                columns.append([empty if text is None else text.rjust(width) for text in texts])
            else:
                columns.append([empty if text is None else text[:width].ljust(width) for text in texts])
        lines = [" ".join(cells) for cells in zip(*columns, strict=True)]
        if not self.table.time:
            return [rows.label + line[len(rows.label) :] for line in lines] if rows.label else lines
        labels = self._labels(section)
        return [
            f"{label} {line} {flag}" if flag else f"{label} {line}"
            for label, line, flag in zip(labels, lines, section.flags, strict=True)
        ]

    def _labels(self, section: Section) -> list[str]:
        label = f"{section.rows.label:<{LABEL_WIDTH}}"
        clocks: dict[datetime, str] = {}
        labels = []
        for time in section.times:
            if time is None or section.rows.label:
                labels.append(label)
                continue
            if time not in clocks:
                clocks[time] = style.clock(self.display(time))
            labels.append(clocks[time])
        return labels


def blank(section: Section, column: Column) -> bool:
    """A text that a total does not have is left blank; anything else without a value is dotted."""
    return section.rows.kind == "total" and column.type != "number" and column.total == "none"


def pad(text: str, width: int, align: str) -> str:
    return text.rjust(width) if align == "right" else text.ljust(width)


def group_heading(text: str, width: int) -> str:
    """`<--- Percent Busy ---->` over that many characters."""
    inner = width - 2
    text = f" {text} " if inner >= len(text) + 4 else text[: max(inner, 0)]
    dashes = inner - len(text)
    return "<" + "-" * (dashes // 2) + text + "-" * (dashes - dashes // 2) + ">"
