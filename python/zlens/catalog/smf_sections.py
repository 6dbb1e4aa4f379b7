"""SMF records that are tables of sections: their contents, and the plan for the decoder.

The facts are the files of `smf/` that `types.toml` lists under `sections`, one per record type. Every section
is a raw table, such as `smf70_cpu`: a row for each section that its triplet leads to, with the fields that
the length in the triplet covers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from msgspec import Struct

from zlens.catalog import smf
from zlens.catalog.raw_columns import RawColumn
from zlens.errors import CatalogError
from zlens.schema import document

#: The type in the raw table of a kind of field.
KINDS = {
    "unsigned": "int",
    "signed": "int",
    "packed": "int",
    "flags": "int",
    "text": "text",
    "hex": "text",
    "date": "text",
    "tod": "time",
    "tod_local": "time",
    "packed_time": "time",
    "hundredths": "time",
    "duration": "float",
    "offset": "float",
    "packed_duration": "float",
    "hfp": "float",
}


class SmfField(Struct, frozen=True):
    """A field of a section. bits: name to place and text; date: the field with the day of a time of day."""

    name: str
    column: str
    offset: int
    length: int
    kind: str
    unit: str
    text: str
    date: str
    after: str
    bits: Mapping[str, tuple[int, str]]
    status: str
    source: str


class SectionOwner(Struct, frozen=True):
    """A section of another kind that owns sections: the first of them, and their number."""

    column: str
    section: str
    first: str
    number: str
    base: int
    none: int | None
    text: str
    status: str


class SmfSection(Struct, frozen=True):
    """A kind of section. triplet: the place of its offset, length and number; None: the header itself."""

    name: str
    table: str
    title: str
    triplet: int | None
    structure: str
    length: int
    status: str
    source: str
    note: str
    fields: tuple[SmfField, ...]
    owner: SectionOwner | None
    #: Columns that repeat a field under the name by which sections are joined.
    keys: Mapping[str, str]

    def field(self, name: str) -> SmfField:
        for field in self.fields:
            if field.name == name:
                return field
        raise CatalogError(f"section {self.name} of {self.table} has no field {name}")


class SmfLayout(Struct, frozen=True):
    """One record type."""

    record: int
    title: str
    subtypes: Mapping[int, str]
    sections: tuple[SmfSection, ...]
    #: The fields with the interval and the time zone.
    time: Mapping[str, str]
    #: How split records are reassembled; None if records are never split.
    broken: Mapping[str, Any] | None

    def section(self, name: str) -> SmfSection:
        for section in self.sections:
            if section.name == name:
                return section
        raise CatalogError(f"type {self.record} has no section {name}", file=str(smf.path(self.record)))


def records() -> tuple[int, ...]:
    """The record types that are read as tables of sections."""
    return smf.record_types_by_form("sections")


def is_decoded(record: int, subtype: int | None) -> bool:
    """Whether records of a type and subtype are decoded, in any form."""
    if record in smf.counter_record_types():
        return subtype in smf.layout(record).subtypes
    return record in records() and subtype in layout(record).subtypes


def title(record: int, subtype: int | None = None) -> str:
    """A short description of records of a type and subtype; empty if unknown."""
    if record in records() and subtype is not None and subtype in layout(record).subtypes:
        return f"{smf.title(record)}: {layout(record).subtypes[subtype]}"
    return smf.title(record, subtype)


def table_record(table: str) -> int | None:
    """The record type that a table name belongs to: 70 for smf70_cpu."""
    number = table.removeprefix("smf").partition("_")[0]
    has_form = table.startswith("smf") and "_" in table and number.isdecimal()
    return int(number) if has_form and int(number) in records() else None


@cache
def interval_tables() -> tuple[str, ...]:
    """The raw tables whose sections contain the intervals of their records."""
    layouts = map(layout, records())
    return tuple(sorted(each.section(each.time["section"]).table for each in layouts))


def find(table: str) -> tuple[SmfLayout, SmfSection] | None:
    """The section with that table, if there is one."""
    record = table_record(table)
    if record is None:
        return None
    record_layout = layout(record)
    return next(
        ((record_layout, section) for section in record_layout.sections if section.table == table), None
    )


@cache
def layout(record: int) -> SmfLayout:
    """The layout of a record type; CatalogError if its file is wrong."""
    file = smf.path(record)
    try:
        data = document.load_unchecked(file)
        sources = data["sources"]
        return SmfLayout(
            record,
            data["title"],
            {int(number): text for number, text in data["subtypes"].items()},
            tuple(_section(record, facts, sources) for facts in data["section"]),
            data["time"],
            data.get("broken"),
        )
    except KeyError as error:
        raise CatalogError(f"{error} is missing", file=str(file), cure="see smf/70.toml") from None


def _named(text: str, sources: Mapping[str, str]) -> str:
    return "; ".join(sources[word] for word in text.split("; "))


def _section(record: int, facts: Mapping[str, Any], sources: Mapping[str, str]) -> SmfSection:
    status, source = facts["status"], _named(facts["source"], sources)
    fields = tuple(
        _field(field_facts, facts["prefix"], status, source, sources) for field_facts in facts["fields"]
    )
    owner = None
    if "owner" in facts:
        owner_facts = facts["owner"]
        owner = SectionOwner(
            owner_facts["column"], owner_facts["section"], owner_facts["first"],
            owner_facts.get("number", ""), owner_facts["base"], owner_facts.get("none"),
            owner_facts["text"], owner_facts.get("status", status),
        )  # fmt: skip
    return SmfSection(
        facts["name"], f"smf{record}_{facts['name']}", facts["title"], facts.get("triplet"),
        facts.get("structure", ""), facts["length"], status, source, facts.get("note", ""), fields, owner,
        facts.get("keys", {}),
    )  # fmt: skip


def _field(
    facts: Mapping[str, Any], prefix: str, status: str, source: str, sources: Mapping[str, str]
) -> SmfField:
    # A field has the status of its section, unless it states its own.
    return SmfField(
        facts["name"], facts.get("column", prefix + facts["name"].lower()), facts["offset"], facts["length"],
        facts["kind"], facts.get("unit", ""), facts["text"], facts.get("date", ""), facts.get("after", ""),
        {name: (bit, text) for name, (bit, text) in facts.get("bits", {}).items()},
        facts.get("status", status), _named(facts["source"], sources) if "source" in facts else source,
    )  # fmt: skip


def field_columns(field: SmfField) -> Iterator[RawColumn]:
    """The columns of a field: itself, and one for each of its named bits."""
    yield RawColumn(field.column, KINDS[field.kind], field.unit, field.text)
    for name, (_, text) in field.bits.items():
        yield RawColumn(f"{field.column}_{name.lower()}", "bool", "", text)


def key_columns(record_layout: SmfLayout, section: SmfSection) -> list[RawColumn]:
    """The columns that distinguish and join sections."""
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
    """The columns of a section's raw table, without those of every raw table."""
    return key_columns(record_layout, section) + [
        column for field in section.fields for column in field_columns(field)
    ]


def plan(record: int) -> dict[str, Any]:
    """The decoder's plan of a record type, ready for JSON."""
    record_layout = layout(record)
    parts = {section.name: number for number, section in enumerate(record_layout.sections)}
    return {
        "record": record,
        "subtypes": list(record_layout.subtypes),
        "parts": [{"name": section.name, "triplet": section.triplet} for section in record_layout.sections],
        "time": _time(record_layout, parts),
        "broken": _broken(record_layout, parts) if record_layout.broken is not None else None,
        "tables": [_table(record_layout, section, parts) for section in record_layout.sections],
    }


def _bytes(field: SmfField) -> dict[str, int]:
    return {"offset": field.offset, "length": field.length}


def _time(record_layout: SmfLayout, parts: Mapping[str, int]) -> dict[str, Any]:
    section = record_layout.section(record_layout.time["section"])
    facts: dict[str, Any] = {"part": parts[section.name]}
    for role in ("start", "length", "end", "zone", "nominal"):
        if role in record_layout.time:
            field = section.field(record_layout.time[role])
            facts[role] = _bytes(field)
            if field.date:
                facts["date"] = _bytes(section.field(field.date))
    return facts


def _broken(record_layout: SmfLayout, parts: Mapping[str, int]) -> dict[str, Any]:
    assert record_layout.broken is not None
    facts = record_layout.broken
    section = record_layout.section(facts["section"])
    places = {name: _bytes(section.field(field)) for name, field in facts["at"].items()}
    fields = {name: {"offset": place[0], "length": place[1]} for name, place in facts["fields"].items()}
    block = {name: {"offset": place[0], "length": place[1]} for name, place in facts["block"].items()}
    return {"part": parts[section.name], "at": places, "fields": fields, "block": block}


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
            place = {"offset": field.offset + bit // 8, "length": 1, "bit": bit % 8}
            columns.append({"name": f"{field.column}_{name.lower()}", "kind": "bit", **place})
    table: dict[str, Any] = {"table": section.table, "part": parts[section.name], "columns": columns}
    if owner is not None:
        owner_section = record_layout.section(owner.section)
        table["owner"] = {
            "part": parts[owner_section.name],
            "first": _bytes(owner_section.field(owner.first)),
            "number": _bytes(owner_section.field(owner.number)) if owner.number else None,
            "base": owner.base,
            "none": owner.none,
        }
    return table


def _column(section: SmfSection, field: SmfField) -> dict[str, Any]:
    kind = "unsigned" if field.kind == "flags" else field.kind
    column: dict[str, Any] = {"name": field.column, "kind": kind, **_bytes(field)}
    if field.date:
        column["date"] = section.field(field.date).offset
    if field.after:
        column["after"] = section.field(field.after).offset
    return column
