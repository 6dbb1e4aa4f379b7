"""Identity of SMF records: components that distinguish record streams with the same system name.

Each type of record lists its components under `identity`: names, and the fields that contain them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from msgspec import Struct

from zlens.catalog import smf, smf_sections

#: A component that a record does not have is omitted: it matches any value.
Identity = Mapping[str, str]


class Component(Struct, frozen=True):
    """Bytes of the first section of a kind, and the encoding of their field."""

    name: str
    triplet: tuple[int, int, int]
    at: int
    length: int
    kind: str

    def read(self, record: bytes) -> str | None:
        """Return its value; None if the record does not have it."""
        offset_at, length_at, count_at = self.triplet
        offset = int.from_bytes(record[offset_at : offset_at + 4])
        length, count = (int.from_bytes(record[at : at + 2]) for at in (length_at, count_at))
        raw = record[offset + self.at : offset + self.at + self.length]
        if not count or self.at + self.length > length or len(raw) < self.length:
            return None
        if self.kind in ("text", "character"):
            value = raw.decode("cp037").strip(" \0")
            if self.name == "serial":
                # Record types pad it with zeros to different lengths.
                value = value.lstrip("0")
            # A program may leave its name blank, and differs from programs that do not.
            return value if value or self.name == "product" else None
        if not any(raw):
            return None
        return raw.hex() if self.kind == "hex" else str(int.from_bytes(raw))


@cache
def components(record: int) -> Mapping[int | None, tuple[Component, ...]]:
    """Return the components of a record type, by subtype if they differ (else None)."""
    if record in smf.counter_record_types():
        layout = smf.layout(record)
        return {
            subtype: tuple(_of_counters(layout, subtype, *item) for item in layout.identity.items())
            for subtype in layout.order
        }
    listed = smf_sections.of_type(record)
    return {
        subtype: tuple(_of_sections(each, name, item) for name, item in each.identity.items())
        for each in listed
        for subtype in ([None] if len(listed) == 1 else each.subtypes)
    }


def _of_counters(layout: smf.SmfCounterLayout, subtype: int, name: str, field_path: str) -> Component:
    section, _, field_name = field_path.partition(".")
    triplet = layout.sections[section].triplet
    assert triplet is not None
    field = layout.field(field_name, subtype)
    offsets = (triplet.offset_at, triplet.length_at, triplet.count_at)
    return Component(name, offsets, field.offset, field.length, field.type)


def _of_sections(layout: smf_sections.SmfLayout, name: str, field_path: str) -> Component:
    section_name, _, field_name = field_path.partition(".")
    section = layout.section(section_name)
    field, offset = section.field(field_name), section.triplet
    assert offset is not None
    return Component(name, (offset, offset + 4, offset + 6), field.offset, field.length, field.kind)


@cache
def records() -> frozenset[int]:
    """Return the record types that have an identity."""
    return frozenset(record for record, _, _ in plan())


def plan() -> list[tuple[int, int | None, list[tuple[int, int, int, int, int]]]]:
    """Return type, subtype, and locations of the components, for the index pass."""
    return [
        (record, subtype, [(*component.triplet, component.at, component.length) for component in listed])
        for record in (*smf.counter_record_types(), *smf_sections.by_type())
        for subtype, listed in components(record).items()
        if listed
    ]


def read(record: int, data: bytes) -> dict[str, str]:
    """Return the components that a record has."""
    by_subtype: Mapping[Any, tuple[Component, ...]] = components(record)
    candidates: Iterable[Component] = by_subtype.get(None) or by_subtype.get(int.from_bytes(data[22:24]), ())
    return {component.name: value for component in candidates if (value := component.read(data)) is not None}


def differ(left: Identity, right: Identity) -> bool:
    """Return whether two identities contradict each other."""
    return any(right.get(name, value) != value for name, value in left.items())
