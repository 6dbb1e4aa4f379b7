"""Reads fields of one SMF record, and writes records, by the catalog's layouts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from zlens import _native
from zlens.catalog import smf

#: A record descriptor word stands before the header; offsets of sections count from it.
_RDW = 4
#: Flag of the header: subsystem and subtype follow, in the form of today.
_SUBTYPES = 0xDE
_EPOCH = dt.date(1970, 1, 1)
_DAY_US = 86_400_000_000


@dataclass(frozen=True, slots=True)
class CounterSet:
    """Counters of one set: its name, the values, and the bytes of each (subtype 2 has 8 always)."""

    name: str
    values: Sequence[int]
    width: int = 8


def local_us(record: bytes) -> int | None:
    """The local time in the header, in microseconds since 1970-01-01 00:00; None where it is none."""
    digits = record[10:14].hex()
    if len(digits) < 8 or not digits[:7].isdigit() or digits[1] not in "01":
        return None
    year = 1900 + 100 * int(digits[1]) + int(digits[2:4])
    day = int(digits[4:7])
    if not 1 <= day <= 366:
        return None
    days = (dt.date(year, 1, 1) - _EPOCH).days + day - 1
    return days * _DAY_US + int.from_bytes(record[6:10]) * 10_000


def decode(layout: smf.Layout, record: bytes) -> dict[str, Any]:
    """The fields of a record by name: int, str, or None where the record has no such field."""
    subtype = int.from_bytes(record[22:24])
    found: dict[str, Any] = {}
    for field in layout.fields:
        if field.subtype not in (None, subtype):
            continue
        part = _part(layout.sections[field.section], record)
        raw = part[field.offset : field.offset + field.length] if part is not None else b""
        found[field.name] = _value(field, raw) if len(raw) == field.length else None
    return found


def _part(section: smf.Section, record: bytes) -> bytes | None:
    if section.triplet is None:
        return record
    at = section.triplet
    if len(record) < max(at.offset_at + 4, at.length_at + 2, at.count_at + 2):
        return None
    offset = int.from_bytes(record[at.offset_at : at.offset_at + 4])
    length = int.from_bytes(record[at.length_at : at.length_at + 2])
    count = int.from_bytes(record[at.count_at : at.count_at + 2])
    if not count or offset + length > len(record):
        return None
    return record[offset : offset + length]


def _value(field: smf.Field, raw: bytes) -> Any:
    if field.type == "character":
        return raw.decode("cp037").rstrip(" \0")
    if field.type == "bit":
        return bool(raw[0] & (0x80 >> (field.bit or 0)))
    return int.from_bytes(raw)


def encode(
    layout: smf.Layout,
    subtype: int,
    *,
    system: str,
    local_us: int,
    values: Mapping[str, Any],
    sets: Sequence[CounterSet],
    short_data: int | None = None,
) -> bytes:
    """A record with room for its descriptor word. `values` are fields by name: TOD values as they are.

    `short_data` writes a data section of fewer bytes, as older levels do.
    """
    what = layout.subtypes[subtype]
    sizes = {"subsystem": layout.sections["subsystem"].length, "identification": None, "data": None}
    sizes["identification"] = layout.sections["identification"].length
    sizes["data"] = what.length if short_data is None else short_data
    triplets = {name: layout.sections[name].triplet for name in sizes}
    first = max(t.count_at + 2 for t in triplets.values() if t is not None)
    record = bytearray(header(layout.record, subtype, system, local_us))
    record.extend(bytes(first - len(record)))
    places = {"header": 0}
    for name, size in sizes.items():
        triplet = triplets[name]
        assert triplet is not None
        assert size is not None
        places[name] = len(record)
        _put_triplet(record, triplet, 0, len(record), size, 1)
        record.extend(bytes(size))
    whole = len(record)
    for name, value in values.items():
        field = layout.field(name, subtype)
        at = places[field.section] + field.offset
        if at + field.length <= whole:
            _put(record, at, field, value)
    _counters(layout, what, record, places["data"], sets)
    return bytes(record)


def header(record: int, subtype: int, system: str, local_us: int) -> bytes:
    """The header of a record with a subtype, with room for its descriptor word."""
    days, rest = divmod(local_us, _DAY_US)
    date = _EPOCH + dt.timedelta(days=days)
    packed = f"0{date.year // 100 - 19}{date.year % 100:02}{date.timetuple().tm_yday:03}f"
    return b"".join(
        (
            bytes(_RDW),
            bytes((_SUBTYPES, record)),
            (rest // 10_000).to_bytes(4),
            bytes.fromhex(packed),
            _native.encode_text(system, 4),
            _native.encode_text("STC", 4),
            subtype.to_bytes(2),
        )
    )


def _put(record: bytearray, at: int, field: smf.Field, value: Any) -> None:
    if field.type == "character":
        record[at : at + field.length] = _native.encode_text(str(value), field.length)
    elif field.type == "bit":
        if value:
            record[at] |= 0x80 >> (field.bit or 0)
    else:
        record[at : at + field.length] = int(value).to_bytes(field.length)


def _put_triplet(
    record: bytearray, triplet: smf.Triplet, base: int, offset: int, length: int, count: int
) -> None:
    for at, value, size in (
        (triplet.offset_at, offset, 4),
        (triplet.length_at, length, 2),
        (triplet.count_at, count, 2),
    ):
        record[base + at : base + at + size] = value.to_bytes(size)


def _counters(
    layout: smf.Layout, what: smf.Subtype, record: bytearray, data: int, sets: Sequence[CounterSet]
) -> None:
    """The list of counter sets and the counters."""
    numbers = {name: kind for name, kind, _, _ in smf.counter_sets(layout.record)}
    _put_triplet(record, what.entries, data, len(record), what.entry, len(sets))
    entries = len(record)
    record.extend(bytes(what.entry * len(sets)))
    if what.area is not None:
        count = sum(len(each.values) for each in sets)
        _put_triplet(record, what.area, data, len(record), 8, count)
    for nth, each in enumerate(sets):
        entry = entries + nth * what.entry
        offset, length = what.kind
        record[entry + offset : entry + offset + length] = numbers[each.name].to_bytes(length)
        width = 8 if what.own is None else each.width
        if what.own is not None:
            _put_triplet(record, what.own, entry, len(record), width, len(each.values))
        if what.count is not None:
            offset, length = what.count
            record[entry + offset : entry + offset + length] = len(each.values).to_bytes(length)
        for value in each.values:
            record.extend(value.to_bytes(width))
