"""SMF records that are tables of sections: what stands where, and the plan for the decoder.

Facts are the files of `smf/` that `types.toml` lists under `sections`, one per record type. Every section is
a raw table, `smf70_cpu`: a row for each section that its triplet leads to, with the fields that the length in
the triplet covers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from zlens.catalog import smf
from zlens.catalog.columns import Column
from zlens.errors import CatalogError
from zlens.schema import document

#: What a kind of field is in the raw table.
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


@dataclass(frozen=True, slots=True)
class Field:
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


@dataclass(frozen=True, slots=True)
class Owner:
    """A section of another kind that tells which sections are its own: the first of them, and how many."""

    column: str
    section: str
    first: str
    number: str
    base: int
    none: int | None
    text: str
    status: str


@dataclass(frozen=True, slots=True)
class Section:
    """A kind of section. triplet: where its offset, length and number stand; None: the header itself."""

    name: str
    table: str
    title: str
    triplet: int | None
    structure: str
    length: int
    status: str
    source: str
    note: str
    fields: tuple[Field, ...]
    owner: Owner | None
    #: Columns that repeat a field under the name by which sections are joined.
    keys: Mapping[str, str]

    def field(self, name: str) -> Field:
        for field in self.fields:
            if field.name == name:
                return field
        raise CatalogError(f"section {self.name} of {self.table} has no field {name}")


@dataclass(frozen=True, slots=True)
class Layout:
    """One record type."""

    record: int
    title: str
    subtypes: Mapping[int, str]
    sections: tuple[Section, ...]
    #: Which fields tell of the interval and the zone.
    time: Mapping[str, str]
    #: How records are broken and put together again; None: they never are.
    broken: Mapping[str, Any] | None

    def section(self, name: str) -> Section:
        for section in self.sections:
            if section.name == name:
                return section
        raise CatalogError(f"type {self.record} has no section {name}", file=str(smf.path(self.record)))


def records() -> tuple[int, ...]:
    """The record types that are read as tables of sections."""
    return smf.listed("sections")


def is_decoded(record: int, subtype: int | None) -> bool:
    """Whether records of a type and subtype are decoded, in whatever form."""
    if record in smf.decoded():
        return subtype in smf.layout(record).subtypes
    return record in records() and subtype in layout(record).subtypes


def title(record: int, subtype: int | None = None) -> str:
    """What records of a type and subtype are, in a few words; empty where nobody has said it."""
    if record in records() and subtype is not None and subtype in layout(record).subtypes:
        return f"{smf.title(record)}: {layout(record).subtypes[subtype]}"
    return smf.title(record, subtype)


def table_record(table: str) -> int | None:
    """The record type whose table it may be, by its name: 70 of smf70_cpu."""
    number = table.removeprefix("smf").partition("_")[0]
    known = table.startswith("smf") and "_" in table and number.isdigit()
    return int(number) if known and int(number) in records() else None


def tells_intervals(table: str) -> bool:
    """Whether the sections of a raw table tell the intervals of their records."""
    found = find(table)
    return found is not None and found[0].time["section"] == found[1].name


def find(table: str) -> tuple[Layout, Section] | None:
    """The section with that table, if there is one."""
    record = table_record(table)
    if record is None:
        return None
    what = layout(record)
    return next(((what, section) for section in what.sections if section.table == table), None)


@cache
def layout(record: int) -> Layout:
    """The layout of a record type; CatalogError if its file is wrong."""
    file = smf.path(record)
    try:
        data = document.facts(file)
        sources = data["sources"]
        return Layout(
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


def _section(record: int, facts: Mapping[str, Any], sources: Mapping[str, str]) -> Section:
    status, source = facts["status"], _named(facts["source"], sources)
    fields = tuple(_field(one, facts["prefix"], status, source, sources) for one in facts["fields"])
    owner = None
    if "owner" in facts:
        one = facts["owner"]
        owner = Owner(
            one["column"], one["section"], one["first"], one.get("number", ""), one["base"], one.get("none"),
            one["text"], one.get("status", status),
        )  # fmt: skip
    return Section(
        facts["name"], f"smf{record}_{facts['name']}", facts["title"], facts.get("triplet"),
        facts.get("structure", ""), facts["length"], status, source, facts.get("note", ""), fields, owner,
        facts.get("keys", {}),
    )  # fmt: skip


def _field(
    one: Mapping[str, Any], prefix: str, status: str, source: str, sources: Mapping[str, str]
) -> Field:
    # A field is known as well as its section, unless it says otherwise.
    return Field(
        one["name"], one.get("column", prefix + one["name"].lower()), one["offset"], one["length"],
        one["kind"], one.get("unit", ""), one["text"], one.get("date", ""), one.get("after", ""),
        {name: (bit, text) for name, (bit, text) in one.get("bits", {}).items()},
        one.get("status", status), _named(one["source"], sources) if "source" in one else source,
    )  # fmt: skip


def field_columns(field: Field) -> Iterator[Column]:
    """The columns of a field: itself, and one for each of its bits that has a name."""
    yield Column(field.column, KINDS[field.kind], field.unit, field.text)
    for name, (_, text) in field.bits.items():
        yield Column(f"{field.column}_{name.lower()}", "bool", "", text)


def key_columns(what: Layout, section: Section) -> list[Column]:
    """The columns by which sections are distinguished and joined."""
    keys = [Column("section_no", "int", "", "number of the section in its record, from 0")]
    if len(what.subtypes) > 1:
        keys.append(Column("subtype", "int", "", "subtype of the record"))
    if section.owner is not None:
        keys.append(Column(section.owner.column, "int", "", section.owner.text))
    for column, name in section.keys.items():
        field = section.field(name)
        keys.append(Column(column, KINDS[field.kind], field.unit, field.text))
    return keys


def columns(what: Layout, section: Section) -> list[Column]:
    """The columns of a section's raw table, without those that all raw tables have."""
    return key_columns(what, section) + [c for field in section.fields for c in field_columns(field)]


def plan(record: int) -> dict[str, Any]:
    """The decoder's plan of a record type, ready for JSON."""
    what = layout(record)
    parts = {section.name: number for number, section in enumerate(what.sections)}
    return {
        "record": record,
        "subtypes": list(what.subtypes),
        "parts": [{"name": s.name, "triplet": s.triplet} for s in what.sections],
        "time": _time(what, parts),
        "broken": _broken(what, parts) if what.broken is not None else None,
        "tables": [_table(what, section, parts) for section in what.sections],
    }


def _bytes(field: Field) -> dict[str, int]:
    return {"offset": field.offset, "length": field.length}


def _time(what: Layout, parts: Mapping[str, int]) -> dict[str, Any]:
    section = what.section(what.time["section"])
    facts: dict[str, Any] = {"part": parts[section.name]}
    for role in ("start", "length", "end", "zone", "nominal"):
        if role in what.time:
            field = section.field(what.time[role])
            facts[role] = _bytes(field)
            if field.date:
                facts["date"] = _bytes(section.field(field.date))
    return facts


def _broken(what: Layout, parts: Mapping[str, int]) -> dict[str, Any]:
    assert what.broken is not None
    facts = what.broken
    section = what.section(facts["section"])
    places = {name: _bytes(section.field(field)) for name, field in facts["at"].items()}
    fields = {name: {"offset": at[0], "length": at[1]} for name, at in facts["fields"].items()}
    block = {name: {"offset": at[0], "length": at[1]} for name, at in facts["block"].items()}
    return {"part": parts[section.name], "at": places, "fields": fields, "block": block}


def _table(what: Layout, section: Section, parts: Mapping[str, int]) -> dict[str, Any]:
    columns: list[dict[str, Any]] = []
    if len(what.subtypes) > 1:
        columns.append({"name": "subtype", "kind": "subtype"})
    owner = section.owner
    if owner is not None:
        columns.append({"name": owner.column, "kind": "owner"})
    for name, of in section.keys.items():
        columns.append({**_column(section, section.field(of)), "name": name})
    for field in section.fields:
        columns.append(_column(section, field))
        for name, (bit, _) in field.bits.items():
            place = {"offset": field.offset + bit // 8, "length": 1, "bit": bit % 8}
            columns.append({"name": f"{field.column}_{name.lower()}", "kind": "bit", **place})
    table: dict[str, Any] = {"table": section.table, "part": parts[section.name], "columns": columns}
    if owner is not None:
        other = what.section(owner.section)
        table["owner"] = {
            "part": parts[other.name],
            "first": _bytes(other.field(owner.first)),
            "number": _bytes(other.field(owner.number)) if owner.number else None,
            "base": owner.base,
            "none": owner.none,
        }
    return table


def _column(section: Section, field: Field) -> dict[str, Any]:
    kind = "unsigned" if field.kind == "flags" else field.kind
    column: dict[str, Any] = {"name": field.column, "kind": kind, **_bytes(field)}
    if field.date:
        column["date"] = section.field(field.date).offset
    if field.after:
        column["after"] = section.field(field.after).offset
    return column
