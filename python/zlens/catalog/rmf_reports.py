"""The XML form of RMF reports: sections and columns, from the catalog's `rmf/`."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from msgspec import Struct, field

from zlens.catalog.raw_columns import RawColumn
from zlens.errors import CatalogError
from zlens.schema import document
from zlens.schema.facts import FACTS

TYPES = ("text", "int", "float", "bool", "time", "duration")
#: "rest": everything that no other section takes, as text.
SHAPES = ("interval", "variables", "table", "rest")
#: The elements that may contain a report: of the Postprocessor, of Monitor III.
ELEMENTS = ("postprocessor", "report")
STATUS = ("verified", "carried", "derived", "unverified")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_TAKE = re.compile(r"|brackets|block|place|headed|hexadecimal|letter [1-9]|equals \S.*")


class RmfColumn(Struct, frozen=True):
    """A column of a raw table, and the name or heading that locates it."""

    name: str
    type: str
    text: str
    status: str
    unit: str = ""
    head: str = ""
    take: str = ""
    rename: dict[str, str] = field(default_factory=dict)
    not_applicable: tuple[str, ...] = ()
    #: Applies to the rows that continue its own, too.
    above: bool = False

    @property
    def raw(self) -> RawColumn:
        """The column of the raw table."""
        return RawColumn(self.name, "float" if self.type == "duration" else self.type, self.unit, self.text)


class RmfSection(Struct, frozen=True):
    """One part of a report: a list of named values or a table."""

    id: str
    shape: str
    segment: str
    part: str
    columns: tuple[RmfColumn, ...]
    #: The columns by the key of their heading.
    heads: dict[str, tuple[RmfColumn, ...]]
    #: The kind of a table's rows: by type SUM, by the first cell, otherwise. Empty: rows are of one kind.
    row_kind_sum: str = ""
    row_kind_first: dict[str, str] = field(default_factory=dict)
    row_kind_other: str = ""
    #: Or by the last letter of the cell under a heading.
    row_kind_head: str = ""
    row_kind_last: dict[str, str] = field(default_factory=dict)
    #: Rows are in blocks; the first row of one begins with this mark and names it.
    block_mark: str = ""
    #: A row without text under this heading continues the row above.
    continues: str = ""
    #: Names and headings that RMF writes and no public page explains.
    unexplained: frozenset[str] = frozenset()
    #: A row may lack cells without loss if only this many leading cells have content.
    short_rows: int = 0
    #: Places of the columns that identify a row; empty: a row may come again.
    key: tuple[int, ...] = ()

    @property
    def has_row_kind(self) -> bool:
        return bool(self.row_kind_other)

    @property
    def label(self) -> str:
        return ": ".join(filter(None, (self.segment, self.part)))


class RmfTable(Struct, frozen=True):
    """A raw table: the common columns, the row kind if there are several, and those of its sections.

    printed  only printed reports have it
    """

    name: str
    text: str
    sections: tuple[str, ...]
    columns: tuple[RmfColumn, ...]
    printed: bool = False


class RmfReport(Struct, frozen=True):
    """All facts about one report."""

    report: str
    element: str
    title: str
    source: str
    not_applicable: tuple[str, ...]
    common: tuple[RmfColumn, ...]
    tables: tuple[RmfTable, ...]
    sections: dict[str, RmfSection]
    places: dict[tuple[str, str, str], RmfSection]

    @property
    def rest(self) -> RmfSection:
        """The section that takes what no other does."""
        return next(section for section in self.sections.values() if section.shape == "rest")

    def find(self, segment: str, part: str, shape: str) -> RmfSection | None:
        """The section for a part of a segment, by the printed names."""
        return self.places.get((key(segment), key(part), shape))


_ROW_KIND = RmfColumn("row_kind", "text", "what the row is", "derived")


def key(text: str) -> str:
    """A name or heading for comparison: blanks and case are ignored."""
    return "".join(text.split()).casefold()


@cache
def report(name: str) -> RmfReport:
    """The report of a catalog file, checked."""
    path = FACTS / "rmf" / f"{name}.toml"
    return compile_report(document.load_unchecked(path), str(path))


def compile_report(facts: dict[str, Any], file: str) -> RmfReport:
    """A report from the facts of a TOML file; every fault of the file is a CatalogError."""

    def fault(problem: str) -> CatalogError:
        return CatalogError(problem, file=file)

    def columns(rows: list[dict[str, Any]], where: str, *, headed: bool) -> tuple[RmfColumn, ...]:
        columns = []
        for row in rows:
            try:
                values = {**row, "not_applicable": tuple(row.get("not_applicable", ()))}
                column = RmfColumn(**values)
            except TypeError as error:
                raise fault(f"a column of {where}: {error}") from None
            checks: list[tuple[bool, str]] = [
                (_NAME.fullmatch(column.name) is not None, "its name is not a lower-case name"),
                (column.type in TYPES, f"its type is not one of {', '.join(TYPES)}"),
                (column.status in STATUS, f"its status is not one of {', '.join(STATUS)}"),
                (bool(column.text), "it has no text"),
                (bool(column.head) == headed, "its head is missing or not allowed"),
                (_TAKE.fullmatch(column.take) is not None, f"it cannot take {column.take!r}"),
            ]
            for valid, problem in checks:
                if not valid:
                    raise fault(f"column {column.name} of {where}: {problem}")
            columns.append(column)
        if len({column.name for column in columns}) != len(columns):
            raise fault(f"two columns of {where} have the same name")
        return tuple(columns)

    try:
        common = columns(facts["common"], "common", headed=False)
        sections: dict[str, RmfSection] = {}
        for row in facts["section"]:
            kinds = row.get("row_kind", {})
            section_columns = columns(row["column"], f"section {row['id']}", headed=True)
            own = [column.name for column in section_columns]
            if unknown := set(row.get("key", ())) - set(own):
                raise fault(f"section {row['id']}: its key has {unknown.pop()}, which is no column")
            section = RmfSection(
                id=row["id"],
                shape=row["shape"],
                segment=row.get("segment", ""),
                part=row.get("part", ""),
                columns=section_columns,
                heads={
                    key(c.head): tuple(other for other in section_columns if key(other.head) == key(c.head))
                    for c in section_columns
                },
                row_kind_sum=kinds.get("sum", ""),
                row_kind_first=kinds.get("first", {}),
                row_kind_other=kinds.get("other", ""),
                row_kind_head=key(kinds.get("head", "")),
                row_kind_last=kinds.get("last", {}),
                block_mark=row.get("block_mark", ""),
                continues=key(row.get("continues", "")),
                unexplained=frozenset(key(name) for name in row.get("unexplained", ())),
                short_rows=row.get("short_rows", 0),
                key=tuple(own.index(name) for name in row.get("key", ())),
            )
            if section.shape not in SHAPES or section.id in sections:
                raise fault(f"section {section.id} has a wrong shape or is defined twice")
            sections[section.id] = section
        tables = []
        for row in facts["table"]:
            names = tuple(row["sections"])
            of_sections = [sections[name] for name in names]
            kind = (_ROW_KIND,) if of_sections[0].has_row_kind else ()
            all_columns = common + kind + tuple(c for section in of_sections for c in section.columns)
            if len({column.name for column in all_columns}) != len(all_columns):
                raise fault(f"two columns of table {row['name']} have the same name")
            tables.append(RmfTable(row["name"], row["text"], names, all_columns, row.get("printed", False)))
        if [section.shape for section in sections.values()].count("rest") != 1:
            raise fault("there must be exactly one section for the rest")
        if facts["element"] not in ELEMENTS:
            raise fault(f"its element is not one of {', '.join(ELEMENTS)}")
        unplaced = set(sections) - {name for table in tables for name in table.sections}
        if unplaced:
            raise fault(f"section {min(unplaced)} belongs to no table")
        return RmfReport(
            report=facts["report"],
            element=facts["element"],
            title=facts["title"],
            source=facts["source"],
            not_applicable=tuple(facts["not_applicable"]),
            common=common,
            tables=tuple(tables),
            sections=sections,
            places={
                (key(section.segment), key(section.part), section.shape): section
                for section in sections.values()
            },
        )
    except KeyError as error:
        raise fault(f"{error.args[0]} is missing") from None
