"""Recognition of table headings, and the location of the columns of a report definition in them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from msgspec import Struct

from zlens.catalog.reports.definition import ReportColumn, ReportTable, load_report, names, with_intervals

_WORDS = re.compile(r"\S+")
_ENCLOSED = re.compile(r"(?<!\S)_+[^\s_]+(?: [^\s_]+){1,2}_+(?!\S)")
#: The last heading line of a column of times.
TIMES = ("End Time", "Ended", "IntEnd")
#: Minimum share of the words in a line that must be headings of a table for the line to match.
_MIN_SHARE = 0.6
#: Lines with more words are not headings.
_MAX_WORDS = 120
_SAME, _ABOVE, _OTHER = 10, 3, 1
#: A line without a report header must have this many heading words of a report, and this share of its
#: headings.
_EXCERPT_WORDS, _EXCERPT_PART = 5, 0.8


class ColumnExtent(NamedTuple):
    """Extent of a column: start and end of its heading, and whether its cells are right-aligned."""

    start: int
    end: int
    right: bool


class TableLayout(Struct, frozen=True):
    """The locations of a table's columns in its lines.

    columns  for each extent in `places` the column of the definition, "" for the label or time of a row, None
             for a column that is not in the definition, with its heading in `heads`
    headless the extents come from the widths in the definition
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
    """Return the layout of a table whose last heading line is `line`; None if the line does not match."""
    table = load_report(report).table(key)
    if not table.time and line.lstrip().startswith(TIMES):
        table = with_intervals(table)
    words = [
        (match[0].strip("_"), match.start(), match.end())
        for match in _WORDS.finditer(_join_underscored(line))
        if match[0].strip("_")
    ]
    headings = _last_heading_lines(table)
    known_words = {word for texts, _ in headings for text in texts for word in text.split()}
    matching_count = sum(word in known_words for word, _, _ in words)
    if not 1 <= len(words) <= _MAX_WORDS or matching_count < _MIN_SHARE * len(words):
        return None
    matched = _aligned(words, headings, above)
    used = sum(count for _, _, count in matched)
    if used < _MIN_SHARE * len(words) or (len(matched) < 2 < len(headings)):
        return None
    return _layout(table, words, headings, matched)


def match_excerpt(line: str, above: tuple[str, ...] = ()) -> list[tuple[str, TableLayout]]:
    """Return the reports and layouts whose headings a line without a report header has; several if equal."""
    words = [word for matches in _WORDS.findall(_join_underscored(line)) if (word := matches.strip("_"))]
    known_count = sum(word in _tables_by_word() for word in words)
    least = max(_EXCERPT_WORDS, _EXCERPT_PART * len(words))
    if not _EXCERPT_WORDS <= len(words) <= _MAX_WORDS or known_count < least:
        return []
    counts = Counter(table for word in set(words) for table in _tables_by_word().get(word, ()))
    matches: list[tuple[float, str, TableLayout]] = []
    for (report, key), _ in counts.most_common(_MAX_CANDIDATES):
        layout = match_table(line, above, report, key)
        if layout is not None and layout.known >= max(_EXCERPT_WORDS, _EXCERPT_PART * len(layout.heads)):
            # Of reports with the same columns in other order or number, take the one with the best agreement.
            matches.append((_agreement(layout, above), report, layout))
    best = max((score for score, _, _ in matches), default=0)
    return [(report, layout) for score, report, layout in matches if score == best]


#: Maximum number of tables whose headings are compared completely.
_MAX_CANDIDATES = 24


@cache
def _tables_by_word() -> dict[str, list[tuple[str, str]]]:
    """Return reports and tables by the words of their last heading lines."""
    tables: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for report in names():
        for table in load_report(report).tables:
            headings = [text for texts, _ in _last_heading_lines(table) for text in texts]
            for word in {word for text in headings for word in text.split()}:
                tables[word].append((report, table.key))
    return tables


def _agreement(layout: TableLayout, above: Sequence[str]) -> float:
    """Return the agreement of headings with a table; a heading without a match counts against it."""
    pairs = zip(layout.places, layout.columns, strict=True)
    score = sum(
        _SAME + _upper_agreement((extent.start, extent.end), column, above)
        for extent, column in pairs
        if isinstance(column, ReportColumn) and any(column.heading)
    )
    return score - sum(column is None for column in layout.columns) * _SAME


def _join_underscored(line: str) -> str:
    """Return the line with enclosed words joined: `_Cap Fct__` has the extent of its column."""
    return _ENCLOSED.sub(lambda match: match[0].replace(" ", "\0"), line)


def _last_heading_lines(table: ReportTable) -> list[tuple[tuple[str, ...], ReportColumn | str]]:
    """Return the last heading line of each column with the column, in order; times are first."""
    headings: list[tuple[tuple[str, ...], ReportColumn | str]] = [(TIMES, "")] if table.time else []
    for column in table.columns:
        text = " ".join(column.heading[-1].strip("_").split()) if column.heading else ""
        if text:
            headings.append(((text,), column))
    return headings


def _aligned(
    words: Sequence[tuple[str, int, int]],
    headings: Sequence[tuple[tuple[str, ...], ReportColumn | str]],
    above: Sequence[str],
) -> list[tuple[int, int, int]]:
    """Return the best match of words and headings in order: first word, heading, number of words."""
    rows, columns = len(words), len(headings)
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    step: list[list[tuple[int, int]]] = [[(0, 0)] * (columns + 1) for _ in range(rows + 1)]
    for row in range(rows - 1, -1, -1):
        for column_index in range(columns - 1, -1, -1):
            score, move = best[row + 1][column_index], (1, 0)
            if best[row][column_index + 1] > score:
                score, move = best[row][column_index + 1], (0, 1)
            for text in headings[column_index][0]:
                heading_words = text.split(" ")
                count = len(heading_words)
                line_words = [word for word, _, _ in words[row : row + count]]
                if line_words != heading_words and words[row][0].replace("\0", " ") == text:
                    count, line_words = 1, heading_words
                if line_words == heading_words:
                    extent = (words[row][1], words[row + count - 1][2])
                    candidate_score = (
                        _SAME * count
                        + _upper_agreement(extent, headings[column_index][1], above)
                        + best[row + count][column_index + 1]
                    )
                    if candidate_score >= score:
                        score, move = candidate_score, (count, 1)
            best[row][column_index], step[row][column_index] = score, move
    matched, row, column_index = [], 0, 0
    while row < rows and column_index < columns:
        count, forward = step[row][column_index]
        if count and forward:
            matched.append((row, column_index, count))
        row, column_index = row + count, column_index + forward
    return matched


def _upper_agreement(extent: tuple[int, int], column: ReportColumn | str, above: Sequence[str]) -> float:
    """Return the agreement of a heading's upper lines with the lines above its last one."""
    if isinstance(column, str):
        return 0.0
    score = 0.0
    upper = column.heading[:-1]
    for distance, text in enumerate(reversed(upper), 1):
        if not text.strip() or distance > len(above):
            continue
        text_above = above[-distance][max(0, extent[0] - 1) : extent[1] + 1]
        is_same = all(word in text_above for word in text.replace("_", " ").split())
        score += _ABOVE if is_same else -_OTHER if text_above.strip() else 0
    return score


def _layout(
    table: ReportTable,
    words: Sequence[tuple[str, int, int]],
    headings: Sequence[tuple[tuple[str, ...], ReportColumn | str]],
    matched: Sequence[tuple[int, int, int]],
) -> TableLayout:
    by_word = {row: (heading_index, count) for row, heading_index, count in matched}
    extents: list[ColumnExtent] = []
    columns: list[ReportColumn | str | None] = []
    names: list[str] = []
    row = 0
    while row < len(words):
        heading_index, count = by_word.get(row, (None, 1))
        column = None if heading_index is None else headings[heading_index][1]
        right = column.align == "right" if isinstance(column, ReportColumn) else heading_index is None
        extents.append(ColumnExtent(words[row][1], words[row + count - 1][2], right))
        columns.append(column)
        names.append(" ".join(word.replace("\0", " ") for word, _, _ in words[row : row + count]))
        row += count
    _add_headless(table, extents, columns, names)
    return TableLayout(table, tuple(extents), tuple(columns), tuple(names))


def _add_headless(
    table: ReportTable,
    extents: list[ColumnExtent],
    columns: list[ReportColumn | str | None],
    names: list[str],
) -> None:
    """Insert columns without a heading next to their neighbor: a mark after a number, a label before."""
    for index, column in enumerate(table.columns):
        if column.heading and column.heading[-1].strip():
            continue
        neighbor = next((p for p, c in enumerate(columns) if index and c is table.columns[index - 1]), None)
        if neighbor is not None:
            left = table.columns[index - 1].width if not extents[neighbor].right else 0
            start = max(extents[neighbor].end, extents[neighbor].start + left) + 1
            extent = ColumnExtent(start, start + column.width, column.align == "right")
            insert_index = neighbor + 1
        elif index == 0 and columns:
            extent, insert_index = ColumnExtent(0, max(1, min(column.width, extents[0].start - 1)), False), 0
        else:
            continue
        extents.insert(insert_index, extent)
        columns.insert(insert_index, column)
        names.insert(insert_index, column.key)


def layout_without_headings(table: ReportTable) -> TableLayout:
    """Return the layout of a table without headings: adjacent columns with the widths of the definition."""
    extents, start = [], 0
    for column in table.columns:
        extents.append(ColumnExtent(start, start + column.width, column.align == "right"))
        start += column.width + 1
    keys = tuple(column.key for column in table.columns)
    return TableLayout(table, tuple(extents), tuple(table.columns), keys, headless=True)
