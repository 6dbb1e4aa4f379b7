"""Encoder of single monitor records, by layout, for files that tests and the bench write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from zlens.catalog.layouts import HEADER_LENGTH, MonitorField, MonitorSection, RecordLayout
from zlens.catalog.raw_columns import column_type
from zlens.errors import CatalogError

_RECORD_MAX = 0xFFFF
_TEXT = (str, bytes)
_place = itemgetter(0)
#: Keyed by the identity of a layout's fields; the entry references them, so that the id is not reused.
_NAMES: dict[int, tuple[Sequence[MonitorField], dict[str, tuple[tuple[bool, int], MonitorField]]]] = {}


def encode(
    layout: RecordLayout,
    values: Mapping[str, Any],
    *,
    tod: int,
    entries: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    length: int | None = None,
) -> bytes:
    """Return a record with these values by field name; fields without a value are binary zeros.

    Numbers are ints, text is str, hexadecimal is str or bytes, times are TOD values like `tod`, arrays
    are lists. `entries` are the sections' entries by section name; the fields with their offset and
    number are filled in. `length` truncates the record or pads it with zeros.
    """
    field_values = dict(values)
    fields_by_name = _by_name(layout.fields)
    for name in field_values:
        if name not in fields_by_name:
            raise CatalogError(f"{layout.record} {layout.release} has no field {name}")
    data = bytearray(layout.length)
    tail = b""
    for name, rows in (entries or {}).items():
        section = layout.section(name)
        if section is None:
            raise CatalogError(f"{layout.record} {layout.release} has no section {name}")
        tail += _entries(layout, section, rows, field_values, len(data) + len(tail))
    # Overlays come last: if both a group and a part of it have values, the part takes precedence.
    written = [fields_by_name[name] for name, value in field_values.items() if value is not None]
    for _, field in sorted(written, key=_place):
        value = _field_bytes(field, field_values[field.name])
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


def _entries(
    layout: RecordLayout,
    section: MonitorSection,
    rows: Sequence[Mapping[str, Any]],
    field_values: dict[str, Any],
    position: int,
) -> bytes:
    """Return the bytes of a section's entries; adds their location to the record's values."""
    stride = (
        section.stride
        if isinstance(section.stride, int)
        else field_values.setdefault(section.stride, section.length)
    )
    if isinstance(section.offset, str):
        field_values.setdefault(section.offset, position)
    elif section.offset != position:
        raise CatalogError(f"section {section.name} is at {section.offset}, not at {position}")
    if isinstance(section.count, str):
        field_values.setdefault(section.count, len(rows))
    if section.match is not None:
        name, begins = section.match
        field = layout.field(name)
        if field is not None:
            field_values.setdefault(name, bytes.fromhex(begins).ljust(field.length, b"\0"))
    if section.bound:
        field_values.setdefault(section.bound, sum(len(_entry(layout, section, stride, row)) for row in rows))
    return b"".join(_entry(layout, section, stride, row) for row in rows)


def _entry(layout: RecordLayout, section: MonitorSection, stride: int, row: Mapping[str, Any]) -> bytes:
    """Return one entry, with its texts and inner entries, which the row has under their section's name."""
    values = dict(row)
    inner_rows = {
        other.name: values.pop(other.name)
        for other in layout.sections
        if other.within == section.name and other.name in values
    }
    trailing = b""
    for name in section.texts:
        text = str(values.pop(name, "")).encode("ascii", "replace")
        trailing += len(text).to_bytes(2) + text
    if section.tail:
        tail = {field.name: values.pop(field.name) for field in section.tail if field.name in values}
        trailing += _fixed(section, section.tail, max(field.end for field in section.tail), tail)
    for name, rows in inner_rows.items():
        inner = layout.section(name)
        if inner is None:
            raise CatalogError(f"{layout.record} {layout.release} has no section {name}")
        step = (
            values.setdefault(inner.stride, inner.length) if isinstance(inner.stride, str) else inner.stride
        )
        if isinstance(inner.offset, str):
            values.setdefault(inner.offset, stride + len(trailing))
        if isinstance(inner.count, str):
            values.setdefault(inner.count, len(rows))
        trailing += b"".join(_fixed(inner, inner.fields, step, other) for other in rows)
    if section.inner:
        start = section.texts_at if section.texts else 0
        values.setdefault(section.inner[0], start)
        values.setdefault(section.inner[1], stride + len(trailing) - int(values[section.inner[0]]))
    return _fixed(section, section.fields, stride, values) + trailing


def _fixed(
    section: MonitorSection, fields: Sequence[MonitorField], length: int, values: Mapping[str, Any]
) -> bytes:
    fields_by_name = _by_name(fields)
    data_bytes = bytearray(length)
    for name, value in values.items():
        if name not in fields_by_name:
            raise CatalogError(f"section {section.name} has no field {name}")
        if value is not None:
            _, field = fields_by_name[name]
            data = _field_bytes(field, value)
            # Bytes beyond a length that was set shorter than described are truncated.
            data_bytes[field.offset : field.end] = data[: max(length - field.offset, 0)]
    return bytes(data_bytes)


def _by_name(fields: Sequence[MonitorField]) -> dict[str, tuple[tuple[bool, int], MonitorField]]:
    """Return fields by name, each with its write order; cached for the fields of a layout."""
    cached = _NAMES.get(id(fields))
    if cached is None or cached[0] is not fields:
        ordered = {field.name: ((field.overlay, position), field) for position, field in enumerate(fields)}
        cached = _NAMES[id(fields)] = (fields, ordered)
    return cached[1]


def _field_bytes(field: MonitorField, value: Any) -> bytes:
    if field.count > 1 and not isinstance(value, _TEXT):
        if len(value) != field.count:
            raise CatalogError(f"{field.name} has {field.count} elements, not {len(value)}")
        return b"".join(_element_bytes(field, element) for element in value)
    if isinstance(value, _TEXT) or field.length == 0:
        return _text_bytes(field, value, field.total_length)
    return _element_bytes(field, value)


def _element_bytes(field: MonitorField, value: Any) -> bytes:
    if isinstance(value, _TEXT):
        return _text_bytes(field, value, field.length)
    try:
        return int(value).to_bytes(field.length, "big", signed=field.type == "signed")
    except OverflowError:
        raise CatalogError(f"{value} does not fit into {field.length} bytes of {field.name}") from None


def _text_bytes(field: MonitorField, value: str | bytes, width: int) -> bytes:
    if isinstance(value, bytes):
        data, pad = value, b"\0"
    elif column_type(field) == "text":
        data, pad = value.encode("cp037"), b"\x40"
    elif column_type(field) == "ascii":
        data, pad = value.encode("ascii", "replace"), b" "
    else:
        data, pad = bytes.fromhex(value), b"\0"
    if width == 0:
        return data
    if len(data) > width:
        raise CatalogError(f"{value!r} is longer than the {width} bytes of {field.name}")
    return data.ljust(width, pad)
