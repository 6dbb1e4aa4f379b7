"""SMF record layouts: the contents of the records that zlens decodes, and the plan for the decoder.

The facts are the files of `smf/`, one per record type, and `types.toml` with the names of all of them. The
counter sets of type 113 are those of `facts/machines`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from zlens.catalog import codes
from zlens.catalog.raw_columns import RawColumn
from zlens.errors import CatalogError
from zlens.schema import document
from zlens.schema.facts import FACTS

#: Length of a header with subsystem and subtype.
HEADER_LENGTH = 24
TYPES = ("unsigned", "character", "tod", "local", "date", "bit")
COLUMN_TYPES = ("int", "text", "hex", "time", "bit", "code")

#: The type in the raw table of a column of the plan.
_TABLE_TYPES = {"int": "int", "text": "text", "hex": "text", "time": "time", "bit": "bool", "code": "text"}


class Triplet(Struct, frozen=True):
    """The places of offset (4 bytes), length and number (2 bytes each) of sections."""

    offset_at: int
    length_at: int
    count_at: int


class SmfCounterSection(Struct, frozen=True):
    """A part of the record. The header has no triplet; the data section's length depends on the subtype."""

    name: str
    text: str
    triplet: Triplet | None
    length: int | None
    status: str
    source: str


class Subtype(Struct, frozen=True):
    """How the records of one subtype store their counters.

    values   delta or absolute
    length   of the data section
    entries  triplet of the list of counter sets, in the data section
    entry    bytes of one entry
    kind     offset and length of the set's number, in an entry
    own      triplet of the counters, in an entry; else
    count    offset and length of the number of counters, in an entry, and
    area     triplet of all counters, in the data section
    """

    number: int
    text: str
    values: str
    length: int
    entries: Triplet
    entry: int
    kind: tuple[int, int]
    own: Triplet | None
    count: tuple[int, int] | None
    area: Triplet | None
    status: str
    source: str
    note: str


class SmfCounterField(Struct, frozen=True):
    """subtype None: in records of all subtypes. bit: which bit of the field it is, from the left."""

    section: str
    name: str
    subtype: int | None
    offset: int
    length: int
    type: str
    bit: int | None
    text: str
    status: str
    source: str
    note: str


class SmfColumn(Struct, frozen=True):
    """A column of the raw table that is not a counter. fields: first choice first."""

    name: str
    type: str
    fields: tuple[str, ...]
    text: str
    unit: str
    codes: str
    marked: str

    @property
    def table_type(self) -> str:
        """int, text, time or bool."""
        return _TABLE_TYPES[self.type]


class SmfCounterLayout(Struct, frozen=True):
    """One record type."""

    record: int
    table: str
    title: str
    text: str
    order: tuple[int, ...]
    sections: Mapping[str, SmfCounterSection]
    subtypes: Mapping[int, Subtype]
    fields: tuple[SmfCounterField, ...]
    columns: tuple[SmfColumn, ...]
    #: Kinds of counter set without numbers of their own: name to number in the record and text.
    other_sets: Mapping[str, tuple[int, str]]
    reader: Mapping[str, Any]

    def field(self, name: str, subtype: int | None) -> SmfCounterField:
        """The field with that name in records of that subtype."""
        for field in self.fields:
            if field.name == name and field.subtype in (None, subtype):
                return field
        raise CatalogError(
            f"type {self.record} subtype {subtype} has no field {name}", file=str(path(self.record))
        )


def root() -> Path:
    """The directory of the SMF files."""
    return FACTS / "smf"


def path(record: int) -> Path:
    return root() / f"{record}.toml"


@cache
def type_names() -> dict[int, str]:
    """Short names of record types."""
    return {
        int(number): name for number, name in document.load_unchecked(root() / "types.toml")["names"].items()
    }


def title(record: int, subtype: int | None = None) -> str:
    """A short description of records of a type and subtype; empty if unknown."""
    name = type_names().get(record, "")
    if subtype is not None and record in counter_record_types() and subtype in layout(record).subtypes:
        return f"{name}: {layout(record).subtypes[subtype].text}"
    return name


@cache
def record_types_by_form(form: str) -> tuple[int, ...]:
    """The record types of one form of record: `counters`, or `sections` (see smf_sections)."""
    return tuple(document.load_unchecked(root() / "types.toml")["forms"][form])


def counter_record_types() -> tuple[int, ...]:
    """The record types that have a layout as records of counters."""
    return record_types_by_form("counters")


def _triplet(facts: Mapping[str, int] | None) -> Triplet | None:
    return Triplet(facts["offset_at"], facts["length_at"], facts["count_at"]) if facts else None


@cache
def layout(record: int) -> SmfCounterLayout:
    """The layout of a record type; CatalogError if its file is wrong."""
    file = path(record)
    try:
        data = document.load_unchecked(file)
        sources = data["sources"]

        def named(text: str) -> str:
            return "; ".join(sources[word] for word in text.split("; "))

        sections = {
            name: SmfCounterSection(
                name, facts["text"], _triplet(facts.get("triplet")), facts.get("length"), facts["status"],
                named(facts["source"]),
            )
            for name, facts in data["sections"].items()
        }  # fmt: skip
        subtypes = {
            int(number): _subtype(int(number), facts, named) for number, facts in data["subtypes"].items()
        }
        fields = tuple(_field(facts, sections, subtypes, named) for facts in data["field"])
        columns = tuple(
            SmfColumn(
                facts["name"], facts["type"], tuple(facts["fields"]), facts["text"], facts.get("unit", ""),
                facts.get("codes", ""), facts.get("marked", ""),
            )
            for facts in data["column"]
        )  # fmt: skip
        other = {name: (facts["kind"], facts["text"]) for name, facts in data["sets"].items()}
        return SmfCounterLayout(
            data["record"], data["table"], data["title"], data["text"], tuple(data["order"]), sections,
            subtypes, fields, columns, other, data["reader"],
        )  # fmt: skip
    except KeyError as error:
        raise CatalogError(
            f"{error} is missing", file=str(file), cure="see smf/113.toml for an example"
        ) from None


def _subtype(number: int, facts: Mapping[str, Any], named: Any) -> Subtype:
    entries = _triplet(facts["entries"])
    assert entries is not None
    count = facts.get("count")
    return Subtype(
        number,
        facts["text"],
        facts["values"],
        facts["length"],
        entries,
        facts["entry"],
        (facts["kind"]["offset"], facts["kind"]["length"]),
        _triplet(facts.get("own")),
        (count["offset"], count["length"]) if count else None,
        _triplet(facts.get("area")),
        facts["status"],
        named(facts["source"]),
        facts.get("note", ""),
    )


def _field(
    facts: Mapping[str, Any],
    sections: Mapping[str, SmfCounterSection],
    subtypes: Mapping[int, Subtype],
    named: Any,
) -> SmfCounterField:
    subtype = facts.get("subtype")
    # A field has the status of its section, or of its subtype's data section, unless it states its own.
    parent = subtypes[subtype] if subtype is not None else sections[facts["section"]]
    return SmfCounterField(
        facts["section"], facts["name"], subtype, facts["offset"], facts["length"], facts["type"],
        facts.get("bit"), facts["text"], facts.get("status", parent.status),
        named(facts["source"]) if "source" in facts else parent.source, facts.get("note", ""),
    )  # fmt: skip


def counter_sets(record: int) -> list[tuple[str, int, int, int]]:
    """The counter sets: name, number in the record, number of the first counter, counters with a column."""
    from zlens.catalog import cpumf

    sets = [
        (name, counter_set.smf, counter_set.first, counter_set.max_size)
        for name, counter_set in cpumf.sets().items()
    ]
    return sets + [(name, kind, 0, 0) for name, (kind, _) in layout(record).other_sets.items()]


def columns(record: int) -> list[RawColumn]:
    """The raw table's columns, without those of every raw table."""
    columns = [
        RawColumn(column.name, column.table_type, column.unit, column.text)
        for column in layout(record).columns
    ]
    for name, _, _, _ in counter_sets(record):
        text = f"counters of the {name} set; NULL: no such set"
        columns.append(RawColumn(f"{name}_counters", "int", "count", text))
    for name, _, first, most in counter_sets(record):
        text = f"counted in the interval, counter {{}} ({name} set)"
        columns += [
            RawColumn(f"c{number}_d", "int", "count", text.format(number))
            for number in range(first, first + most)
        ]
    return columns


def plan(record: int) -> dict[str, Any]:
    """The decoder's plan of a record type, ready for JSON."""
    record_layout = layout(record)
    reader = record_layout.reader

    def place(name: str, subtype: int) -> int:
        return record_layout.field(name, subtype).offset

    def at(triplet: Triplet | None) -> dict[str, int]:
        assert triplet is not None
        return {"offset_at": triplet.offset_at, "length_at": triplet.length_at, "count_at": triplet.count_at}

    def listed(subtype: Subtype) -> dict[str, Any]:
        if subtype.own is not None:
            counters: dict[str, Any] = {"own": at(subtype.own)}
        else:
            assert subtype.count is not None
            counters = {"shared": {"count": _bytes(subtype.count), "area": at(subtype.area)}}
        return {"entries": at(subtype.entries), "kind": _bytes(subtype.kind), "counters": counters}

    return {
        "table": record_layout.table,
        "record": record_layout.record,
        "subtypes": [
            {
                "subtype": number,
                "values": record_layout.subtypes[number].values,
                "identification": at(record_layout.sections["identification"].triplet),
                "start": place(reader["start"], number),
                "end": place(reader["end"], number),
                "data": at(record_layout.sections["data"].triplet),
                "written": place(reader["written"], number),
                "list": listed(record_layout.subtypes[number]),
            }
            for number in record_layout.order
        ],
        "columns": [_column(record_layout, column) for column in record_layout.columns],
        "sets": [
            {"kind": kind, "size": f"{name}_counters", "first": first, "counters": most}
            for name, kind, first, most in counter_sets(record)
        ],
        **{name: reader[name] for name in ("processor", "run", "first", "versions", "watched")},
    }


def _bytes(place: tuple[int, int]) -> dict[str, int]:
    return {"offset": place[0], "length": place[1]}


_PARTS = {"header": "record", "identification": "identification", "data": "data"}


def _column(record_layout: SmfCounterLayout, column: SmfColumn) -> dict[str, Any]:
    places = []
    for name in column.fields:
        for field in record_layout.fields:
            if field.name == name:
                place = {"part": _PARTS[field.section], "offset": field.offset, "length": field.length}
                if field.subtype is not None:
                    place["subtype"] = field.subtype
                if field.bit is not None:
                    place["bit"] = field.bit
                places.append(place)
    plan: dict[str, Any] = {"name": column.name, "type": column.type, "places": places}
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
