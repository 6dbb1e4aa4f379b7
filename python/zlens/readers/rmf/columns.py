"""Mapping from the names and heads of a report to the columns of a raw table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from zlens.catalog.rmf_reports import RmfColumn, RmfReport, RmfSection, key
from zlens.readers.rmf.values import Converter, NotAValueError

#: Limits of the caches; reports have about a hundred heads in a dozen tables.
_HEADS = 4_096
_TABLES = 256
_PLACES = 1_000

#: Values taken from the surrounding rows, not from the text of a cell.
_AROUND = frozenset({"block", "place"})

#: Notes a problem at the current position: kind, detail, what identifies repeats.
Note = Callable[[str, str, str], None]


class RowMapping(Struct):
    """How the cells under a set of heads map to the columns of a section."""

    section: RmfSection
    heads: tuple[str, ...]
    cells: list[tuple[int, Converter] | None]
    #: Cells whose heads are not in the catalog.
    unknown: list[int]
    #: The cell with the kind of a row; the column for the name of its block.
    kind: int | None
    block: int | None
    #: The cell left blank in continuation rows; the column that counts those; the columns they inherit.
    continues: int | None
    place: int | None
    above: tuple[int, ...]

    @property
    def width(self) -> int:
        return len(self.heads)


class ColumnLookup:
    """Looks up sections and columns in the catalog and caches them."""

    def __init__(self, facts: RmfReport, converters: dict[tuple[str, str], Converter], note: Note) -> None:
        self.facts = facts
        self.converters = converters
        self._note = note
        self._sections: dict[tuple[str, str, str], RmfSection | None] = {}
        self._plans: dict[tuple[str, tuple[str, ...]], RowMapping] = {}
        self._heads: dict[tuple[str, str], tuple[RmfColumn, ...]] = {}

    def section(self, segment: str, part: str, shape: str) -> RmfSection | None:
        """Return the section at this place of a report, None if it is not in the catalog."""
        place = (segment, part, shape)
        if place not in self._sections:
            if len(self._sections) > _PLACES:
                self._sections.clear()
            self._sections[place] = self.facts.find(*place)
        return self._sections[place]

    def of(self, section: RmfSection, head: str) -> tuple[RmfColumn, ...]:
        """Return the columns that a head feeds, none if it is not in the catalog."""
        place = (section.id, head)
        columns = self._heads.get(place)
        if columns is None:
            columns = section.heads.get(key(head), ())
            if len(self._heads) < _HEADS:
                self._heads[place] = columns
        return columns

    def unknown(self, section: RmfSection, head: str) -> None:
        """Note a name or head that is not in the catalog."""
        if key(head) not in section.unexplained_keys:
            self._note("section", f"{head[:80]!r} is not in the catalog; kept as text", head)

    def converter(self, section: RmfSection, column: RmfColumn) -> Converter:
        place = (section.id, column.name)
        converter = self.converters.get(place)
        if converter is None:
            converter = self.converters[place] = Converter(column, self.facts.not_applicable)
        return converter

    def value(self, converter: Converter, text: str) -> Any:
        """Convert a text to its value; return None and note a problem if it has none."""
        try:
            return converter.convert(text)
        except NotAValueError as error:
            column = converter.column
            detail = f"{text[:80]!r} under {column.head!r} is not {error}; not read"
            self._note("section", detail, column.name)
            return None

    def rows(self, section: RmfSection, heads: tuple[str, ...]) -> RowMapping:
        """Return how to read rows under these heads, and note the heads that are not read."""
        place = (section.id, heads)
        rows = self._plans.get(place)
        if rows is None:
            cell_of: dict[str, tuple[int, Converter]] = {}
            for number, head in enumerate(heads):
                for column in self.of(section, head):
                    if column.take in _AROUND:
                        continue
                    if column.name in cell_of:
                        detail = f"{head[:80]!r} appears twice; the first is read"
                        self._note("section", detail, head)
                    else:
                        cell_of[column.name] = (number, self.converter(section, column))
            cells = [cell_of.get(column.name) for column in section.columns]
            unknown = [index for index, head in enumerate(heads) if not self.of(section, head)]
            places = {key(head): index for index, head in reversed(list(enumerate(heads)))}
            takes = {
                column.take: index for index, column in enumerate(section.columns) if column.take in _AROUND
            }
            kinds = section.row_kind
            rows = RowMapping(
                section,
                heads,
                cells,
                unknown,
                kind=places.get(key(kinds.head)) if kinds and kinds.head else None,
                block=takes.get("block"),
                continues=places.get(key(section.continues)) if section.continues else None,
                place=takes.get("place"),
                above=tuple(index for index, column in enumerate(section.columns) if column.above),
            )
            if len(self._plans) < _TABLES:
                self._plans[place] = rows
        for number in rows.unknown:
            self.unknown(section, heads[number])
        return rows
