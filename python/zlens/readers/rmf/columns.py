"""Mapping from the names and headings of a report to the columns of a raw table."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from msgspec import Struct

from zlens.catalog.rmf_reports import RmfColumn, RmfReport, RmfSection, key
from zlens.readers.rmf.values import Converter, NotAValueError

#: Limits of the caches; reports have about a hundred headings in a dozen tables.
_HEADS = 4_096
_TABLES = 256
_PLACES = 1_000

#: Values from the surrounding rows instead of the text of a cell.
_AROUND = frozenset({"block", "place"})

#: Reports a problem at the current position: kind, detail, key that identifies repeats.
Note = Callable[[str, str, str], None]


class RowMapping(Struct):
    """Mapping of the cells under a set of headings to the columns of a section."""

    section: RmfSection
    heads: tuple[str, ...]
    cells: list[tuple[int, Converter] | None]
    #: Cells whose headings are not in the catalog.
    unknown: list[int]
    #: The cell with the kind of a row; the column for the name of its block.
    kind: int | None
    block: int | None
    #: The cell that is blank in continuation rows, the column that counts them, the columns they inherit.
    continues: int | None
    place: int | None
    above: tuple[int, ...]

    @property
    def width(self) -> int:
        return len(self.heads)


class ColumnLookup:
    """Finds sections and columns in the catalog and caches them."""

    def __init__(self, facts: RmfReport, converters: dict[tuple[str, str], Converter], note: Note) -> None:
        self.facts = facts
        self.converters = converters
        self._note = note
        #: Returns the section at a segment, part and shape of a report, None if it is not in the catalog.
        self.section = lru_cache(_PLACES)(facts.find)
        self._plans: dict[tuple[str, tuple[str, ...]], RowMapping] = {}
        self._heads: dict[tuple[str, str], tuple[RmfColumn, ...]] = {}

    def of(self, section: RmfSection, heading: str) -> tuple[RmfColumn, ...]:
        """Return the columns that a heading provides, none if it is not in the catalog."""
        cache_key = (section.id, heading)
        columns = self._heads.get(cache_key)
        if columns is None:
            columns = section.heads.get(key(heading), ())
            if len(self._heads) < _HEADS:
                self._heads[cache_key] = columns
        return columns

    def unknown(self, section: RmfSection, heading: str) -> None:
        """Report a name or heading that is not in the catalog."""
        if key(heading) not in section.unexplained_keys:
            self._note("section", f"{heading[:80]!r} is not in the catalog; stored as text", heading)

    def converter(self, section: RmfSection, column: RmfColumn) -> Converter:
        cache_key = (section.id, column.name)
        converter = self.converters.get(cache_key)
        if converter is None:
            converter = self.converters[cache_key] = Converter(column, self.facts.not_applicable)
        return converter

    def value(self, converter: Converter, text: str) -> Any:
        """Convert a text to its value; return None and report a problem if it is invalid."""
        try:
            return converter.convert(text)
        except NotAValueError as error:
            column = converter.column
            detail = f"{text[:80]!r} under {column.head!r} is not {error}; not read"
            self._note("section", detail, column.name)
            return None

    def rows(self, section: RmfSection, headings: tuple[str, ...]) -> RowMapping:
        """Return the mapping of rows under these headings, and report the headings that are not read."""
        cache_key = (section.id, headings)
        rows = self._plans.get(cache_key)
        if rows is None:
            cell_of: dict[str, tuple[int, Converter]] = {}
            for number, heading in enumerate(headings):
                for column in self.of(section, heading):
                    if column.take in _AROUND:
                        continue
                    if column.name in cell_of:
                        detail = f"{heading[:80]!r} appears twice; the first is read"
                        self._note("section", detail, heading)
                    else:
                        cell_of[column.name] = (number, self.converter(section, column))
            cells = [cell_of.get(column.name) for column in section.columns]
            unknown = [index for index, heading in enumerate(headings) if not self.of(section, heading)]
            index_by_heading = {key(heading): index for index, heading in reversed(list(enumerate(headings)))}
            index_by_rule = {one.take: at for at, one in enumerate(section.columns) if one.take in _AROUND}
            kinds = section.row_kind
            rows = RowMapping(
                section,
                headings,
                cells,
                unknown,
                kind=index_by_heading.get(key(kinds.head)) if kinds and kinds.head else None,
                block=index_by_rule.get("block"),
                continues=index_by_heading.get(key(section.continues)) if section.continues else None,
                place=index_by_rule.get("place"),
                above=tuple(index for index, column in enumerate(section.columns) if column.above),
            )
            if len(self._plans) < _TABLES:
                self._plans[cache_key] = rows
        for number in rows.unknown:
            self.unknown(section, headings[number])
        return rows
