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
_NAMED = r"(?<!\S)([A-Z(][A-Z0-9 ()+<>/.-]{0,40}?)"
_NUMBER = r"\s+([\d,]{1,15})"
_LABEL = re.compile(r"[A-Z]{4,}(?: [A-Z]+)*|[A-Z]+(?: [A-Z]+)+")


def title(line: str) -> str | None:
    """The title of a page that a line is, without blanks; None if it is none."""
    found = _TITLE.fullmatch(line)
    return "".join(found[1].split()).casefold() if found else None


def numbered(text: str, at: int) -> tuple[str, int]:
    """What numbers the page whose title is at a position: its title, with its number.

    A page that is not numbered, as in an excerpt, is named by its words, which are the same where it is
    printed again.
    """
    line = text.find("\n", at)
    top = text[at : text.find("\n", line + 1)] if line >= 0 else text[at:]
    found = _PAGE.search(top)
    if found is not None:
        return title(top[: line - at].rstrip()) or "", int(found[1])
    following = _TITLES.search(text, line + 1) if line >= 0 else None
    words = text[at : following.start() if following else len(text)].split()
    return " ".join(word for word in words if not _LINE.fullmatch(word)), 1


#: The texts of a header that tell reports apart.
PLACE = ("system", "start", "end", "date", "time", "interval")


class PageHeader(Struct):
    """What the header of a page says. start, end: as printed."""

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
        """Take a line of the header: where its texts stand, by name; nothing if it is none."""
        found = {name: match for name, form in facts.header.items() if (match := form.search(line))}
        taken: dict[str, tuple[int, int]] = {}
        if len(found) < 2:
            # One of its words is anywhere: SYSPLEX is also a name of partitions.
            return taken
        for name, match in found.items():
            own = "system" if name == "sysplex" else name
            taken[own] = match.span(1)
            if not getattr(self, own):
                setattr(self, own, match[1])
        return taken

    @property
    def report_key(self) -> tuple[str, ...]:
        """What tells reports apart."""
        return tuple(getattr(self, name) for name in PLACE)

    def ends(self) -> tuple[str, str] | None:
        """Begin and end as the XML form has them: 04/12/2022-00.30.00; None without both time and length."""
        begin = self.start or (
            f"{self.date}-{self.time.replace(':', '.')}" if self.date and self.time else ""
        )
        if not begin:
            return None
        if self.end:
            return begin, self.end
        try:
            start = values.local_time(begin, "en-us")
            length = values.milliseconds(self.interval)
        except values.NotAValueError:
            return None
        end = start + dt.timedelta(seconds=round(length / 1000))
        return begin, end.strftime("%m/%d/%Y-%H.%M.%S")


#: A text of a line with its start and end.
Cell = tuple[str, int, int]


class FoundHeadings(Struct, frozen=True):
    """Heads of a table that were found: its columns with their extents, from left to right."""

    table: PrintedTable
    columns: tuple[tuple[str, int, int], ...]

    def cells(self, line: str) -> dict[str, Cell] | None:
        """The cells of a row by column; None if its words are not below the heads."""
        words: list[Cell] = []
        found: dict[str, Cell] = {}
        for match in _WORD.finditer(line):
            column = next((name for name, form in self.table.words if form.fullmatch(match[0])), None)
            if column is None:
                words.append((match[0], match.start(), match.end()))
            else:
                found[column] = (match[0], match.start(), match.end())
        if len(words) == len(self.columns):
            return found | {name: word for (name, _, _), word in zip(self.columns, words, strict=True)}
        at = 0
        for text, start, end in words:
            near = self._nearest(at, start, end)
            name = self.columns[near][0]
            if name in found and len(text) > 1:
                return None
            before = found.get(name)
            found[name] = (f"{before[0]} {text}", before[1], end) if before else (text, start, end)
            at = near
        return found

    def _nearest(self, first: int, start: int, end: int) -> int:
        """The column, from `first` on, whose head is nearest to a word; of several, the one it ends with."""
        best, least = first, (1 << 30, 0)
        for place in range(first, len(self.columns)):
            _, begin, close = self.columns[place]
            distance = (
                begin - end if begin > end else start - close if start > close else 0,
                abs(end - close),
            )
            if distance < least:
                best, least = place, distance
            elif begin > end:
                break
        return best


def match_headings(page: ReportPage, line: str, above: Sequence[str]) -> FoundHeadings | None:
    """The heads whose last line this is, of one of the page's tables."""
    for table in page.tables:
        if table.first.match(line) is None:
            continue
        columns, at = [], 0
        for form, name in table.heads:
            match = form.search(line, at)
            # A head that is missing is not looked for behind the next one.
            if match is not None and not line[at : match.start()].strip():
                columns.append((name, match.start(), match.end()))
                at = match.end()
        if len(columns) < table.least or line[at:].strip():
            continue
        for form, name in table.upper:
            match = next((match for text in reversed(above) if (match := form.search(text))), None)
            if match is not None:
                columns.append((name, match.start(), match.end()))
        return FoundHeadings(table, tuple(sorted(columns, key=lambda column: column[1])))
    return None


def pairs(page: ReportPage, line: str, groups: Sequence[tuple[int, str]]) -> dict[str, Cell]:
    """Names with values of a line by their group, whose heads begin at given columns."""
    found: dict[str, Cell] = {}
    if page.pairs is None:
        return found
    for at, (start, group) in enumerate(groups):
        end = groups[at + 1][0] if at + 1 < len(groups) else len(line)
        # A name begins where its group does, or some columns before.
        for match in page.pairs.names[group].finditer(line):
            middle = match.start()
            if start - 6 <= middle < end - (6 if at + 1 < len(groups) else 0):
                found[f"{group}: {match[1]}"] = (match[2], *match.span(2))
    return found


def groups(page: ReportPage, line: str) -> list[tuple[int, str]]:
    """Where the heads of groups of names begin, if a line has some."""
    if page.pairs is None:
        return []
    found = {}
    for name, form in page.pairs.groups:
        match = form.search(line)
        if match is not None and match.start() not in found:
            found[match.start()] = name
    return sorted(found.items()) if len(found) > 1 else []


@cache
def _counts(columns: int) -> re.Pattern[str]:
    return re.compile(_NAMED + _NUMBER * columns + r"(?!\S)")


def counts(line: str, columns: int) -> list[tuple[int, str, list[Cell]]]:
    """Names followed by a number of columns: start, name, numbers."""
    return [
        (
            found.start(),
            " ".join(found[1].split()),
            [(found[at].replace(",", ""), *found.span(at)) for at in range(2, columns + 2)],
        )
        for found in _counts(columns).finditer(line)
    ]


def labels(line: str, names: Sequence[str]) -> list[tuple[int, int, str]]:
    """Texts of capital letters with their extents, if the line has only column names and rules beside."""
    rest = re.sub(rf"\b(?:{'|'.join(names)})\b", "", _LABEL.sub("", line))
    if _LINE.fullmatch(rest) is None:
        return []
    return [(found.start(), found.end(), found[0].strip()) for found in _LABEL.finditer(line)]
