"""Recognizes the headings of tables and locates the columns of a report definition in them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from msgspec import Struct

from zlens.catalog.reports.definition import ReportColumn, ReportTable, load_report, names

_WORDS = re.compile(r"\S+")
_ENCLOSED = re.compile(r"(?<!\S)_+[^\s_]+(?: [^\s_]+){1,2}_+(?!\S)")
#: The last line of a head of times.
TIMES = ("End Time", "Ended", "IntEnd")
#: Parts of the words of a line that must be heads, for it to be the last line of a table's heads.
_ENOUGH = 0.6
#: Lines with more words are not headings.
_MOST = 120
_SAME, _ABOVE, _OTHER = 10, 3, 1
#: Heads without a header are of a report that has at least so many of their words, and this part of them.
_EXCERPT_WORDS, _EXCERPT_PART = 5, 0.8


class ColumnExtent(NamedTuple):
    """Extent of a column: start and end of its heading, and whether its cells are right-aligned."""

    start: int
    end: int
    right: bool


class TableLayout(Struct, frozen=True):
    """Where the columns of a table stand.

    columns  for each place the column of the definition, "" for the label or time of a row, None for a
             column that the definition lacks, with its head in `heads`
    headless the columns are where the definition's widths put them
    """

    table: ReportTable
    places: tuple[ColumnExtent, ...]
    columns: tuple[ReportColumn | str | None, ...]
    heads: tuple[str, ...]
    headless: bool = False

    @property
    def known(self) -> int:
        return sum(isinstance(column, ReportColumn) for column in self.columns)


@lru_cache(512)
def match_table(line: str, above: tuple[str, ...], report: str, key: str) -> TableLayout | None:
    """The layout of a table whose last line of heads is `line`, below `above`; None if it is none."""
    table = load_report(report).table(key)
    words = [
        (found[0].strip("_"), found.start(), found.end())
        for found in _WORDS.finditer(_join_underscored(line))
        if found[0].strip("_")
    ]
    heads = _heads(table)
    known = {word for texts, _ in heads for text in texts for word in text.split()}
    fitting = sum(word in known for word, _, _ in words)
    if not 1 <= len(words) <= _MOST or fitting < _ENOUGH * len(words):
        return None
    matched = _aligned(words, heads, above)
    used = sum(count for _, _, count in matched)
    if used < _ENOUGH * len(words) or (len(matched) < 2 < len(heads)):
        return None
    return _layout(table, words, heads, matched)


def match_excerpt(line: str, above: tuple[str, ...] = ()) -> list[tuple[str, TableLayout]]:
    """The reports, and their layouts, that a line without a header has the heads of; several if alike."""
    words = [word for found in _WORDS.findall(_join_underscored(line)) if (word := found.strip("_"))]
    if not _EXCERPT_WORDS <= len(words) <= _MOST or sum(word in _tables_by_word() for word in words) < max(
        _EXCERPT_WORDS, _EXCERPT_PART * len(words)
    ):
        return []
    counts = Counter(table for word in set(words) for table in _tables_by_word().get(word, ()))
    found: list[tuple[float, str, TableLayout]] = []
    for (report, key), _ in counts.most_common(_NEAREST):
        layout = match_table(line, above, report, key)
        if layout is not None and layout.known >= max(_EXCERPT_WORDS, _EXCERPT_PART * len(layout.heads)):
            # Of reports with the same columns in other order or number, the one whose heads these are.
            found.append((_agreement(layout, above), report, layout))
    best = max((score for score, _, _ in found), default=0)
    return [(report, layout) for score, report, layout in found if score == best]


#: Tables that are compared with heads in full.
_NEAREST = 24


@cache
def _tables_by_word() -> dict[str, list[tuple[str, str]]]:
    """Reports and tables by the words of the last lines of their heads."""
    tables: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for report in names():
        for table in load_report(report).tables:
            own = {word for texts, _ in _heads(table) for text in texts for word in text.split()}
            for word in own:
                tables[word].append((report, table.key))
    return tables


def _agreement(layout: TableLayout, above: Sequence[str]) -> float:
    """How well heads agree with those of a table, those that either side lacks counted against it."""
    pairs = zip(layout.places, layout.columns, strict=True)
    score = sum(
        _SAME + _upper_agreement((place.start, place.end), column, above)
        for place, column in pairs
        if isinstance(column, ReportColumn) and any(column.heading)
    )
    return score - sum(column is None for column in layout.columns) * _SAME


def _join_underscored(line: str) -> str:
    """The line with words that underscores enclose as one: `_Cap Fct__` has the extent of its column."""
    return _ENCLOSED.sub(lambda found: found[0].replace(" ", "\0"), line)


def _heads(table: ReportTable) -> list[tuple[tuple[str, ...], ReportColumn | str]]:
    """The last line of each column's head with the column, in order; first that of times."""
    heads: list[tuple[tuple[str, ...], ReportColumn | str]] = [(TIMES, "")] if table.time else []
    for column in table.columns:
        text = " ".join(column.heading[-1].replace("_", " ").split()) if column.heading else ""
        if text:
            heads.append(((text,), column))
    return heads


def _aligned(
    words: Sequence[tuple[str, int, int]],
    heads: Sequence[tuple[tuple[str, ...], ReportColumn | str]],
    above: Sequence[str],
) -> list[tuple[int, int, int]]:
    """The best match of words and heads in order: first word, head, number of words."""
    rows, columns = len(words), len(heads)
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    step: list[list[tuple[int, int]]] = [[(0, 0)] * (columns + 1) for _ in range(rows + 1)]
    for row in range(rows - 1, -1, -1):
        for at in range(columns - 1, -1, -1):
            score, move = best[row + 1][at], (1, 0)
            if best[row][at + 1] > score:
                score, move = best[row][at + 1], (0, 1)
            for text in heads[at][0]:
                parts = text.split(" ")
                count = len(parts)
                found = [word for word, _, _ in words[row : row + count]]
                if found != parts and words[row][0].replace("\0", " ") == text:
                    count, found = 1, parts
                if found == parts:
                    extent = (words[row][1], words[row + count - 1][2])
                    own = (
                        _SAME * count
                        + _upper_agreement(extent, heads[at][1], above)
                        + best[row + count][at + 1]
                    )
                    if own >= score:
                        score, move = own, (count, 1)
            best[row][at], step[row][at] = score, move
    matched, row, at = [], 0, 0
    while row < rows and at < columns:
        count, forward = step[row][at]
        if count and forward:
            matched.append((row, at, count))
        row, at = row + count, at + forward
    return matched


def _upper_agreement(extent: tuple[int, int], column: ReportColumn | str, above: Sequence[str]) -> float:
    """How well the upper lines of a head agree with the lines above its last one."""
    if isinstance(column, str):
        return 0.0
    score = 0.0
    upper = column.heading[:-1]
    for distance, text in enumerate(reversed(upper), 1):
        if not text.strip() or distance > len(above):
            continue
        there = above[-distance][max(0, extent[0] - 1) : extent[1] + 1]
        wanted = text.replace("_", " ").split()
        score += _ABOVE if all(word in there for word in wanted) else -_OTHER if there.strip() else 0
    return score


def _layout(
    table: ReportTable,
    words: Sequence[tuple[str, int, int]],
    heads: Sequence[tuple[tuple[str, ...], ReportColumn | str]],
    matched: Sequence[tuple[int, int, int]],
) -> TableLayout:
    by_word = {row: (at, count) for row, at, count in matched}
    places: list[ColumnExtent] = []
    columns: list[ReportColumn | str | None] = []
    names: list[str] = []
    row = 0
    while row < len(words):
        at, count = by_word.get(row, (None, 1))
        column = None if at is None else heads[at][1]
        right = column.align == "right" if isinstance(column, ReportColumn) else at is None
        places.append(ColumnExtent(words[row][1], words[row + count - 1][2], right))
        columns.append(column)
        names.append(" ".join(word.replace("\0", " ") for word, _, _ in words[row : row + count]))
        row += count
    _add_headless(table, places, columns, names)
    return TableLayout(table, tuple(places), tuple(columns), tuple(names))


def _add_headless(
    table: ReportTable, places: list[ColumnExtent], columns: list[ReportColumn | str | None], names: list[str]
) -> None:
    """Give columns without a head a place beside their neighbor: a mark behind a number, a label before."""
    for at, column in enumerate(table.columns):
        if column.heading and column.heading[-1].strip():
            continue
        before = next((p for p, c in enumerate(columns) if at and c is table.columns[at - 1]), None)
        if before is not None:
            left = table.columns[at - 1].width if not places[before].right else 0
            start = max(places[before].end, places[before].start + left) + 1
            place, where = ColumnExtent(start, start + column.width, column.align == "right"), before + 1
        elif at == 0 and columns:
            place, where = ColumnExtent(0, max(1, min(column.width, places[0].start - 1)), False), 0
        else:
            continue
        places.insert(where, place)
        columns.insert(where, column)
        names.insert(where, column.key)


def layout_without_headings(table: ReportTable) -> TableLayout:
    """The layout of a table without heads: columns of the widths of the definition, side by side."""
    places, start = [], 0
    for column in table.columns:
        places.append(ColumnExtent(start, start + column.width, column.align == "right"))
        start += column.width + 1
    keys = tuple(column.key for column in table.columns)
    return TableLayout(table, tuple(places), tuple(table.columns), keys, headless=True)
