"""Places of the columns of a raw table in one SMF record, which is read again by its offset."""

from __future__ import annotations

from typing import Any

from zlens.catalog import smf_sections
from zlens.inputs.source import RecordRead

_RDW = 4
#: Offset of the record type in a record, and of its subtype.
_TYPE = 5
_SUBTYPE = (22, 2)


def read_record(table: str, path: str, offset: int) -> RecordRead | None:
    """Return the record at an offset with the places of its sections' columns; None if another one is there.

    A compressed dump, and a record of several segments, have no such record.
    """
    number = table.removeprefix("smf").partition("_")[0]
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            word = file.read(_RDW)
            length = int.from_bytes(word[:2])
            data = word + file.read(max(0, length - _RDW))
    except (OSError, ValueError):
        return None
    if len(data) != length or length <= _TYPE or word[2:] != bytes(2) or str(data[_TYPE]) != number:
        return None
    return RecordRead(data, _rows(table, data))


def _rows(table: str, data: bytes) -> list[tuple[dict[str, tuple[int, int]], dict[str, Any]]]:
    found = smf_sections.find(table)
    if found is None:
        return []
    layout, section = found
    return [
        (_places(layout, section, start, length, len(data)), {"section_no": number})
        for number, (start, length) in enumerate(smf_sections.section_extents(layout, section, data))
    ]


def _places(
    layout: smf_sections.SmfLayout, section: smf_sections.SmfSection, start: int, length: int, size: int
) -> dict[str, tuple[int, int]]:
    places = {
        column.name: (start + field.offset, field.length or length - field.offset)
        for field in section.fields
        for column in smf_sections.field_columns(field)
    }
    for column, name in section.keys.items():
        field = section.field(name)
        places[column] = (start + field.offset, field.length)
    if len(layout.subtypes) > 1:
        places["subtype"] = _SUBTYPE
    return {name: place for name, place in places.items() if place[1] and sum(place) <= size}
