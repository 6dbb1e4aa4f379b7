"""XML format of RMF reports: sections and columns, from the catalog's `rmf/`."""

from functools import cache, cached_property
from typing import Annotated, Literal, get_args

from msgspec import Meta, field
from msgspec.structs import replace

from zlens.catalog.raw_columns import RawColumn
from zlens.schema import document, structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactTable, doc
from zlens.schema.validators import DocumentErrors

Status = Literal["verified", "carried", "derived", "unverified"]
#: Elements that may contain a report: of the Postprocessor, of Monitor III.
_Element = Literal["postprocessor", "report"]
ELEMENTS: tuple[str, ...] = get_args(_Element)


def key(text: str) -> str:
    """Return a name or heading for comparison: without blanks, in lower case."""
    return "".join(text.split()).casefold()


class RmfColumn(FactTable, frozen=True):
    """A column of a raw table, and the name or heading that locates it."""

    name: Annotated[str, Meta(pattern="^[a-z][a-z0-9_]*$", title="a lower-case name", description="its name")]
    type: Annotated[Literal["text", "int", "float", "bool", "time", "duration"], doc("its type")]
    text: Annotated[str, Meta(min_length=1, description="description")]
    status: Annotated[Status, doc("how well it is known")]
    unit: Annotated[str, doc("its unit")] = ""
    head: Annotated[str, doc("its name or heading in the report")] = ""
    take: Annotated[
        str,
        Meta(
            pattern=r"^(brackets|block|place|headed|hexadecimal|letter [1-9]|equals \S.*)$",
            title="brackets, block, place, headed, hexadecimal, letter N or equals TEXT",
            description="how the value follows from the text",
        ),
    ] = ""
    rename: Annotated[dict[str, str], doc("values by other texts for them")] = {}
    not_applicable: Annotated[tuple[str, ...], doc("texts that are not values")] = ()
    above: Annotated[bool, doc("whether it applies to the rows that continue its own")] = False

    @property
    def raw(self) -> RawColumn:
        """The column of the raw table."""
        return RawColumn(self.name, "float" if self.type == "duration" else self.type, self.unit, self.text)


class RowKinds(FactTable, frozen=True):
    """Kinds of rows: by type SUM, by the first cell, by the last letter under a heading, otherwise."""

    other: Annotated[str, doc("of rows of no other kind")]
    sum: Annotated[str, doc("of rows of type SUM")] = ""
    first: Annotated[dict[str, str], doc("by the first cell")] = {}
    head: Annotated[str, doc("the heading")] = ""
    last: Annotated[dict[str, str], doc("by the last letter under the heading")] = {}


class RmfSection(FactTable, frozen=True, dict=True):
    """A section of a report: named values, a table, or as text (`rest`) the content of no other section."""

    id: Annotated[str, doc("its name here")]
    shape: Annotated[Literal["interval", "variables", "table", "rest"], doc("kind of its rows")]
    columns: Annotated[tuple[RmfColumn, ...], doc("its columns")] = field(name="column")
    segment: Annotated[str, doc("the title of its segment")] = ""
    part: Annotated[str, doc("its title in the segment")] = ""
    row_kind: Annotated[RowKinds | None, doc("kinds of its rows; left out: one kind")] = None
    block_mark: Annotated[str, doc("prefix of a row that names a block")] = ""
    continues: Annotated[str, doc("the heading without text in further rows")] = ""
    unexplained: Annotated[frozenset[str], doc("names and headings that no public page explains")] = (
        frozenset()
    )
    short_rows: Annotated[int, doc("cells that are never empty in rows with empty cells")] = 0
    key: Annotated[tuple[str, ...], doc("columns that identify a row")] = ()

    @property
    def has_row_kind(self) -> bool:
        return self.row_kind is not None

    @property
    def label(self) -> str:
        return ": ".join(filter(None, (self.segment, self.part)))

    @cached_property
    def heads(self) -> dict[str, tuple[RmfColumn, ...]]:
        """The columns by the key of their heading."""
        heads: dict[str, tuple[RmfColumn, ...]] = {}
        for column in self.columns:
            heads[key(column.head)] = (*heads.get(key(column.head), ()), column)
        return heads

    @cached_property
    def key_places(self) -> tuple[int, ...]:
        """The indexes of the columns that identify a row."""
        names = [column.name for column in self.columns]
        return tuple(names.index(name) for name in self.key)

    @cached_property
    def unexplained_keys(self) -> frozenset[str]:
        return frozenset(map(key, self.unexplained))


class RmfTable(FactTable, frozen=True):
    """A raw table: the common columns, the row kind if there are several, and the columns of its sections.

    Within a report, its columns are filled in.
    """

    name: Annotated[str, doc("its name")]
    text: Annotated[str, doc("its contents")]
    sections: Annotated[tuple[str, ...], Meta(min_length=1, description="its sections")]
    printed: Annotated[bool, doc("whether only printed reports have it")] = False
    columns: Annotated[tuple[RmfColumn, ...], doc("instead of its sections'")] = ()


class RmfReport(FactTable, frozen=True, dict=True):
    """All facts about one report."""

    report: Annotated[str, doc("its name in the XML")]
    element: Annotated[_Element, doc("the element that contains it")]
    title: Annotated[str, doc("title")]
    source: Annotated[str, doc("where it is described")]
    not_applicable: Annotated[tuple[str, ...], doc("texts that are not values")]
    common: Annotated[tuple[RmfColumn, ...], doc("columns of every table")]
    tables: Annotated[tuple[RmfTable, ...], doc("its tables")] = field(name="table")
    section: Annotated[tuple[RmfSection, ...], doc("its sections")]

    @cached_property
    def sections(self) -> dict[str, RmfSection]:
        """The sections by name."""
        return {section.id: section for section in self.section}

    @property
    def rest(self) -> RmfSection:
        """The section for content of no other section."""
        return next(section for section in self.section if section.shape == "rest")

    @cached_property
    def _places(self) -> dict[tuple[str, str, str], RmfSection]:
        return {(key(section.segment), key(section.part), section.shape): section for section in self.section}

    def find(self, segment: str, part: str, shape: str) -> RmfSection | None:
        """Return the section for a part of a segment, by the printed names."""
        return self._places.get((key(segment), key(part), shape))


_ROW_KIND = RmfColumn("row_kind", "text", "subject of the row", "derived")


@cache
def report(name: str) -> RmfReport:
    """Return the checked report of a catalog file."""
    path = FACTS / "rmf" / f"{name}.toml"
    return parse(document.text_of(path), str(path))


def parse(text: str, file: str) -> RmfReport:
    """Return a report from the text of its file; CatalogError with the line if it is invalid."""
    facts = structs.parse(text, file, RmfReport)
    problem = DocumentErrors(file, text=text)
    _check_columns(facts.common, "common", problem, headed=False)
    for number, section in enumerate(facts.section, 1):
        location = f"section[{number}]"
        _check_columns(section.columns, f"{location}.column", problem, headed=True)
        if unknown := {*section.key} - {column.name for column in section.columns}:
            raise problem.general_error(
                f"{location}.key has {min(unknown)}, which is not a column", where=location
            )
    if len(facts.sections) < len(facts.section):
        raise problem.general_error("a section is defined twice", where="section")
    if [section.shape for section in facts.section].count("rest") != 1:
        raise problem.general_error("there must be exactly one section for the rest", where="section")
    tables = tuple(
        replace(table, columns=table.columns or _columns(facts, table, f"table[{number}]", problem))
        for number, table in enumerate(facts.tables, 1)
    )
    if unplaced := {*facts.sections} - {name for table in tables for name in table.sections}:
        raise problem.general_error(f"section {min(unplaced)} belongs to no table", where="section")
    return replace(facts, tables=tables)


def _check_columns(
    columns: tuple[RmfColumn, ...], location: str, problem: DocumentErrors, *, headed: bool
) -> None:
    for number, column in enumerate(columns, 1):
        if bool(column.head) != headed:
            column_location = f"{location}[{number}]"
            raise problem.general_error(
                f"{column_location}.head is missing or not allowed", where=column_location
            )
    _check_once(columns, location, problem)


def _columns(
    facts: RmfReport, table: RmfTable, location: str, problem: DocumentErrors
) -> tuple[RmfColumn, ...]:
    if unknown := {*table.sections} - {*facts.sections}:
        raise problem.general_error(f"{location}: section {min(unknown)} is missing", where=location)
    sections = [facts.sections[name] for name in table.sections]
    kind = (_ROW_KIND,) if sections[0].has_row_kind else ()
    columns = (*facts.common, *kind, *(column for section in sections for column in section.columns))
    _check_once(columns, location, problem)
    return columns


def _check_once(columns: tuple[RmfColumn, ...], location: str, problem: DocumentErrors) -> None:
    if len({column.name for column in columns}) < len(columns):
        raise problem.general_error(f"two columns of {location} have the same name", where=location)
