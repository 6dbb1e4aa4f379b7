"""Reader of the fields of one SMF record, and writer of records, by the catalog's layouts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from zlens._native import encode_text
from zlens.catalog import smf

#: Length of the record descriptor word before the header; offsets of sections count from its start.
_RDW = 4
#: Flag of the header: subsystem and subtype follow, in the current format.
_SUBTYPES = 0xDE
_EPOCH = dt.date(1970, 1, 1)
_DAY_US = 86_400_000_000


class CounterSetValues(Struct, frozen=True):
    """Counters of one set: its name, the values, and the bytes of each (subtype 2 always has 8)."""

    name: str
    values: Sequence[int]
    width: int = 8


def local_us(record: bytes) -> int | None:
    """Return the local time in the header, in microseconds since 1970-01-01 00:00; None if it is invalid."""
    digits = record[10:14].hex()
    if len(digits) < 8 or not digits[:7].isdecimal() or digits[1] not in "01":
        return None
    year = 1900 + 100 * int(digits[1]) + int(digits[2:4])
    day = int(digits[4:7])
    if not 1 <= day <= 366:
        return None
    days = (dt.date(year, 1, 1) - _EPOCH).days + day - 1
    return days * _DAY_US + int.from_bytes(record[6:10]) * 10_000


def decode(layout: smf.SmfCounterLayout, record: bytes) -> dict[str, Any]:
    """Return the fields of a record by name: int, str, or None if the record has no such field."""
    subtype = int.from_bytes(record[22:24])
    values: dict[str, Any] = {}
    for field in layout.fields:
        if field.subtype not in (None, subtype):
            continue
        part = _part(layout.sections[field.section], record)
        raw = part[field.offset : field.offset + field.length] if part is not None else b""
        values[field.name] = _value(field, raw) if len(raw) == field.length else None
    return values


def _part(section: smf.SmfCounterSection, record: bytes) -> bytes | None:
    if section.triplet is None:
        return record
    triplet = section.triplet
    if len(record) < max(triplet.offset_at + 4, triplet.length_at + 2, triplet.count_at + 2):
        return None
    offset = int.from_bytes(record[triplet.offset_at : triplet.offset_at + 4])
    length = int.from_bytes(record[triplet.length_at : triplet.length_at + 2])
    count = int.from_bytes(record[triplet.count_at : triplet.count_at + 2])
    if not count or offset + length > len(record):
        return None
    return record[offset : offset + length]


def _value(field: smf.SmfCounterField, raw: bytes) -> Any:
    if field.type == "character":
        return raw.decode("cp037").rstrip(" \0")
    if field.type == "bit":
        return bool(raw[0] & (0x80 >> (field.bit or 0)))
    return int.from_bytes(raw)


def encode(
    layout: smf.SmfCounterLayout,
    subtype: int,
    *,
    system: str,
    local_us: int,
    values: Mapping[str, Any],
    sets: Sequence[CounterSetValues],
    short_data: int | None = None,
) -> bytes:
    """Return a record with space for its descriptor word. `values` are fields by name, with raw TOD values.

    `short_data` writes a shorter data section, as older levels do.
    """
    layout_subtype = layout.subtypes[subtype]
    sizes = {"subsystem": layout.sections["subsystem"].length, "identification": None, "data": None}
    sizes["identification"] = layout.sections["identification"].length
    sizes["data"] = layout_subtype.length if short_data is None else short_data
    triplets = {name: layout.sections[name].triplet for name in sizes}
    first = max(triplet.count_at + 2 for triplet in triplets.values() if triplet is not None)
    record = bytearray(header(layout.record, subtype, system, local_us))
    record.extend(bytes(first - len(record)))
    offsets = {"header": 0}
    for name, size in sizes.items():
        triplet = triplets[name]
        assert triplet is not None
        assert size is not None
        offsets[name] = len(record)
        _put_triplet(record, triplet, 0, len(record), size, 1)
        record.extend(bytes(size))
    length = len(record)
    for name, value in values.items():
        field = layout.field(name, subtype)
        start = offsets[field.section] + field.offset
        if start + field.length <= length:
            _put(record, start, field, value)
    _counters(layout, layout_subtype, record, offsets["data"], sets)
    return bytes(record)


def header(record: int, subtype: int, system: str, local_us: int) -> bytes:
    """Return the header of a record with a subtype, with space for its descriptor word."""
    days, time_of_day = divmod(local_us, _DAY_US)
    date = _EPOCH + dt.timedelta(days=days)
    packed = f"0{date.year // 100 - 19}{date.year % 100:02}{date.timetuple().tm_yday:03}f"
    return b"".join(
        (
            bytes(_RDW),
            bytes((_SUBTYPES, record)),
            (time_of_day // 10_000).to_bytes(4),
            bytes.fromhex(packed),
            encode_text(system, 4),
            encode_text("STC", 4),
            subtype.to_bytes(2),
        )
    )


def _put(record: bytearray, start: int, field: smf.SmfCounterField, value: Any) -> None:
    if field.type == "character":
        record[start : start + field.length] = encode_text(str(value), field.length)
    elif field.type == "bit":
        if value:
            record[start] |= 0x80 >> (field.bit or 0)
    else:
        record[start : start + field.length] = int(value).to_bytes(field.length)


def _put_triplet(
    record: bytearray, triplet: smf.Triplet, base: int, offset: int, length: int, count: int
) -> None:
    for field_offset, value, size in (
        (triplet.offset_at, offset, 4),
        (triplet.length_at, length, 2),
        (triplet.count_at, count, 2),
    ):
        record[base + field_offset : base + field_offset + size] = value.to_bytes(size)


def _counters(
    layout: smf.SmfCounterLayout,
    layout_subtype: smf.Subtype,
    record: bytearray,
    data: int,
    sets: Sequence[CounterSetValues],
) -> None:
    """Append the list of counter sets and the counters."""
    numbers = {name: kind for name, kind, _, _ in smf.counter_sets(layout.record)}
    _put_triplet(record, layout_subtype.entries, data, len(record), layout_subtype.entry, len(sets))
    entries = len(record)
    record.extend(bytes(layout_subtype.entry * len(sets)))
    if layout_subtype.area is not None:
        count = sum(len(counter_set.values) for counter_set in sets)
        _put_triplet(record, layout_subtype.area, data, len(record), 8, count)
    for position, counter_set in enumerate(sets):
        entry = entries + position * layout_subtype.entry
        _put_number(record, entry, layout_subtype.kind, numbers[counter_set.name])
        width = 8 if layout_subtype.own is None else counter_set.width
        if layout_subtype.own is not None:
            _put_triplet(record, layout_subtype.own, entry, len(record), width, len(counter_set.values))
        if layout_subtype.count is not None:
            _put_number(record, entry, layout_subtype.count, len(counter_set.values))
        for value in counter_set.values:
            record.extend(value.to_bytes(width))


def _put_number(record: bytearray, entry: int, location: smf.BytePlace, number: int) -> None:
    start = entry + location.offset
    record[start : start + location.length] = number.to_bytes(location.length)
