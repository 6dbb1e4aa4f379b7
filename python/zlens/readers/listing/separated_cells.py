"""Tables whose cells are separated by tabs or blanks: their headings and their rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from msgspec import Struct

from zlens.catalog import listings
from zlens.catalog.listings import SeparatedTable
from zlens.catalog.reports import definition

_NUMBER = re.compile(r"-?(?:\d[\d,]*\.?\d*|\.\d+)\Z")
#: A value with its ratio to that of the row above, in one cell.
_WITH_RATIO = re.compile(r"(\S+) +(\d*\.\d+)\Z")
#: Minimum share of the number columns for which a row has a number.
_MIN_SHARE = 0.5


class SeparatedHeadings(Struct, frozen=True):
    """The columns of a table, in order."""

    facts: SeparatedTable
    columns: tuple[str, ...]
    tabs: bool

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns of numbers."""
        known = _number_columns(self.facts.report, self.facts.table)
        return tuple(column for column in self.columns if column in known)


class SeparatedRow(Struct, frozen=True):
    """Texts by column: of a row, and of ratios to the row above."""

    cells: dict[str, str]
    ratios: dict[str, str]


def match_headings(line: str) -> SeparatedHeadings | None:
    """Return the columns of a line of headings, given with its tabs; None for another line."""
    lower = line.lower()
    for facts in listings.ListingsFile.load().separated:
        # Nearly all lines of a file are none.
        if not all(any(map(lower.__contains__, headings)) for headings in _required_headings(facts)):
            continue
        tabs = "\t" in line
        columns = _by_tabs(line, facts) if tabs else _by_blanks(line, facts)
        if columns is not None and set(facts.least) <= set(columns) and len(set(columns)) == len(columns):
            return SeparatedHeadings(facts, tuple(columns), tabs)
    return None


def _by_tabs(line: str, facts: SeparatedTable) -> list[str] | None:
    known = {heading.lower(): column for heading, column in facts.heads}
    columns = []
    for index, cell in enumerate(line.split("\t")):
        column = known.get(" ".join(cell.split()).lower()) or (facts.label if index == 0 else None)
        if column is None:
            return None
        columns.append(column)
    return columns


def _by_blanks(line: str, facts: SeparatedTable) -> list[str] | None:
    pattern, columns, position = _pattern(facts), [], 0
    text = line.strip()
    while position < len(text):
        match = pattern.match(text, position)
        if match is None:
            return None
        columns.append(facts.heads[int(match.lastgroup[1:])][1])  # type: ignore[index]
        position = match.end()
    return columns


@cache
def _required_headings(facts: SeparatedTable) -> tuple[tuple[str, ...], ...]:
    """Return the headings of each column that every such table has, in lower case."""
    return tuple(
        tuple(heading.lower() for heading, column in facts.heads if column == required)
        for required in facts.least
    )


@cache
def _pattern(facts: SeparatedTable) -> re.Pattern[str]:
    """Return the pattern of one heading, the longest first, with the blanks after it."""
    order = sorted(range(len(facts.heads)), key=lambda index: -len(facts.heads[index][0]))
    forms = (f"(?P<h{index}>{' +'.join(map(re.escape, facts.heads[index][0].split()))})" for index in order)
    return re.compile(f"(?:{'|'.join(forms)})(?:\\s+|\\Z)", re.IGNORECASE)


@cache
def _number_columns(report: str, table: str) -> frozenset[str]:
    columns = definition.load_report(report).table(table).columns
    return frozenset(column.key for column in columns if column.type == "number")


def parse_row(line: str, headings: SeparatedHeadings) -> SeparatedRow | None:
    """Return the cells of a row below the headings; None if the line is not a row."""
    facts, numbers, ratios = headings.facts, headings.numbers, {}
    if headings.tabs and "\t" in line:
        cells = _filled(headings.columns, [" ".join(cell.split()) for cell in line.split("\t")])
    else:
        cells = _blank_cells(line, headings)
    for column in numbers:
        if match := _WITH_RATIO.match(cells.get(column, "")):
            cells[column], ratios[column] = match[1], match[2]
    values = [cells[column] for column in numbers if column in cells]
    if not all(map(_NUMBER.match, values)) or len(values) < _MIN_SHARE * len(numbers):
        return None
    label = cells.get(facts.label) or cells.get(headings.columns[0], "")
    if re.fullmatch(facts.ratio, label):
        return SeparatedRow({}, {facts.label: label} | {key: cells[key] for key in numbers if key in cells})
    return SeparatedRow(cells, {facts.label: label} | ratios if ratios else {})


def _blank_cells(line: str, headings: SeparatedHeadings) -> dict[str, str]:
    """Return the cells of a line of words: the last ones are numbers, apart from the text of a last column.

    A line with other words, or with more numbers than columns, has no cells.
    """
    words, columns, numbers = line.split(), headings.columns, headings.numbers
    before = columns[: columns.index(numbers[0])]
    after = columns[columns.index(numbers[-1]) + 1 :]
    tail = words[-1:] if after and words and not _NUMBER.match(words[-1]) else []
    words = words[: len(words) - len(tail)]
    count = 0
    while count < min(len(numbers), len(words)) and _NUMBER.match(words[-1 - count]):
        count += 1
    first, values = words[: len(words) - count], words[len(words) - count :]
    cells = _filled(numbers, values) | _filled(after, tail)
    is_label = before == (headings.facts.label,) or len(first) != len(before)
    if is_label and len(first) > 1 and all(map(_NUMBER.match, first[-2:])):
        return {}
    label = headings.facts.label
    return (_filled((label,), [" ".join(first)]) if is_label else _filled(before, first)) | cells


def _filled(columns: Sequence[str], texts: Sequence[str]) -> dict[str, str]:
    return {column: text for column, text in zip(columns, texts, strict=False) if text}
