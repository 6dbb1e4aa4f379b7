"""Records as bytes, by layout: written for demo files and tests, and read back the plain way.

The decoder proper is native; this one is slow and simple, and is what the native one is held against.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zlens.catalog.columns import column_type, field_parts
from zlens.catalog.layouts import HEADER_LENGTH, Field, Layout, Section
from zlens.errors import CatalogError

_SIGNED_MAX = 2**63 - 1
_RECORD_MAX = 0xFFFF
_BLANKS = b"\x40\x00"


def encode(
    layout: Layout,
    values: Mapping[str, Any],
    *,
    tod: int,
    entries: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    length: int | None = None,
) -> bytes:
    """A record with these values by field name; fields without one are binary zeros.

    Numbers are ints, text is str, hexadecimal is str or bytes, times are TOD values like `tod`, arrays
    are lists. `entries` are the sections' entries by name of the section; the fields that tell where
    they are and how many are filled in. `length` cuts the record or pads it with zeros.
    """
    given = dict(values)
    known = {field.name for field in layout.fields}
    for name in given:
        if name not in known:
            raise CatalogError(f"{layout.record} {layout.release} has no field {name}")
    data = bytearray(layout.length)
    tail = b""
    for name, rows in (entries or {}).items():
        section = layout.section(name)
        if section is None:
            raise CatalogError(f"{layout.record} {layout.release} has no section {name}")
        tail += _entries(layout, section, rows, given, len(data) + len(tail))
    # Overlays come last: whoever gives both a group and a part of it means the part.
    for field in sorted(layout.fields, key=lambda field: field.overlay):
        if given.get(field.name) is None:
            continue
        value = _field_bytes(field, given[field.name])
        if field.length == 0:
            tail += value
        else:
            data[field.offset : field.end] = value
    record = bytes(data) + tail
    if length is not None:
        record = record[:length].ljust(length, b"\0")
    if len(record) > _RECORD_MAX:
        raise CatalogError(f"a record of {len(record)} bytes", expected=f"at most {_RECORD_MAX}")
    header = (
        len(record).to_bytes(2, "big")
        + bytes(2)
        + bytes([layout.domain, 0])
        + layout.number.to_bytes(2, "big")
        + tod.to_bytes(8, "big")
        + bytes(4)
    )
    return header + record[HEADER_LENGTH:]


def decode(layout: Layout, data: bytes) -> dict[str, Any]:
    """The values of a record by field name, elements of arrays as NAME_1 and so on.

    What stands beyond the record's end is None, as is a number above 2^63-1 and a TOD value of zero.
    """
    return _decode(layout.fields, data)


def decode_entries(layout: Layout, section: Section, data: bytes) -> list[dict[str, Any]]:
    """The values of a section's entries, without those of their record."""
    record = decode(layout, data)
    if section.match is not None:
        field = layout.field(section.match[0])
        begins = bytes.fromhex(section.match[1])
        if field is None or data[field.offset : field.offset + len(begins)] != begins:
            return []

    def number(place: str | int | None) -> int | None:
        return record[place] if isinstance(place, str) else place

    offset, stride, count = number(section.offset), number(section.stride), number(section.count)
    if offset is None or not stride or offset < HEADER_LENGTH or stride < 0:
        return []
    fitting = max(len(data) - offset, 0) // stride
    found = fitting if count is None else min(max(count, 0), fitting)
    return [
        _decode(section.fields, data[offset + i * stride : offset + (i + 1) * stride]) for i in range(found)
    ]


def _entries(
    layout: Layout, section: Section, rows: Sequence[Mapping[str, Any]], given: dict[str, Any], at: int
) -> bytes:
    """The bytes of a section's entries; tells the record where they are."""
    stride = (
        section.stride
        if isinstance(section.stride, int)
        else given.setdefault(section.stride, section.length)
    )
    if isinstance(section.offset, str):
        given.setdefault(section.offset, at)
    elif section.offset != at:
        raise CatalogError(f"section {section.name} stands at {section.offset}, not at {at}")
    if isinstance(section.count, str):
        given.setdefault(section.count, len(rows))
    if section.match is not None:
        name, begins = section.match
        field = layout.field(name)
        if field is not None:
            given.setdefault(name, bytes.fromhex(begins).ljust(field.length, b"\0"))
    known = {field.name: field for field in section.fields}
    written = bytearray()
    for row in rows:
        entry = bytearray(stride)
        for name, value in row.items():
            if name not in known:
                raise CatalogError(f"{layout.record} section {section.name} has no field {name}")
            if value is not None:
                field = known[name]
                entry[field.offset : field.end] = _field_bytes(field, value)
        written += entry
    return bytes(written)


def _field_bytes(field: Field, value: Any) -> bytes:
    if field.count > 1 and not isinstance(value, str | bytes):
        if len(value) != field.count:
            raise CatalogError(f"{field.name} has {field.count} elements, not {len(value)}")
        return b"".join(_element_bytes(field, element) for element in value)
    if isinstance(value, str | bytes) or field.length == 0:
        return _text_bytes(field, value, field.span)
    return _element_bytes(field, value)


def _element_bytes(field: Field, value: Any) -> bytes:
    if isinstance(value, str | bytes):
        return _text_bytes(field, value, field.length)
    try:
        return int(value).to_bytes(field.length, "big", signed=field.type == "signed")
    except OverflowError:
        raise CatalogError(f"{value} does not fit into {field.length} bytes of {field.name}") from None


def _text_bytes(field: Field, value: str | bytes, width: int) -> bytes:
    if isinstance(value, bytes):
        data, pad = value, b"\0"
    elif _is_text(field):
        data, pad = value.encode("cp037"), b"\x40"
    else:
        data, pad = bytes.fromhex(value), b"\0"
    if width == 0:
        return data
    if len(data) > width:
        raise CatalogError(f"{value!r} is longer than the {width} bytes of {field.name}")
    return data.ljust(width, pad)


def _is_text(field: Field) -> bool:
    return column_type(field) == "text"


def _decode(fields: Sequence[Field], data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in fields:
        for part in field_parts(field):
            start = field.offset + (part.element or 0) * field.length
            width = field.span if part.element is None else field.length
            end = start + width if width else len(data)
            raw = data[start:end] if end <= len(data) and start <= len(data) else None
            found[part.name] = None if raw is None else _value(part.type, field, raw)
    return found


def _value(kind: str, field: Field, raw: bytes) -> Any:
    if kind == "text":
        return raw.rstrip(_BLANKS).decode("cp037")
    if kind == "hex":
        return raw.hex()
    number = int.from_bytes(raw, "big", signed=kind == "int" and field.type == "signed")
    if kind == "time":
        return number or None
    return number if number <= _SIGNED_MAX else None
