"""Page templates: once the structure of a page is known, one regular expression extracts its numbers.

RMF prints the same pages for every interval; only numbers differ. The parser reads the first page of a
structure line by line and records the position of each number. Each later page of this structure is one match
of a regular expression, with every number in the same columns. A page with any other text is read line by
line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from msgspec import Struct, field

from zlens.readers.rmf.interval import ReportInterval, SectionCount
from zlens.readers.rmf.page import PLACE, PageHeader
from zlens.readers.rmf.values import Converter, NotAValueError

#: The position of a text: the line of the page from 0, start and end.
Span = tuple[int, int, int]
#: Maximum number of templates, and of lines in a page with a template.
_MOST, MOST_LINES = 2_000, 400
#: Characters of numbers, times, dates and the dashes that replace them.
_NUMBER = "0-9.,:/*+-"
_WORD = re.compile(r"\S+")
_NUMERIC = re.compile(rf"[{_NUMBER}]+")
#: A bar of a chart has a length that depends on the number before it.
_BAR = re.compile(r" *>+\Z")
_PAGE = re.compile(r"\bPAGE +(\d+)")
_PLAIN = re.compile(r"[ -~\r\n]*")
#: Maximum number of cached values of each kind.
_KEPT = 100_000
_CONVERTED = ("int", "float", "duration")


class ValueCache(dict[str, Any]):
    """Cache of values by text. Raises NotAValueError for a text that is not a single word or not a number."""

    def __init__(self, converter: Converter) -> None:
        self._convert = converter.convert
        self._decimal = converter.column.type == "float"
        self._none = converter.none

    def __missing__(self, cell: str) -> Any:
        text = cell.strip()
        if not text or " " in text:
            raise NotAValueError("a word")
        if self._decimal and text.replace(".", "", 1).isdecimal() and text not in self._none:
            value = float(text)
        else:
            value = self._convert(text.replace(",", ""))
        if len(self) < _KEPT:
            self[cell] = value
        return value


class ValueOrigin(Struct):
    """The origin of a value. converter: None for a value that is the same on all pages of a template."""

    span: Span | None
    converter: Converter | None
    value: Any


def origin(converter: Converter, span: Span, value: Any) -> ValueOrigin:
    """Return the origin of a value: numbers differ from page to page, texts do not."""
    number = converter.column.type in _CONVERTED and not converter.column.take and span[2] > span[1]
    return ValueOrigin(span, converter if number else None, value)


class ParsedPage(Struct):
    """The content of a page for its template.

    rows    section, kind, line, origins of the values, and the columns that repeat the row above
    values  section, column, origin
    head    names and spans of the header texts
    """

    rows: list[tuple[str, str | None, int, list[ValueOrigin], list[int]]] = field(default_factory=list)
    values: list[tuple[str, str, ValueOrigin]] = field(default_factory=list)
    head: list[tuple[str, Span]] = field(default_factory=list)
    #: Lines that may end in a bar.
    charts: set[int] = field(default_factory=set)
    #: Number of characters before its first line below the header.
    begin: int = 0
    useless: bool = False


class _Row(Struct):
    section: str
    kind: str | None
    anchor: int
    take: Callable[[Sequence[Any]], tuple[Any, ...]]
    #: Columns that repeat the row above if they have no value.
    inherits: Sequence[int]


class PageTemplate:
    """The template of a page. Fields are numbered like the groups of its regular expression, from 0."""

    def __init__(
        self,
        lines: Sequence[tuple[str, str]],
        parsed: ParsedPage,
        label: str,
        header: PageHeader,
        caches: dict[tuple[str, ...], ValueCache],
    ) -> None:
        self._known = caches
        self.label = label
        self.begin = parsed.begin
        self.printed = header
        self.lines = len(lines)
        self.next: PageTemplate | None = None
        self._groups: dict[Span, int] = {}
        self._anchors: dict[int, int] = {}
        self._form = self._compile(lines, parsed)
        self._head = [(name, self._groups[span]) for name, span in parsed.head if span in self._groups]
        groups, key = dict(self._head), header.report_key
        self._key_parts = [(text, groups.get(name)) for name, text in zip(PLACE, key, strict=True)]
        self._fields: dict[tuple[int, int], int] = {}
        self._plan: list[tuple[int, ValueCache]] = []
        self._constants: list[Any] = []
        row_indexes = [[self._field_index(each) for each in row] for _, _, _, row, _ in parsed.rows]
        value_indexes = [self._field_index(each) for _, _, each in parsed.values]
        total = len(self._fields)

        def index(field: int) -> int:
            return field if field >= 0 else total - field - 1

        self._rows = [
            _Row(section, kind, self._anchors[line], _value_getter([*map(index, indexes)]), inherits)
            for (section, kind, line, _, inherits), indexes in zip(parsed.rows, row_indexes, strict=True)
        ]
        self._values = [
            (section, name, index(field))
            for (section, name, _), field in zip(parsed.values, value_indexes, strict=True)
        ]

    def _compile(self, lines: Sequence[tuple[str, str]], parsed: ParsedPage) -> re.Pattern[str]:
        """Return the regular expression of the page, with groups for numbers and for lines with rows."""
        origins = [each for _, _, _, row, _ in parsed.rows for each in row]
        origins += [each for *_, each in parsed.values]
        fixed = {each.span for each in origins if each.converter is None}
        spans = {each.span for each in origins} - fixed | {span for _, span in parsed.head}
        rows = {line for _, _, line, _, _ in parsed.rows}
        pattern, count = [], 0
        for number, (line, end) in enumerate(lines):
            if number in rows:
                self._anchors[number] = count
                pattern.append("()")
                count += 1
            page, chart, position = _PAGE.search(line), number in parsed.charts, 0
            for word in _WORD.finditer(line):
                span = (number, *word.span())
                width, last = word.end() - position, word.end() == len(line)
                if span in spans and _NUMERIC.fullmatch(word[0]):
                    # The columns since the previous word, because a longer number ends at the same column.
                    self._groups[span] = count
                    pattern.append(f"([ {_NUMBER}]{{{width}}})")
                    count += 1
                elif page is not None and word.start() == page.start(1):
                    pattern.append(f"[ 0-9]{{{width}}}")
                elif not (chart and last and set(word[0]) == {">"}):
                    pattern.append(re.escape(line[position : word.end()]))
                position = word.end()
            pattern.append(f"{' *>*' if chart else ''}{re.escape(end)}")
        return re.compile("".join(pattern))

    def _field_index(self, value_origin: ValueOrigin) -> int:
        """Return the index of a value: of a field from 0, of a constant from -1 down."""
        if value_origin.converter is not None and value_origin.span in self._groups:
            group = self._groups[value_origin.span]
            column = value_origin.converter.column
            # Numbers of a kind with the same meaning share a cache.
            kind = (column.type, *sorted(value_origin.converter.none))
            if kind not in self._known:
                self._known[kind] = ValueCache(value_origin.converter)
            cache = self._known[kind]
            field = self._fields.setdefault((group, id(cache)), len(self._fields))
            if field == len(self._plan):
                self._plan.append((group, cache))
            return field
        self._constants.append(value_origin.value)
        return -len(self._constants)

    def match(self, text: str, position: int) -> re.Match[str] | None:
        """Match the page at a position; None if it does not have this template."""
        return self._form.match(text, position)

    def place(self, match: re.Match[str]) -> tuple[str, ...]:
        """Return the header texts that identify the report of a page."""
        return tuple(text if group is None else match[group + 1].strip() for text, group in self._key_parts)

    def head(self, match: re.Match[str]) -> dict[str, str]:
        """Return the header texts that differ between pages."""
        return {name: match[group + 1].strip() for name, group in self._head}

    def add_values(self, match: re.Match[str], report: ReportInterval, base: int) -> bool:
        """Add the values of a page to its report; return False, and add nothing, if a number is invalid."""
        groups = match.groups()
        try:
            values = [cache[groups[group]] for group, cache in self._plan]
        except NotAValueError:
            return False
        values += self._constants
        above: tuple[Any, ...] = ()
        rows = report.rows
        for row in self._rows:
            cells = row.take(values)
            for column in row.inherits:
                if cells[column] is None:
                    cells = (*cells[:column], above[column], *cells[column + 1 :])
            rows.setdefault(row.section, []).append((base + match.start(row.anchor + 1), row.kind, cells))
            above = cells
        for section, name, index in self._values:
            report.variables.setdefault(section, {})[name] = values[index]
        report.row_count += len(self._rows)
        counts = report.sections.setdefault(self.label, SectionCount(known=True))
        counts.count += 1
        counts.bytes += match.end() - match.start() - self.begin
        return True


class PageTemplates:
    """The templates of one file by the first line of their pages."""

    def __init__(self) -> None:
        self._known: dict[str, list[PageTemplate]] = {}
        self._values: dict[tuple[str, ...], ValueCache] = {}
        self._count = 0
        self._last: PageTemplate | None = None

    def find(self, text: str, position: int, first_line: str) -> tuple[PageTemplate, re.Match[str]] | None:
        """Return the template of the page at a position, and the match."""
        last = self._last
        if last is not None and last.next is not None and (match := last.next.match(text, position)):
            self._last = last.next
            return last.next, match
        for template in self._known.get(first_line, ()):
            if match := template.match(text, position):
                self._follow(template)
                return template, match
        self._last = None
        return None

    def _follow(self, template: PageTemplate) -> None:
        if self._last is not None:
            # Pages have the same sequence as in the previous interval.
            self._last.next = template
        self._last = template

    def add_template(self, page: str, parsed: ParsedPage, label: str, header: PageHeader) -> None:
        """Add the template of a page."""
        lines = page.splitlines(keepends=True)
        if parsed.useless or self._count >= _MOST or len(lines) > MOST_LINES or not _PLAIN.fullmatch(page):
            return
        texts = [(line.rstrip(), line[len(line.rstrip()) :]) for line in lines]
        template = PageTemplate(texts, parsed, label, header, self._values)
        self._known.setdefault(texts[0][0], []).insert(0, template)
        self._count += 1
        self._follow(template)


def _value_getter(indexes: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    if len(indexes) == 1:
        (only,) = indexes
        return lambda values: (values[only],)
    return itemgetter(*indexes)
