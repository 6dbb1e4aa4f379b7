"""Which columns of a raw table the names and heads of a report become."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from zlens.catalog.rmf_reports import Report, ReportColumn, Section, key
from zlens.readers.rmf.values import Converter, NotAValueError

#: Heads and tables that are remembered; reports have about a hundred heads in a dozen tables.
_HEADS = 4_096
_TABLES = 256
_PLACES = 1_000

#: What is taken of the rows around a cell and not of its text.
_AROUND = frozenset({"block", "place"})

#: Notes a problem of the place that is being read: kind, detail, what recurs.
Note = Callable[[str, str, str], None]


@dataclass(slots=True)
class Rows:
    """How the cells of a table with certain heads become the columns of its section."""

    section: Section
    heads: tuple[str, ...]
    cells: list[tuple[int, Converter] | None]
    #: Cells whose heads the catalog does not know.
    unknown: list[int]
    #: The cell that says what a row is; the column that has the name of its block.
    kind: int | None
    block: int | None
    #: The cell that is blank where a row continues another; the column that counts such rows; what holds on.
    continues: int | None
    place: int | None
    above: tuple[int, ...]

    @property
    def width(self) -> int:
        return len(self.heads)


class Columns:
    """Finds sections and columns in the catalog, each once."""

    def __init__(self, facts: Report, converters: dict[tuple[str, str], Converter], note: Note) -> None:
        self.facts = facts
        self.converters = converters
        self._note = note
        self._sections: dict[tuple[str, str, str], Section | None] = {}
        self._plans: dict[tuple[str, tuple[str, ...]], Rows] = {}
        self._heads: dict[tuple[str, str], tuple[ReportColumn, ...]] = {}

    def section(self, segment: str, part: str, shape: str) -> Section | None:
        """The section of this place of a report; None if the catalog does not know it."""
        place = (segment, part, shape)
        if place not in self._sections:
            if len(self._sections) > _PLACES:
                self._sections.clear()
            self._sections[place] = self.facts.find(*place)
        return self._sections[place]

    def of(self, section: Section, head: str) -> tuple[ReportColumn, ...]:
        """The columns a head feeds; none if the catalog does not know it."""
        place = (section.id, head)
        columns = self._heads.get(place)
        if columns is None:
            columns = section.heads.get(key(head), ())
            if len(self._heads) < _HEADS:
                self._heads[place] = columns
        return columns

    def unknown(self, section: Section, head: str) -> None:
        """Note a name or head that the catalog does not know."""
        if key(head) not in section.unexplained:
            self._note("section", f"{head[:80]!r} is not in the catalog; kept as text", head)

    def converter(self, section: Section, column: ReportColumn) -> Converter:
        place = (section.id, column.name)
        converter = self.converters.get(place)
        if converter is None:
            converter = self.converters[place] = Converter(column, self.facts.not_applicable)
        return converter

    def value(self, converter: Converter, text: str) -> Any:
        """The value of a text; None, and a note, if it is none."""
        try:
            return converter.convert(text)
        except NotAValueError as error:
            column = converter.column
            said = f"{text[:80]!r} under {column.head!r} is not {error}; not read"
            self._note("section", said, column.name)
            return None

    def rows(self, section: Section, heads: tuple[str, ...]) -> Rows:
        """How rows under these heads are read; notes what is not."""
        place = (section.id, heads)
        rows = self._plans.get(place)
        if rows is None:
            found: dict[str, tuple[int, Converter]] = {}
            for number, head in enumerate(heads):
                for column in self.of(section, head):
                    if column.take in _AROUND:
                        continue
                    if column.name in found:
                        said = f"{head[:80]!r} stands twice; the first is read"
                        self._note("section", said, head)
                    else:
                        found[column.name] = (number, self.converter(section, column))
            cells = [found.get(column.name) for column in section.columns]
            unknown = [n for n, head in enumerate(heads) if not self.of(section, head)]
            places = {key(head): n for n, head in reversed(list(enumerate(heads)))}
            takes = {column.take: n for n, column in enumerate(section.columns) if column.take in _AROUND}
            rows = Rows(
                section,
                heads,
                cells,
                unknown,
                kind=places.get(section.row_kind_head) if section.row_kind_head else None,
                block=takes.get("block"),
                continues=places.get(section.continues) if section.continues else None,
                place=takes.get("place"),
                above=tuple(n for n, column in enumerate(section.columns) if column.above),
            )
            if len(self._plans) < _TABLES:
                self._plans[place] = rows
        for number in rows.unknown:
            self.unknown(section, heads[number])
        return rows
