"""SMF records that are tables of sections: their contents, and the decoder plan.

The facts are the files of `smf/sections`, one per record type or, such as 74-1, per subtype; copy
`_skeleton.toml` there to add one. A kind of section is a raw table, such as `smf70_cpu` or
`smf74_1_device`: one row for each section that its triplet locates, with the fields that the length in the
triplet covers.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from zlens.catalog import roles, smf
from zlens.catalog.raw_columns import RawColumn
from zlens.errors import CatalogError
from zlens.schema import structs
from zlens.schema.structs import FactTable, SourcedTable, doc

#: Length of a triplet: offset, length and number of sections.
TRIPLET = 8

#: Raw table type by kind of field.
KINDS = {
    "unsigned": "int", "signed": "int", "packed": "int", "flags": "int", "text": "text", "hex": "text",
    "date": "text", "tod": "time", "tod_local": "time", "packed_time": "time", "hundredths": "time",
    "duration": "float", "offset": "float", "packed_duration": "float", "hfp": "float",
}  # fmt: skip


class SmfField(FactTable, frozen=True):
    """A field of a section. In a layout, its column, status and source are filled in."""

    name: Annotated[str, doc("IBM's name without the name of the record")]
    offset: Annotated[int, Meta(ge=0, description="its offset in the section")]
    length: Annotated[
        int, Meta(ge=0, description="its length in bytes; 0: a text that fills the rest of its section")
    ]
    kind: Annotated[str, doc("how to read its bytes")]
    text: Annotated[str, doc("description")]
    column: Annotated[str, doc("its column, if not prefix and name")] = ""
    unit: Annotated[str, doc("its unit")] = ""
    date: Annotated[str, doc("the field with the day of a time of day")] = ""
    after: Annotated[str, doc("the field with a time that comes before it")] = ""
    when: Annotated[
        dict[str, int], doc("a field and the value it must have; else the bytes are another field")
    ] = {}
    bits: Annotated[dict[str, tuple[int, str]], doc("named bits: number from the left, and text")] = {}
    status: Annotated[str, doc("how well it is known, if not like its section")] = ""
    source: Annotated[str, doc("where it is described, if not like its section")] = ""


class SectionOwner(FactTable, frozen=True):
    """A section of another kind that owns sections: the first of them, and their number."""

    column: Annotated[str, doc("the column with the number of the owner")]
    section: Annotated[str, doc("the kind of the owner")]
    text: Annotated[str, doc("description of the column")]
    first: Annotated[
        str,
        doc(
            "the field of the owner with the number of its first section; left out: the owner "
            "has their triplet"
        ),
    ] = ""
    base: Annotated[int, doc("the number of the first of all sections")] = 0
    number: Annotated[str, doc("the field of the owner with the count of its sections")] = ""
    none: Annotated[int | None, doc("the value that means no section")] = None
    status: Annotated[str, doc("how well it is known, if not like its section")] = ""


class SmfSection(SourcedTable, frozen=True):
    """A kind of section. In a layout, its table is filled in."""

    name: Annotated[str, doc("its name, the end of the name of its raw table")]
    title: Annotated[str, doc("title")]
    prefix: Annotated[str, doc("prefix of the names of columns")]
    length: Annotated[int, Meta(ge=0, description="its length")]
    fields: Annotated[tuple[SmfField, ...], doc("its fields")]
    triplet: Annotated[
        int | None, doc("the offset of its offset, length and number; left out: the header")
    ] = None
    within: Annotated[str, doc("the section that has the triplet, if not the header: each its own")] = ""
    length_byte: Annotated[
        bool, doc("whether the first byte of each section is the number of bytes that follow")
    ] = False
    structure: Annotated[str, doc("IBM's name")] = ""
    note: Annotated[str, doc("a note")] = ""
    owner: Annotated[SectionOwner | None, doc("the section that owns sections")] = None
    keys: Annotated[dict[str, str], doc("columns that repeat a field under a name to join by")] = {}
    table: Annotated[str, doc("its raw table, if not named after the record and it")] = ""

    def field(self, name: str) -> SmfField:
        for field in self.fields:
            if field.name == name:
                return field
        raise CatalogError(f"section {self.name} of {self.table} has no field {name}")


class BrokenRecords(SourcedTable, frozen=True):
    """Reassembly of split records: offsets in the reassembly area and its blocks."""

    section: Annotated[str, doc("the section that leads to the area")]
    at: Annotated[dict[str, str], doc("the fields with the location of the section")]
    fields: Annotated[dict[str, tuple[int, int]], doc("offset and length of its fields")]
    block: Annotated[dict[str, tuple[int, int]], doc("offset and length of fields of a block")]
    note: Annotated[str, doc("a note")] = ""


class RecordTime(FactTable, frozen=True):
    """The section and fields with the interval of a record."""

    section: Annotated[str, doc("the section")]
    of: Annotated[
        Literal["system", "job", "decision"],
        doc(
            "whose interval it is; that of a job ends with it, those of decisions are not "
            "intervals of the system"
        ),
    ]
    layer: Annotated[
        int, Meta(ge=1, description="intervals of lower layers are finer; they divide those of higher ones")
    ]
    start: Annotated[str, doc("the field with its start")] = ""
    end: Annotated[str, doc("the field with its end; left out: the time in the header of the record")] = ""
    length: Annotated[str, doc("the field with its length")] = ""
    length_us: Annotated[str, doc("the field with its length in microseconds")] = ""
    zone: Annotated[str, doc("the field with the offset of local time from UTC")] = ""
    nominal: Annotated[str, doc("the field with the usual length")] = ""


class PartitionFields(FactTable, frozen=True):
    """Fields with the number and name of a partition, section first."""

    number: str
    name: str


class ThreadFields(FactTable, frozen=True):
    """Threads: sections that are owned by the section of a core."""

    type: Annotated[str, doc("the field with their processor type, section first")]
    codes: Annotated[str, doc("the list of its codes")]


class WriterFields(FactTable, frozen=True):
    """Facts of a record about the system that wrote it: fields, section first, such as `product.XNM`."""

    utc_offset: Annotated[str, doc("the offset of local time from UTC")] = ""
    written_at_end: Annotated[
        tuple[int, ...], doc("subtypes written at the end of their interval, which tells the offset too")
    ] = ()
    release: Annotated[str, doc("the level of the operating system")] = ""
    sysplex: Annotated[str, doc("the name of the sysplex")] = ""
    machine_type: Annotated[str, doc("the machine type")] = ""
    model: Annotated[tuple[str, ...], doc("the model, first choice first")] = ()
    serial: Annotated[str, doc("the serial number of the machine")] = ""
    lpar_number: Annotated[str, doc("the number of the partition")] = ""
    lpar: Annotated[PartitionFields | None, doc("the names of partitions by number")] = None
    threads: Annotated[ThreadFields | None, doc("threads per core")] = None


class SmfLayout(FactTable, frozen=True):
    """One record type, or one subtype of it, or (`record` is 0) what several have in common.

    In a layout, its name, the keys of its base and the columns, statuses and sources of fields are filled in.
    """

    sources: Annotated[dict[str, str], doc("the sources that the file abbreviates")]
    sections: Annotated[tuple[SmfSection, ...], doc("kinds of sections")] = msgspec.field(name="section")
    record: Annotated[int, doc("its number")] = 0
    title: Annotated[str, doc("title")] = ""
    subtypes: Annotated[dict[int, str], doc("description of each subtype")] = {}
    name: Annotated[str, doc("the name of its file")] = ""
    base: Annotated[str, doc("the file whose keys and sections it has too, without underscore and .toml")] = (
        ""
    )
    time: Annotated[RecordTime | None, doc("the interval and the time zone")] = None
    system: Annotated[WriterFields, doc("fields that identify its system")] = WriterFields()
    broken: Annotated[BrokenRecords | None, doc("how split records are reassembled")] = None
    identity: Annotated[
        dict[str, str], doc("columns that distinguish streams of records of one system name")
    ] = {}
    unread: Annotated[str, doc("sections that are not read, and why")] = ""

    def section(self, name: str) -> SmfSection:
        for section in self.sections:
            if section.name == name:
                return section
        raise CatalogError(
            f"type {self.name} has no section {name}", file=str(smf.path("sections", self.name))
        )

    @property
    def interval(self) -> RecordTime:
        """Where the interval is; CatalogError if the file does not tell."""
        if self.time is None:
            raise CatalogError(f"type {self.name} has no time", file=str(smf.path("sections", self.name)))
        return self.time


_TABLE = re.compile(r"smf(\d+)(?:_(\d+))?_.+")


def names() -> tuple[str, ...]:
    """Return the names of all layouts: the number of a type, or such as 74-1 of a subtype."""
    return smf.layout_names("sections")


def layouts() -> tuple[SmfLayout, ...]:
    """Return all layouts, in the order of types and subtypes."""
    return tuple(map(layout, names()))


@cache
def by_type() -> Mapping[int, tuple[str, ...]]:
    """Return the names of the layouts of each record type that is read as tables of sections."""
    found: dict[int, tuple[str, ...]] = {}
    for name in names():
        record = int(name.partition("-")[0])
        found[record] = (*found.get(record, ()), name)
    return found


def of_type(record: int) -> tuple[SmfLayout, ...]:
    """Return the layouts of a record type; none if it is not read as tables of sections."""
    return tuple(map(layout, by_type().get(record, ())))


@cache
def interval_layouts() -> tuple[SmfLayout, ...]:
    """Return the layouts in the order in which their intervals count, finer ones first."""
    return tuple(sorted(layouts(), key=lambda each: each.interval.layer))


def is_decoded(record: int, subtype: int | None) -> bool:
    """Return whether records of a type and subtype are decoded, in any format."""
    if record in smf.counter_record_types():
        return subtype in smf.layout(record).subtypes
    return any(subtype in each.subtypes for each in of_type(record))


def title(record: int, subtype: int | None = None) -> str:
    """Return a short description of records of a type and subtype; empty if unknown."""
    listed = of_type(record)
    own = next((each for each in listed if subtype in each.subtypes), None)
    # Layouts of one subtype each have titles of their own.
    name = smf.SmfTypes.load().names.get(record, "") if len(listed) > 1 or not listed else listed[0].title
    if subtype is None or not is_decoded(record, subtype):
        return name
    if own is None:
        return f"{name}: {smf.layout(record).subtypes[subtype].text}"
    return f"{own.title}: {own.subtypes[subtype]}"


def table_layout(table: str) -> str | None:
    """Return the name of the layout that a table belongs to: 70 for smf70_cpu, 74-1 for smf74_1_device."""
    match = _TABLE.fullmatch(table)
    if match is None:
        return None
    listed = by_type().get(int(match[1]), ())
    return next((name for name in (f"{match[1]}-{match[2]}", match[1]) if name in listed), None)


def has_decisions(table: str) -> bool:
    """Return whether the rows of a raw table are of decisions, whose times are not interval ends."""
    name = table_layout(table)
    return name is not None and layout(name).interval.of == "decision"


def entity_layouts(entity: str) -> tuple[SmfLayout, ...]:
    """Return the layouts that have the rows of an entity of roles."""
    found = (table_layout(origin.table) for origin in roles.entity(entity).origins)
    return tuple(layout(name) for name in dict.fromkeys(found) if name is not None)


def interval_tables(listed: Iterable[SmfLayout]) -> list[str]:
    """Return the raw tables whose sections contain the intervals of systems or jobs in these layouts."""
    return sorted(
        each.section(each.interval.section).table for each in listed if each.interval.of != "decision"
    )


def find(table: str) -> tuple[SmfLayout, SmfSection] | None:
    """Return the section with that table; None if there is none."""
    name = table_layout(table)
    if name is None:
        return None
    own = layout(name)
    return next(((own, section) for section in own.sections if section.table == table), None)


@cache
def layout(name: str) -> SmfLayout:
    """Return the layout of a record type or subtype; CatalogError if its file is invalid."""
    own = replace(structs.load(smf.path("sections", name), SmfLayout), name=name)
    if own.base:
        own = _with_base(own, structs.load(smf.path("sections", f"_{own.base}"), SmfLayout))
    return replace(own, sections=tuple(_completed(own, section) for section in own.sections))


def _with_base(own: SmfLayout, base: SmfLayout) -> SmfLayout:
    """Return a layout with the keys and sections of its base that it lacks; IBM names them by record type."""
    sections = (
        replace(
            section,
            prefix=section.prefix.format(record=own.record),
            structure=section.structure.format(record=own.record),
        )
        for section in base.sections
    )
    system = {
        name: getattr(own.system, name) or getattr(base.system, name)
        for name in WriterFields.__struct_fields__
    }
    return replace(
        own,
        sources={**base.sources, **own.sources},
        sections=(*sections, *own.sections),
        time=own.time or base.time,
        broken=own.broken or base.broken,
        system=WriterFields(**system),
        identity={**base.identity, **own.identity},
    )


def section_extents(record_layout: SmfLayout, section: SmfSection, data: bytes) -> list[tuple[int, int]]:
    """Return start and length of the sections of a kind in a record with its descriptor word."""
    if section.triplet is None:
        return [(0, len(data))]
    outer = [(0, len(data))]
    if section.within:
        outer = section_extents(record_layout, record_layout.section(section.within), data)
    extents: list[tuple[int, int]] = []
    for at in (base + section.triplet for base, size in outer if section.triplet + TRIPLET <= size):
        start, length, count = (int.from_bytes(data[at + a : at + b]) for a, b in ((0, 4), (4, 6), (6, 8)))
        for _ in range(count if length else 0):
            if section.length_byte:
                length = 1 + int.from_bytes(data[start : start + 1])
            if start + length > len(data):
                break
            extents.append((start, length))
            start += length
    return extents


def _completed(record_layout: SmfLayout, section: SmfSection) -> SmfSection:
    """Return a section with its omitted keys filled in; a field has the status and source of its section."""
    source = smf.full_source(section.source, record_layout.sources)
    fields = tuple(
        replace(
            field,
            column=field.column or section.prefix + field.name.lower(),
            status=field.status or section.status,
            source=smf.full_source(field.source, record_layout.sources) if field.source else source,
        )
        for field in section.fields
    )
    table = section.table or f"smf{record_layout.name.replace('-', '_')}_{section.name}"
    owner = section.owner and replace(section.owner, status=section.owner.status or section.status)
    return replace(section, fields=fields, source=source, table=table, owner=owner)


def field_columns(field: SmfField) -> Iterator[RawColumn]:
    """Yield the columns of a field: itself, and one for each of its named bits."""
    yield RawColumn(field.column, KINDS[field.kind], field.unit, field.text)
    for name, (_, text) in field.bits.items():
        yield RawColumn(f"{field.column}_{name.lower()}", "bool", "", text)


def key_columns(record_layout: SmfLayout, section: SmfSection) -> list[RawColumn]:
    """Return the columns that distinguish and join sections."""
    keys = [RawColumn("section_no", "int", "", "number of the section in its record, from 0")]
    if len(record_layout.subtypes) > 1:
        keys.append(RawColumn("subtype", "int", "", "subtype of the record"))
    if section.owner is not None:
        keys.append(RawColumn(section.owner.column, "int", "", section.owner.text))
    for column, name in section.keys.items():
        field = section.field(name)
        keys.append(RawColumn(column, KINDS[field.kind], field.unit, field.text))
    return keys


def columns(record_layout: SmfLayout, section: SmfSection) -> list[RawColumn]:
    """Return the columns of a section's raw table, without the leading columns."""
    return key_columns(record_layout, section) + [
        column for field in section.fields for column in field_columns(field)
    ]


def plan(record_layout: SmfLayout) -> dict[str, Any]:
    """Return the decoder plan of a layout, ready for JSON."""
    parts = {section.name: number for number, section in enumerate(record_layout.sections)}
    return {
        "name": record_layout.name,
        "record": record_layout.record,
        "subtypes": list(record_layout.subtypes),
        "parts": [
            {
                "name": section.name,
                "triplet": section.triplet,
                "within": parts[section.within] if section.within else None,
                "length_byte": section.length_byte,
            }
            for section in record_layout.sections
        ],
        "time": _time(record_layout, parts),
        "broken": _broken(record_layout, parts) if record_layout.broken is not None else None,
        "tables": [_table(record_layout, section, parts) for section in record_layout.sections],
    }


def _bytes(field: SmfField) -> dict[str, int]:
    return {"offset": field.offset, "length": field.length}


def _time(record_layout: SmfLayout, parts: Mapping[str, int]) -> dict[str, Any]:
    time = record_layout.interval
    section = record_layout.section(time.section)
    location: dict[str, Any] = {"part": parts[section.name]}
    for role in ("start", "length", "length_us", "end", "zone", "nominal"):
        if name := getattr(time, role):
            field = section.field(name)
            location[role] = _bytes(field)
            if field.date:
                location["date"] = _bytes(section.field(field.date))
    return location


def _broken(record_layout: SmfLayout, parts: Mapping[str, int]) -> dict[str, Any]:
    broken = record_layout.broken
    assert broken is not None
    section = record_layout.section(broken.section)
    locations = {name: _bytes(section.field(field)) for name, field in broken.at.items()}
    fields = {
        name: {"offset": location[0], "length": location[1]} for name, location in broken.fields.items()
    }
    block = {name: {"offset": location[0], "length": location[1]} for name, location in broken.block.items()}
    return {"part": parts[section.name], "at": locations, "fields": fields, "block": block}


def _table(record_layout: SmfLayout, section: SmfSection, parts: Mapping[str, int]) -> dict[str, Any]:
    columns: list[dict[str, Any]] = []
    if len(record_layout.subtypes) > 1:
        columns.append({"name": "subtype", "kind": "subtype"})
    owner = section.owner
    if owner is not None:
        columns.append({"name": owner.column, "kind": "owner"})
    for name, field_name in section.keys.items():
        columns.append({**_column(section, section.field(field_name)), "name": name})
    for field in section.fields:
        columns.append(_column(section, field))
        for name, (bit, _) in field.bits.items():
            location = {"offset": field.offset + bit // 8, "length": 1, "bit": bit % 8}
            column = {"name": f"{field.column}_{name.lower()}", "kind": "bit", **location}
            columns.append(column | _condition(section, field))
    table: dict[str, Any] = {"table": section.table, "part": parts[section.name], "columns": columns}
    if owner is not None:
        owner_section = record_layout.section(owner.section)
        table["owner"] = {
            "part": parts[owner_section.name],
            "first": _bytes(owner_section.field(owner.first)) if owner.first else None,
            "number": _bytes(owner_section.field(owner.number)) if owner.number else None,
            "base": owner.base,
            "none": owner.none,
        }
    return table


def _column(section: SmfSection, field: SmfField) -> dict[str, Any]:
    kind = "unsigned" if field.kind == "flags" else field.kind
    column: dict[str, Any] = {
        "name": field.column,
        "kind": kind,
        **_bytes(field),
        **_condition(section, field),
    }
    if field.date:
        column["date"] = section.field(field.date).offset
    if field.after:
        column["after"] = section.field(field.after).offset
    return column


def _condition(section: SmfSection, field: SmfField) -> dict[str, Any]:
    """Return the condition of a field, if it has one."""
    conditions = [{**_bytes(section.field(name)), "value": value} for name, value in field.when.items()]
    return {"when": conditions[0]} if conditions else {}
