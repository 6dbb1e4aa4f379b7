"""Decoder of single records, by layout. Tables are decoded by the native decoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zlens.catalog.layouts import MonitorField, RecordLayout
from zlens.catalog.raw_columns import field_parts

_SIGNED_MAX = 2**63 - 1
_BLANKS = b"\x40\x00"


def decode(layout: RecordLayout, data: bytes) -> dict[str, Any]:
    """Return the values of a record by field name, elements of arrays as NAME_1 and so on.

    A value beyond the record's end is None, as is a number above 2^63-1 and a TOD value of zero.
    """
    return decode_fields(layout.fields, data)


def decode_ascii(raw: bytes) -> str:
    """Return text without trailing blanks and zeros, with a question mark for every other character."""
    return raw.rstrip(b" \0").decode("ascii", "replace").replace("\ufffd", "?")


def decode_fields(fields: Sequence[MonitorField], data: bytes) -> dict[str, Any]:
    """Return the values of fields by name."""
    values: dict[str, Any] = {}
    for field in fields:
        for part in field_parts(field):
            start = field.offset + (part.element or 0) * field.length
            width = field.total_length if part.element is None else field.length
            end = start + width if width else len(data)
            raw = data[start:end] if end <= len(data) and start <= len(data) else None
            values[part.name] = None if raw is None else _value(part.type, field, raw)
    return values


def _value(kind: str, field: MonitorField, raw: bytes) -> Any:
    if kind == "text":
        return raw.rstrip(_BLANKS).decode("cp037")
    if kind == "ascii":
        return decode_ascii(raw)
    if kind == "hex":
        return raw.hex()
    number = int.from_bytes(raw, "big", signed=kind == "int" and field.type == "signed")
    if kind == "time":
        return number or None
    return number if number <= _SIGNED_MAX else None
