"""Reference decoder of record sections: slow and simple, to check the native one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zlens.catalog.layouts import HEADER_LENGTH, MonitorSection, RecordLayout
from zlens.catalog.record_bytes import decode, decode_ascii, decode_fields


def decode_entries(layout: RecordLayout, section: MonitorSection, data: bytes) -> list[dict[str, Any]]:
    """Return the values of a section's entries without those of their record; empty for joined records."""
    if section.join is not None or not _matches(layout, section, data):
        return []
    if section.within is None:
        return [
            _row(section, entry, number)
            for number, entry in _entries_of(section, decode(layout, data), data, 0)
        ]
    outer = layout.section(section.within)
    if outer is None or not _matches(layout, outer, data):
        return []
    record = decode(layout, data)
    outer_entry = next(iter(_entries_of(outer, record, data, 0)), None)
    if outer_entry is None:
        return []
    base = _number(outer.offset, record) or 0
    length = record[outer.bound] if outer.bound else None
    end = len(data) if length is None else min(base + length, len(data))
    values = decode_fields(outer.fields, outer_entry[1])
    return [_row(section, entry, number) for number, entry in _entries_of(section, values, data[:end], base)]


def _matches(layout: RecordLayout, section: MonitorSection, data: bytes) -> bool:
    if section.match is None:
        return True
    field = layout.field(section.match[0])
    begins = bytes.fromhex(section.match[1])
    return field is not None and data[field.offset : field.offset + len(begins)] == begins


def _number(reference: str | int | None, values: Mapping[str, Any]) -> int | None:
    return values[reference] if isinstance(reference, str) else reference


def _entries_of(
    section: MonitorSection, values: Mapping[str, Any], data: bytes, base: int
) -> Iterator[tuple[int, bytes]]:
    """Yield number and bytes of each entry, located by values of its record or of the enclosing entry."""
    offset, stride = _number(section.offset, values), _number(section.stride, values)
    count = _number(section.count, values)
    if offset is None or not stride or offset < (1 if base else HEADER_LENGTH) or stride < 0:
        return
    first = base + offset
    span = max(section.length, stride) if isinstance(section.stride, int) else stride
    end = len(data)
    if section.bound:
        end = min(first + (values[section.bound] or 0), end)
        if count == 1 and first < end:
            span = min(span, end - first)
    fitting = max((end - first - span) // stride + 1, 0) if end - first >= span else 0
    for number in range(fitting if count is None else min(max(count, 0), fitting)):
        start = first + number * stride
        if section.texts:
            yield number + 1, data[start:end]
        else:
            yield number + 1, data[start : start + span]


def _row(section: MonitorSection, entry: bytes, number: int) -> dict[str, Any]:
    row = decode_fields(section.fields, entry)
    if section.ordinal:
        row[section.ordinal] = number
    offset = section.texts_at
    for name in section.texts:
        length = int.from_bytes(entry[offset : offset + 2])
        row[name] = decode_ascii(entry[offset + 2 : offset + 2 + length])
        offset += 2 + length
    row |= decode_fields(section.tail, entry[offset:])
    return row
