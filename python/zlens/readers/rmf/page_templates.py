"""Page templates: once the structure of a page is known, one regular expression extracts its numbers.

RMF prints the same pages for every interval: between two of them only numbers differ. The parser reads the
first page of a form line by line and notes where each number stood. From then on, a page of that form is one
match of a regular expression, with every number in the same columns. A page with any other text is read line
by line.
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

#: Where a text stands: the line of the page from 0, start and end.
Span = tuple[int, int, int]
#: Forms of pages that are kept, and the lines that a page of one has at most.
_MOST, MOST_LINES = 2_000, 400
#: What numbers, times, dates and the dashes in their place consist of.
_NUMBER = "0-9.,:/*+-"
_WORD = re.compile(r"\S+")
_NUMERIC = re.compile(rf"[{_NUMBER}]+")
#: A bar of a chart is as long as the number before it is large.
_BAR = re.compile(r" *>+\Z")
_PAGE = re.compile(r"\bPAGE +(\d+)")
_PLAIN = re.compile(r"[ -~\r\n]*")
#: Values that are kept of each kind.
_KEPT = 100_000
_CONVERTED = ("int", "float", "duration")


class ValueCache(dict[str, Any]):
    """Values by their texts. Raises NotAValueError for a text that is no single word, or no number."""

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
    """Where a value came from. converter: None of a value that is the same on all pages of a form."""

    span: Span | None
    converter: Converter | None
    value: Any


def origin(converter: Converter, span: Span, value: Any) -> ValueOrigin:
    """The origin of a value: numbers differ from page to page, texts do not."""
    number = converter.column.type in _CONVERTED and not converter.column.take and span[2] > span[1]
    return ValueOrigin(span, converter if number else None, value)


class ParsedPage(Struct):
    """What the parser noted of a page.

    rows    section, kind, line, origins of the values, and the columns that repeat the row above
    values  section, column, origin
    head    names and places of what the header says
    """

    rows: list[tuple[str, str | None, int, list[ValueOrigin], list[int]]] = field(default_factory=list)
    values: list[tuple[str, str, ValueOrigin]] = field(default_factory=list)
    head: list[tuple[str, Span]] = field(default_factory=list)
    #: Lines that may end in a bar.
    charts: set[int] = field(default_factory=set)
    #: Characters before its first line below the header.
    begin: int = 0
    useless: bool = False


class _Row(Struct):
    section: str
    kind: str | None
    anchor: int
    take: Callable[[Sequence[Any]], tuple[Any, ...]]
    #: Columns that repeat the row above where they have no value.
    inherits: Sequence[int]


class PageTemplate:
    """A form of page. Fields are numbered as the groups of its regular expression, from 0."""

    def __init__(
        self,
        lines: Sequence[tuple[str, str]],
        lesson: ParsedPage,
        label: str,
        head: PageHeader,
        known: dict[tuple[str, ...], ValueCache],
    ) -> None:
        self._known = known
        self.label = label
        self.begin = lesson.begin
        self.printed = head
        self.lines = len(lines)
        self.next: PageTemplate | None = None
        self._groups: dict[Span, int] = {}
        self._anchors: dict[int, int] = {}
        self._form = self._compiled(lines, lesson)
        self._head = [(name, self._groups[span]) for name, span in lesson.head if span in self._groups]
        own = dict(self._head)
        self._place_of = [(text, own.get(name)) for name, text in zip(PLACE, head.report_key, strict=True)]
        self._fields: dict[tuple[int, int], int] = {}
        self._plan: list[tuple[int, ValueCache]] = []
        self._constants: list[Any] = []
        placed = [[self._place(each) for each in row] for _, _, _, row, _ in lesson.rows]
        named = [self._place(each) for _, _, each in lesson.values]
        total = len(self._fields)

        def index(place: int) -> int:
            return place if place >= 0 else total - place - 1

        self._rows = [
            _Row(
                section,
                kind,
                self._anchors[line],
                _value_getter([index(place) for place in places]),
                inherits,
            )
            for (section, kind, line, _, inherits), places in zip(lesson.rows, placed, strict=True)
        ]
        self._values = [
            (section, name, index(place))
            for (section, name, _), place in zip(lesson.values, named, strict=True)
        ]

    def _compiled(self, lines: Sequence[tuple[str, str]], lesson: ParsedPage) -> re.Pattern[str]:
        """The regular expression of the page: its text, with groups for numbers and for lines with rows."""
        origins = [each for _, _, _, row, _ in lesson.rows for each in row] + [
            each for *_, each in lesson.values
        ]
        fixed = {each.span for each in origins if each.converter is None}
        spans = {each.span for each in origins} - fixed | {span for _, span in lesson.head}
        rows = {line for _, _, line, _, _ in lesson.rows}
        pattern, count = [], 0
        for number, (line, end) in enumerate(lines):
            if number in rows:
                self._anchors[number] = count
                pattern.append("()")
                count += 1
            page, chart, at = _PAGE.search(line), number in lesson.charts, 0
            for found in _WORD.finditer(line):
                span = (number, *found.span())
                width, last = found.end() - at, found.end() == len(line)
                if span in spans and _NUMERIC.fullmatch(found[0]):
                    # The columns since the word before: a longer number ends where this one does.
                    self._groups[span] = count
                    pattern.append(f"([ {_NUMBER}]{{{width}}})")
                    count += 1
                elif page is not None and found.start() == page.start(1):
                    pattern.append(f"[ 0-9]{{{width}}}")
                elif not (chart and last and set(found[0]) == {">"}):
                    pattern.append(re.escape(line[at : found.end()]))
                at = found.end()
            pattern.append(f"{' *>*' if chart else ''}{re.escape(end)}")
        return re.compile("".join(pattern))

    def _place(self, each: ValueOrigin) -> int:
        """The place of a value: of a field from 0, of a constant from -1 down."""
        if each.converter is not None and each.span in self._groups:
            group = self._groups[each.span]
            column = each.converter.column
            # Numbers of a kind that mean the same are kept together.
            kind = (column.type, *sorted(each.converter.none))
            if kind not in self._known:
                self._known[kind] = ValueCache(each.converter)
            known = self._known[kind]
            place = self._fields.setdefault((group, id(known)), len(self._fields))
            if place == len(self._plan):
                self._plan.append((group, known))
            return place
        self._constants.append(each.value)
        return -len(self._constants)

    def match(self, text: str, at: int) -> re.Match[str] | None:
        """The page of this form that begins at a position."""
        return self._form.match(text, at)

    def place(self, found: re.Match[str]) -> tuple[str, ...]:
        """What tells the report of a page apart."""
        return tuple(text if group is None else found[group + 1].strip() for text, group in self._place_of)

    def head(self, found: re.Match[str]) -> dict[str, str]:
        """What differs in the header of a page."""
        return {name: found[group + 1].strip() for name, group in self._head}

    def add_values(self, found: re.Match[str], report: ReportInterval, base: int) -> bool:
        """Add what a page has to its report; False, with nothing added, if a number is none."""
        groups = found.groups()
        try:
            values = [known[groups[group]] for group, known in self._plan]
        except NotAValueError:
            return False
        values += self._constants
        above: tuple[Any, ...] = ()
        rows = report.rows
        for row in self._rows:
            taken = row.take(values)
            for column in row.inherits:
                if taken[column] is None:
                    taken = (*taken[:column], above[column], *taken[column + 1 :])
            rows.setdefault(row.section, []).append((base + found.start(row.anchor + 1), row.kind, taken))
            above = taken
        for section, name, place in self._values:
            report.variables.setdefault(section, {})[name] = values[place]
        report.row_count += len(self._rows)
        counts = report.sections.setdefault(self.label, SectionCount(known=True))
        counts.count += 1
        counts.bytes += found.end() - found.start() - self.begin
        return True


class PageTemplates:
    """The forms of one file by the first line of their pages."""

    def __init__(self) -> None:
        self._known: dict[str, list[PageTemplate]] = {}
        self._values: dict[tuple[str, ...], ValueCache] = {}
        self._count = 0
        self._last: PageTemplate | None = None

    def find(self, text: str, at: int, first: str) -> tuple[PageTemplate, re.Match[str]] | None:
        """The form of a page that begins at a position with this line."""
        last = self._last
        if last is not None and last.next is not None and (found := last.next.match(text, at)):
            self._last = last.next
            return last.next, found
        for form in self._known.get(first, ()):
            found = form.match(text, at)
            if found is not None:
                self._follow(form)
                return form, found
        self._last = None
        return None

    def _follow(self, form: PageTemplate) -> None:
        if self._last is not None:
            # Pages follow each other as they did in the interval before.
            self._last.next = form
        self._last = form

    def add_template(self, page: str, lesson: ParsedPage, label: str, head: PageHeader) -> None:
        """Keep the form of a page."""
        lines = page.splitlines(keepends=True)
        if lesson.useless or self._count >= _MOST or len(lines) > MOST_LINES or not _PLAIN.fullmatch(page):
            return
        texts = [(line.rstrip(), line[len(line.rstrip()) :]) for line in lines]
        form = PageTemplate(texts, lesson, label, head, self._values)
        self._known.setdefault(texts[0][0], []).insert(0, form)
        self._count += 1
        self._follow(form)


def _value_getter(places: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    if len(places) == 1:
        (only,) = places
        return lambda values: (values[only],)
    return itemgetter(*places)
