"""Writer of SMF records that are lists of sections, by the catalog's layouts, for tests and synthetic files.

Values are as in the raw tables: numbers, texts, seconds; times are microseconds since 1970, UTC for TOD
values and local for packed times, times of day and dates. Flags are a number or the names of bits.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from zlens._native import encode_text, tod_from_unix_us
from zlens.catalog import smf_record
from zlens.catalog.smf_sections import TRIPLET, SmfField, SmfLayout, SmfSection

_EPOCH = dt.date(1970, 1, 1)
_DAY_US = 86_400_000_000
_HEADER = 24

Values = Mapping[str, Any]


def interval(end_us: int, seconds: float, zone_s: int = 0) -> dict[str, Any]:
    """Return the fields of a product section for an interval with this end (UTC)."""
    start = end_us - round(seconds * 1e6) + zone_s * 1_000_000
    return {
        "IST": start,
        "DAT": start,
        "INT": seconds,
        "GIE": end_us,
        "IET": end_us,
        "LGO": zone_s,
        "OIL": round(seconds),
    }


def encode_record(
    layout: SmfLayout,
    subtype: int,
    *,
    system: str,
    local_us: int,
    sections: Mapping[str, Sequence[Values]],
    lengths: Mapping[str, int] | None = None,
    header: Values | None = None,
) -> bytes:
    """Return a record with space for its descriptor word. `lengths` are section lengths of another level.

    The values of a section that has its triplet in one of several have the number of that section, by the
    name of the column with its owner; without it, its triplet is in the first.

    Raises CatalogError for a section or a field that the layout does not have.
    """
    for name in sections:
        layout.section(name)
    kinds = sorted(
        (section for section in layout.sections if section.triplet is not None),
        key=lambda section: (_depth(layout, section), section.triplet or 0),
    )
    outer = [section for section in kinds if not section.within]
    record = bytearray(smf_record.header(layout.record, subtype, system, local_us))
    record.extend(bytes(max(section.triplet or 0 for section in outer) + TRIPLET - _HEADER))
    header_section = next((section for section in layout.sections if section.triplet is None), None)
    if header_section is not None:
        for name, value in (header or {}).items():
            field = header_section.field(name)
            record[field.offset : field.offset + field.length] = _field(field, value)
    elif layout.broken is not None:
        record[24:26] = len(outer).to_bytes(2)
    starts: dict[str, list[int]] = {"": [0]}
    for section in kinds:
        length = (lengths or {}).get(section.name, section.length)
        owner = section.owner.column if section.owner is not None and not section.owner.first else ""
        starts[section.name] = []
        for number, base in enumerate(starts[section.within]):
            values = [each for each in sections.get(section.name, ()) if each.get(owner, 0) == number]
            if not values:
                continue
            start = len(record)
            starts[section.name] += range(start, start + length * len(values), length)
            if section.length_byte:
                coded = [_own_length(section, each) for each in values]
                length = sum(map(len, coded))
            else:
                coded = [_section(section, each, length, owner) for each in values]
            record += b"".join(coded)
            at = base + (section.triplet or 0)
            record[at : at + TRIPLET] = start.to_bytes(4) + length.to_bytes(2) + len(values).to_bytes(2)
    return bytes(record)


def _depth(layout: SmfLayout, section: SmfSection) -> int:
    """Return how many sections lead to a section."""
    return 1 + _depth(layout, layout.section(section.within)) if section.within else 0


def _section(section: SmfSection, values: Values, length: int, owner: str) -> bytes:
    coded = bytearray(length)
    for name, value in values.items():
        if name == owner:
            continue
        field = section.field(name)
        if field.offset + field.length <= length:
            coded[field.offset : field.offset + field.length] = _field(field, value)
    return bytes(coded)


def _own_length(section: SmfSection, values: Values) -> bytes:
    """Return a section that begins with the number of its other bytes."""
    (text,) = (field for field in section.fields if not field.length)
    value = str(values.get(text.name, ""))
    field = replace(text, length=len(value))
    coded = _section(replace(section, fields=(field,)), {text.name: value}, text.offset + len(value), "")
    return bytes((len(coded) - 1,)) + coded[1:]


def _field(field: SmfField, value: Any) -> bytes:
    """Return the bytes of a value."""
    kind, length = field.kind, field.length
    if kind == "text":
        return encode_text(str(value), length)
    if kind == "hex":
        return bytes.fromhex(str(value))
    if kind in ("tod", "tod_local"):
        tod = tod_from_unix_us(int(value)) if value else 0
        return tod.to_bytes(8)
    if kind in ("duration", "offset"):
        units = round(float(value) * 4096e6)
        return units.to_bytes(8, signed=kind == "offset")
    if kind == "hfp":
        return hexadecimal(value)[:length]
    if kind == "flags" and not isinstance(value, int):
        set_bits: int = sum(1 << (8 * length - 1 - field.bits[name][0]) for name in value)
        return set_bits.to_bytes(length)
    if kind in ("date", "packed_time", "hundredths"):
        days, time_of_day = divmod(value, _DAY_US)
        if kind == "hundredths":
            return int(time_of_day // 10_000).to_bytes(4)
        if kind == "packed_time":
            seconds = time_of_day // 1_000_000
            return _packed(f"{seconds // 3600:02}{seconds // 60 % 60:02}{seconds % 60:02}", length)
        date = _EPOCH + dt.timedelta(days=days)
        return _packed(f"{date.year // 100 - 19}{date:%y%j}", length)
    if kind == "packed_duration":
        minutes, milliseconds = divmod(round(value * 1000), 60_000)
        return _packed(f"{minutes:02}{milliseconds:05}", length)
    if kind == "packed":
        return _packed(str(value), length)
    return int(value).to_bytes(length, signed=kind == "signed")


def _packed(digits: str, length: int) -> bytes:
    return bytes.fromhex(digits.rjust(2 * length - 1, "0") + "f")


def hexadecimal(value: float) -> bytes:
    """Return the long hexadecimal floating-point number nearest to a value."""
    sign, value = (0x80, -value) if value < 0 else (0, value)
    if not value:
        return bytes(8)
    exponent = 64
    while value >= 1:
        value, exponent = value / 16, exponent + 1
    while value < 1 / 16:
        value, exponent = value * 16, exponent - 1
    return bytes((sign | exponent,)) + int(value * 2**56).to_bytes(7)
