"""Locations of a record's entries and rules for joining records, in the format of the native decoder."""

from __future__ import annotations

from typing import Any

from zlens.catalog.layouts import JoinedCounterSet, MonitorField, MonitorSection, RecordLayout
from zlens.errors import CatalogError


def entry_location(layout: RecordLayout, section: MonitorSection) -> dict[str, Any]:
    """Return the location of a section's entries, from the fields of the record or of the enclosing entry."""
    outer = layout.section(section.within) if section.within else None
    if section.within and outer is None:
        raise CatalogError(f"{layout.record} section {section.name}: there is no section {section.within}")
    outer_fields = outer.fields if outer else layout.fields
    location: dict[str, Any] = {}
    for key, value in (("offset", section.offset), ("stride", section.stride), ("count", section.count)):
        if isinstance(value, str):
            field = _field(outer_fields, value, layout, section)
            location[f"{key}_at"] = field.offset
            location[f"{key}_len"] = field.length
        elif value is not None:
            location[key] = value
    if isinstance(section.stride, int) and section.length > section.stride:
        location["span"] = section.length
    if section.match:
        field = _field(layout.fields, section.match[0], layout, section)
        location["match"] = {"at": field.offset, "hex": section.match[1]}
    if section.bound:
        location["bound"] = _field_location(_field(layout.fields, section.bound, layout, section))
    if section.inner:
        offset, length = (_field(section.fields, name, layout, section) for name in section.inner)
        location["inner"] = {"offset": _field_location(offset), "length": _field_location(length)}
    if section.equal:
        first, second = (_field(section.fields, name, layout, section) for name in section.equal)
        location["equal"] = {"at": first.offset, "other": second.offset, "len": first.length}
    if section.texts:
        tail = max((field.end for field in section.tail), default=0)
        location["strings"] = {"at": section.texts_at, "count": len(section.texts), "tail": tail}
    if outer:
        location["within"] = entry_location(layout, outer)
    return location


def join_location(layout: RecordLayout, section: MonitorSection) -> dict[str, Any]:
    """Return how the records of a section with a `join` are joined and split into sets of counters."""
    join = section.join
    if join is None:
        raise CatalogError(f"{layout.record} section {section.name} joins no records")

    def field_location(name: str) -> dict[str, int]:
        return _field_location(_field(layout.fields, name, layout, section))

    def area(offset: str | int, length: str | None) -> dict[str, Any] | None:
        if length is None or not isinstance(offset, str):
            return None
        return {"offset": field_location(offset), "length": field_location(length)}

    # Imported only for records with counters.
    from zlens.catalog import cpumf

    def counter_set(counters: JoinedCounterSet) -> dict[str, Any]:
        machine_set = cpumf.sets()[counters.name]
        version = join.cfvn if machine_set.version == "cfvn" else join.csvn
        sizes = [
            {"from": size.first, "to": size.last, "counters": size.counters} for size in machine_set.sizes
        ]
        set_area = area(counters.offset, counters.length) if counters.offset else None
        return {
            "name": counters.name,
            "first": machine_set.first,
            "bit": counters.bit,
            "version": field_location(version),
            "sizes": sizes,
            "area": set_area,
        }

    same = [_field(layout.fields, name, layout, section) for name in join.same]
    return {
        "more": field_location(join.more),
        "more_bit": join.more_bit,
        "same": [{"at": field.offset, "len": field.length} for field in same],
        "within_us": join.within_us,
        "counters": area(section.offset, join.length),
        "active": field_location(join.active),
        "sets": [counter_set(counters) for counters in join.sets],
    }


def _field(
    fields: tuple[MonitorField, ...], name: str, layout: RecordLayout, section: MonitorSection
) -> MonitorField:
    for field in fields:
        if field.name == name:
            return field
    raise CatalogError(f"{layout.record} section {section.name}: there is no field {name}")


def _field_location(field: MonitorField) -> dict[str, int]:
    return {"at": field.offset, "len": field.length}
