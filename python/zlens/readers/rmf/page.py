"""Pages of printed RMF reports: their headers, and their lines as the values and tables of the XML form."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from functools import cache

from msgspec import Struct

from zlens.catalog.rmf_listings import PrintedFacts, PrintedTable, ReportPage
from zlens.readers.rmf import values

#: A title has a blank between letters: C P U   A C T I V I T Y
_TITLE = re.compile(r"[1 0+-]? *((?:[A-Z/] +){3,}[A-Z])(?: +PAGE +\d+)? *", re.I)
_TITLES = re.compile(rf"(?im)^{_TITLE.pattern}\r?$")
_PAGE = re.compile(r"\bPAGE +(\d+)")
_WORD = re.compile(r"\S+")
_LINE = re.compile(r"[\s\d.,+*/<>=()!_-]*")
_NAMED = r"(?<!\S)([12] [MG]B|[A-Z(][A-Z0-9 ()+<>/.-]{0,40}?)"
_NUMBER = r"\s+([\d,]{1,15})"
_LABEL = re.compile(r"[A-Z]{4,}(?: [A-Z]+)*|[A-Z]+(?: [A-Z]+)+")
_SAMPLES = re.compile(r"\( *\d+ +SAMPLES *\)")


def title(line: str) -> str | None:
    """Return the page title in a line, without blanks; None if the line is not a title."""
    match = _TITLE.fullmatch(line)
    return "".join(match[1].split()).casefold() if match else None


def numbered(text: str, start: int) -> tuple[str, int]:
    """Return the title and the number of the page whose title is at a position.

    A page without a number, as in an excerpt, is identified by its words, which do not change if it is
    printed again.
    """
    title_end = text.find("\n", start)
    top = text[start : text.find("\n", title_end + 1)] if title_end >= 0 else text[start:]
    if match := _PAGE.search(top):
        return title(top[: title_end - start].rstrip()) or "", int(match[1])
    next_title = _TITLES.search(text, title_end + 1) if title_end >= 0 else None
    words = text[start : next_title.start() if next_title else len(text)].split()
    return " ".join(word for word in words if not _LINE.fullmatch(word)), 1


#: The header texts that identify a report.
PLACE = ("system", "start", "end", "date", "time", "interval")


class PageHeader(Struct):
    """The texts of a page header. start, end: as printed."""

    system: str = ""
    start: str = ""
    end: str = ""
    date: str = ""
    time: str = ""
    interval: str = ""
    level: str = ""
    version: str = ""
    cycle: str = ""

    def parse_line(self, line: str, facts: PrintedFacts) -> dict[str, tuple[int, int]]:
        """Parse a line of the header; return the spans of its texts by name, empty for other lines."""
        matches = {name: match for name, form in facts.header.items() if (match := form.search(line))}
        spans: dict[str, tuple[int, int]] = {}
        if len(matches) < 2:
            # One of its words may occur anywhere: SYSPLEX is also a name of partitions.
            return spans
        for name, match in matches.items():
            field = "system" if name == "sysplex" else name
            spans[field] = match.span(1)
            if not getattr(self, field):
                setattr(self, field, match[1])
        return spans

    @property
    def report_key(self) -> tuple[str, ...]:
        """The header texts that identify the report."""
        return tuple(getattr(self, name) for name in PLACE)

    def ends(self) -> tuple[str, str] | None:
        """Return start and end as in XML: 04/12/2022-00.30.00; None without time or length."""
        dated = f"{self.date}-{self.time.replace(':', '.')}" if self.date and self.time else ""
        printed_start = self.start or dated
        if not printed_start:
            return None
        if self.end:
            return printed_start, self.end
        try:
            start = values.local_time(printed_start, "en-us")
            length = values.milliseconds(self.interval)
        except values.NotAValueError:
            return None
        end = start + dt.timedelta(seconds=round(length / 1000))
        return printed_start, end.strftime("%m/%d/%Y-%H.%M.%S")


#: A text of a line with its start and end.
Cell = tuple[str, int, int]


class FoundHeadings(Struct, frozen=True):
    """The headings found in a line: the columns of the table with their extents, from left to right."""

    table: PrintedTable
    columns: tuple[tuple[str, int, int], ...]

    def cells(self, line: str) -> dict[str, Cell] | None:
        """Return the cells of a row by column; None if its words are not below the headings."""
        words: list[Cell] = []
        cells_by_column: dict[str, Cell] = {}
        for match in _WORD.finditer(line):
            column = next((name for name, form in self.table.words if form.fullmatch(match[0])), None)
            if column is None:
                words.append((match[0], match.start(), match.end()))
            else:
                cells_by_column[column] = (match[0], match.start(), match.end())
        if len(words) == len(self.columns):
            return cells_by_column | {key: word for (key, *_), word in zip(self.columns, words, strict=True)}
        index = 0
        for text, start, end in words:
            nearest = self._nearest(index, start, end)
            name = self.columns[nearest][0]
            if name in cells_by_column and len(text) > 1:
                return None
            above = cells_by_column.get(name)
            cells_by_column[name] = (f"{above[0]} {text}", above[1], end) if above else (text, start, end)
            index = nearest
        return cells_by_column

    def _nearest(self, first: int, start: int, end: int) -> int:
        """Return the column, from `first` on, with the nearest heading; of several, the nearest end."""

        def distance(index: int) -> tuple[int, int]:
            _, left, right = self.columns[index]
            return max(left - end, start - right, 0), abs(end - right)

        return min(range(first, len(self.columns)), key=distance)


def match_headings(page: ReportPage, line: str, above: Sequence[str]) -> FoundHeadings | None:
    """Return the headings of one of the page's tables if this is their last line."""
    for table in page.tables:
        if table.first.match(line) is None:
            continue
        columns, position = [], 0
        for form, name in table.heads:
            match = form.search(line, position)
            # A missing heading is not searched for after the next one.
            if match is not None and not line[position : match.start()].strip():
                columns.append((name, match.start(), match.end()))
                position = match.end()
        if len(columns) < table.least or line[position:].strip():
            continue
        for form, name in table.upper:
            match = next((match for text in reversed(above) if (match := form.search(text))), None)
            if match is not None:
                columns.append((name, match.start(), match.end()))
        return FoundHeadings(table, tuple(sorted(columns, key=lambda column: column[1])))
    return None


def pairs(page: ReportPage, line: str, groups: Sequence[tuple[int, str]]) -> dict[str, Cell]:
    """Return the names and values of a line by group; `groups` has the start columns of group headings."""
    cells_by_name: dict[str, Cell] = {}
    if page.pairs is None:
        return cells_by_name
    for index, (start, group) in enumerate(groups):
        end = groups[index + 1][0] if index + 1 < len(groups) else len(line)
        # A name starts at the start of its group or a few columns before it.
        for match in page.pairs.names[group].finditer(line):
            name_start = match.start()
            if start - 6 <= name_start < end - (6 if index + 1 < len(groups) else 0):
                cells_by_name[f"{group}: {match[1]}"] = (match[2], *match.span(2))
    return cells_by_name


def groups(page: ReportPage, line: str) -> list[tuple[int, str]]:
    """Return the start columns and names of the group headings in a line."""
    if page.pairs is None:
        return []
    matches = [(match.start(), name) for name, form in page.pairs.groups if (match := form.search(line))]
    # The first of several headings at one position counts.
    name_by_column = dict(reversed(matches))
    return sorted(name_by_column.items()) if len(name_by_column) > 1 else []


@cache
def _counts(columns: int) -> re.Pattern[str]:
    return re.compile(_NAMED + _NUMBER * columns + r"(?!\S)")


def counts(line: str, columns: int) -> list[tuple[int, str, list[Cell]]]:
    """Return names followed by a number of columns: start, name, numbers."""
    return [
        (
            match.start(),
            " ".join(match[1].split()),
            [(match[group].replace(",", ""), *match.span(group)) for group in range(2, columns + 2)],
        )
        for match in _counts(columns).finditer(line)
    ]


def labels(line: str, names: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return capitalized texts with their extents, if the rest of the line is column names and rules."""
    line = _SAMPLES.sub(lambda match: " " * len(match[0]), line)
    rest = re.sub(rf"\b(?:{'|'.join(names)})\b", "", _LABEL.sub("", line))
    if _LINE.fullmatch(rest) is None:
        return []
    return [(match.start(), match.end(), match[0].strip()) for match in _LABEL.finditer(line)]
