"""Places of the columns of a raw table in one record of z/VM monitor data, read again by its offset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from zlens.catalog import record_bytes
from zlens.catalog.fields import MonitorField, MonitorSection
from zlens.catalog.layouts import HEADER_LENGTH, RecordLayout
from zlens.catalog.raw_columns import field_parts
from zlens.errors import ZlensError
from zlens.inputs.source import RecordRead

_LENGTH = 2


def read_bytes(path: str, offset: int, domain: int, number: int) -> bytes | None:
    """Return the record at an offset; None if another one is there or the file cannot be read."""
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            header = file.read(HEADER_LENGTH)
            length = int.from_bytes(header[:_LENGTH])
            if len(header) < HEADER_LENGTH or header[4] != domain or header[6:8] != number.to_bytes(2):
                return None
            data = header + file.read(length - HEADER_LENGTH)
    except (OSError, ValueError):
        return None
    return data if len(data) == length else None


def find_places(layout: RecordLayout | None, section: str, data: bytes) -> RecordRead:
    """Return a record with the places of its fields, and of those of a section's entries if one is named."""
    if layout is None:
        return RecordRead(data, [])
    fixed = _places(layout.fields, 0, data)
    if not section:
        return RecordRead(data, [fixed])
    part = next((each for each in layout.sections if each.name.lower() == section), None)
    part = part and part.placed(layout.fields)
    rows = []
    for start in _entries(part, layout, data) if part is not None else ():
        places, values = _places(part.fields if part else (), start, data)
        rows.append(({**fixed[0], **places}, {**fixed[1], **values}))
    return RecordRead(data, rows)


def _places(
    fields: Sequence[MonitorField], start: int, data: bytes
) -> tuple[dict[str, tuple[int, int]], dict[str, Any]]:
    places = {
        part.name.lower(): (start + field.offset + (part.element or 0) * field.length, field.length)
        for field in fields
        for part in field_parts(field)
        if not field.reserved and field.length
    }
    values = record_bytes.decode_fields([field for field in fields if not field.reserved], data[start:])
    return (
        {name: place for name, place in places.items() if sum(place) <= len(data)},
        {name.lower(): value for name, value in values.items()},
    )


def _entries(section: MonitorSection, layout: RecordLayout, data: bytes) -> Iterator[int]:
    """Yield the offsets of a section's entries; nothing for entries of variable length."""
    if section.within or section.texts or section.inner or section.join:
        return
    values = record_bytes.decode_fields(layout.fields, data)
    start, stride, count = (
        values.get(size) if isinstance(size, str) else size
        for size in (section.offset, section.stride, section.count)
    )
    if not isinstance(start, int) or not isinstance(stride, int) or stride <= 0:
        return
    most = (len(data) - start) // stride
    yield from range(start, start + stride * min(most, most if count is None else int(count)), stride)


def split_table(table: str) -> tuple[int, int, str]:
    """Return domain, number and section of a raw table: d0r16_cpu."""
    record, _, section = table.partition("_")
    domain, _, number = record.removeprefix("d").partition("r")
    if not (domain.isdecimal() and number.isdecimal()):
        raise ZlensError(f"{table} is not a table of records")
    return int(domain), int(number), section
