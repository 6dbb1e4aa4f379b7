"""SMF record layouts: contents of decoded records, and the decoder plan.

The facts are the files of `smf/counters` and `smf/sections`, one per record type and named by its number, and
`types.toml` with the names of all others. The counter sets are in `facts/machines`.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec.structs import asdict, replace

from zlens.catalog import codes
from zlens.catalog.raw_columns import RawColumn
from zlens.errors import CatalogError
from zlens.schema import structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactFile, FactTable, SourcedTable, doc

FOLDER = FACTS / "smf"
#: Length of a header with subsystem and subtype, in bytes.
HEADER_LENGTH = 24
TYPES = ("unsigned", "character", "tod", "local", "date", "bit")
COLUMN_TYPES = ("int", "text", "hex", "time", "bit", "code")

#: Raw table type by type of a plan column.
_TABLE_TYPES = {"int": "int", "text": "text", "hex": "text", "time": "time", "bit": "bool", "code": "text"}


class Triplet(FactTable, frozen=True):
    """Offsets of the offset (4 bytes), length and number (2 bytes each) of sections."""

    offset_at: int
    length_at: int
    count_at: int


class BytePlace(FactTable, frozen=True):
    """Offset and length of a number in an entry."""

    offset: int
    length: int


class SmfCounterSection(SourcedTable, frozen=True):
    """A part of the record. The header has no triplet; the data section's length depends on the subtype."""

    text: Annotated[str, doc("title")]
    triplet: Annotated[Triplet | None, doc("where it is")] = None
    length: Annotated[int | None, doc("its length")] = None


class Subtype(SourcedTable, frozen=True):
    """Storage of counters in the records of one subtype."""

    text: Annotated[str, doc("description")]
    values: Annotated[Literal["delta", "absolute"], doc("whether counters are differences")]
    length: Annotated[int, doc("the length of the data section")]
    entries: Annotated[Triplet, doc("the list of counter sets, in the data section")]
    entry: Annotated[int, doc("the length of an entry")]
    kind: Annotated[BytePlace, doc("the number of the set, in an entry")]
    own: Annotated[Triplet | None, doc("counters of a set, in an entry; else count and area")] = None
    count: Annotated[BytePlace | None, doc("the number of counters, in an entry")] = None
    area: Annotated[Triplet | None, doc("all counters, in the data section")] = None
    note: Annotated[str, doc("a note")] = ""


class SmfCounterField(FactTable, frozen=True):
    """A field of a part. In a layout, its status and source are filled in."""

    section: Annotated[str, doc("its part")]
    name: Annotated[str, doc("IBM's name without the record and subtype")]
    offset: Annotated[int, doc("its offset in the part")]
    length: Annotated[int, doc("its length")]
    type: Annotated[str, doc("how to read its bytes")]
    text: Annotated[str, doc("description")]
    subtype: Annotated[int | None, doc("the subtype that has it; left out: all")] = None
    bit: Annotated[int | None, doc("which bit of the field it is, from the left")] = None
    status: Annotated[str, doc("how well it is known, if not like its part")] = ""
    source: Annotated[str, doc("where it is described, if not like its part")] = ""
    note: Annotated[str, doc("a note")] = ""


class SmfColumn(FactTable, frozen=True):
    """A column of the raw table that is not a counter."""

    name: Annotated[str, doc("its name")]
    type: Annotated[str, doc("its type")]
    fields: Annotated[tuple[str, ...], doc("its fields, first choice first")]
    text: Annotated[str, doc("description")]
    unit: Annotated[str, doc("its unit")] = ""
    codes: Annotated[str, doc("the list of its codes")] = ""
    marked: Annotated[str, doc("the column that distinguishes codes")] = ""


class OtherSet(FactTable, frozen=True):
    """A kind of counter set without numbers of their own."""

    kind: Annotated[int, doc("its number in the record")]
    text: Annotated[str, doc("description")]


class CounterReader(FactTable, frozen=True):
    """Fields with times, and columns, that the reader needs."""

    start: str
    end: str
    written: str
    processor: str
    run: str
    first: str
    versions: Annotated[tuple[str, ...], doc("columns that define the meaning of numbers")]
    watched: Annotated[tuple[str, ...], doc("columns whose change is an event")]


class SmfCounterLayout(FactTable, frozen=True):
    """One record type."""

    record: Annotated[int, doc("its number")]
    table: Annotated[str, doc("its raw table")]
    title: Annotated[str, doc("title")]
    text: Annotated[str, doc("contents of the table")]
    order: Annotated[tuple[int, ...], doc("subtypes, first choice first")]
    sources: Annotated[dict[str, str], doc("the sources that the file abbreviates")]
    sections: Annotated[dict[str, SmfCounterSection], doc("parts of the record")]
    subtypes: Annotated[dict[int, Subtype], doc("subtypes")]
    fields: Annotated[tuple[SmfCounterField, ...], doc("fields")] = msgspec.field(name="field")
    columns: Annotated[tuple[SmfColumn, ...], doc("columns")] = msgspec.field(name="column")
    other_sets: Annotated[dict[str, OtherSet], doc("sets without numbers")] = msgspec.field(name="sets")
    reader: Annotated[CounterReader, doc("requirements of the reader")]
    identity: Annotated[dict[str, str], doc("columns that distinguish streams of records of one system name")]

    def field(self, name: str, subtype: int | None) -> SmfCounterField:
        """Return the field with that name in records of that subtype."""
        for field in self.fields:
            if field.name == name and field.subtype in (None, subtype):
                return field
        raise CatalogError(
            f"type {self.record} subtype {subtype} has no field {name}",
            file=str(path("counters", self.record)),
        )


class SmfTypes(FactFile, SourcedTable, frozen=True):
    """The record types."""

    path: ClassVar = "smf/types.toml"
    #: Of those that are not tables of sections.
    names: Annotated[dict[int, str], doc("short names")]


def path(form: str, name: int | str) -> Path:
    """Return a file of one record format: `counters`, or `sections` (see smf_sections)."""
    return FOLDER / form / f"{name}.toml"


@cache
def layout_names(form: str) -> tuple[str, ...]:
    """Return the names of the layouts of one record format: a record type, or 74-1 for a subtype."""
    names = (file.stem for file in (FOLDER / form).glob("[0-9]*.toml"))
    return tuple(sorted(names, key=lambda name: [int(number) for number in name.split("-")]))


@cache
def counter_record_types() -> tuple[int, ...]:
    """Return the record types that have a layout as records of counters."""
    return tuple(map(int, layout_names("counters")))


def counter_record_type() -> int:
    """Return the record type that is decoded into the table of counters."""
    (record,) = counter_record_types()
    return record


def full_source(text: str, sources: Mapping[str, str]) -> str:
    """Return a cited source with its abbreviations replaced."""
    return "; ".join(sources[word] for word in text.split("; "))


@cache
def layout(record: int) -> SmfCounterLayout:
    """Return the layout of a record type; CatalogError if its file is invalid."""
    facts = structs.load(path("counters", record), SmfCounterLayout)
    sections = {
        name: replace(section, source=full_source(section.source, facts.sources))
        for name, section in facts.sections.items()
    }
    subtypes = {
        number: replace(subtype, source=full_source(subtype.source, facts.sources))
        for number, subtype in facts.subtypes.items()
    }

    def completed(field: SmfCounterField) -> SmfCounterField:
        # A field has the status of its section, or of its subtype's data section, unless it states its own.
        parent = sections[field.section] if field.subtype is None else subtypes[field.subtype]
        source = full_source(field.source, facts.sources) if field.source else parent.source
        return replace(field, status=field.status or parent.status, source=source)

    return replace(facts, sections=sections, subtypes=subtypes, fields=tuple(map(completed, facts.fields)))


def counter_sets(record: int) -> list[tuple[str, int, int, int]]:
    """Return the counter sets: name, number in the record, number of the first counter, counter columns."""
    from zlens.catalog import cpumf

    sets = [
        (name, counter_set.smf, counter_set.first, len(counter_set.numbers))
        for name, counter_set in cpumf.sets().items()
    ]
    return sets + [(name, other.kind, 0, 0) for name, other in layout(record).other_sets.items()]


def columns(record: int) -> list[RawColumn]:
    """Return the raw table's columns, without the leading columns."""
    columns = [
        RawColumn(column.name, _TABLE_TYPES[column.type], column.unit, column.text)
        for column in layout(record).columns
    ]
    for name, _, _, _ in counter_sets(record):
        text = f"counters of the {name} set; NULL: no such set"
        columns.append(RawColumn(f"{name}_counters", "int", "count", text))
    for name, _, first, counter_count in counter_sets(record):
        text = f"counted in the interval, counter {{}} ({name} set)"
        columns += [
            RawColumn(f"c{number}_d", "int", "count", text.format(number))
            for number in range(first, first + counter_count)
        ]
    return columns


def plan(record: int) -> dict[str, Any]:
    """Return the decoder plan of a record type, ready for JSON."""
    record_layout = layout(record)
    reader = record_layout.reader

    def field_offset(name: str, subtype: int) -> int:
        return record_layout.field(name, subtype).offset

    def counter_list(subtype: Subtype) -> dict[str, Any]:
        if subtype.own is not None:
            counters: dict[str, Any] = {"own": _places(subtype.own)}
        else:
            assert subtype.count is not None
            counters = {"shared": {"count": asdict(subtype.count), "area": _places(subtype.area)}}
        return {"entries": _places(subtype.entries), "kind": asdict(subtype.kind), "counters": counters}

    return {
        "table": record_layout.table,
        "record": record_layout.record,
        "subtypes": [
            {
                "subtype": number,
                "values": record_layout.subtypes[number].values,
                "identification": _places(record_layout.sections["identification"].triplet),
                "start": field_offset(reader.start, number),
                "end": field_offset(reader.end, number),
                "data": _places(record_layout.sections["data"].triplet),
                "written": field_offset(reader.written, number),
                "list": counter_list(record_layout.subtypes[number]),
            }
            for number in record_layout.order
        ],
        "columns": [_column(record_layout, column) for column in record_layout.columns],
        "sets": [
            {"kind": kind, "size": f"{name}_counters", "first": first, "counters": counter_count}
            for name, kind, first, counter_count in counter_sets(record)
        ],
        "processor": reader.processor,
        "run": reader.run,
        "first": reader.first,
        "versions": [*reader.versions],
        "watched": [*reader.watched],
    }


def _places(triplet: Triplet | None) -> dict[str, int]:
    assert triplet is not None
    return asdict(triplet)


_PARTS = {"header": "record", "identification": "identification", "data": "data"}


def _column(record_layout: SmfCounterLayout, column: SmfColumn) -> dict[str, Any]:
    locations = []
    for name in column.fields:
        for field in record_layout.fields:
            if field.name == name:
                location = {"part": _PARTS[field.section], "offset": field.offset, "length": field.length}
                if field.subtype is not None:
                    location["subtype"] = field.subtype
                if field.bit is not None:
                    location["bit"] = field.bit
                locations.append(location)
    plan: dict[str, Any] = {"name": column.name, "type": column.type, "places": locations}
    if column.codes:
        words = codes.words(column.codes)
        suffix = f" {column.marked}"
        plan["codes"] = {code: word for code, word in words.items() if " " not in code}
        marked = {
            code[: -len(suffix)]: word
            for code, word in words.items()
            if code.lower().endswith(suffix.lower())
        }
        plan["marked"] = {"by": column.marked, "codes": marked}
    return plan
