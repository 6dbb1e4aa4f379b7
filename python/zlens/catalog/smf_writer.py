"""Writer of SMF records that are lists of sections, by the catalog's layouts, for tests and synthetic files.

Values are as in the raw tables: numbers, texts, seconds; times are microseconds since 1970, UTC for TOD
values and local for packed times, times of day and dates. Flags are a number or the names of bits.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from zlens._native import encode_text, tod_from_unix_us
from zlens.catalog import smf_record
from zlens.catalog.smf_sections import SmfField, SmfLayout, SmfSection
from zlens.errors import CatalogError

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
    """Return a record with space for its descriptor word. `lengths` are section lengths of another level."""
    return _record(layout, subtype, system, local_us, _bytes(layout, sections, lengths), header or {}, b"")


def encode_split_record(
    layout: SmfLayout,
    subtype: int,
    *,
    system: str,
    local_us: int,
    sections: Mapping[str, Sequence[Values]],
    largest: int,
    lengths: Mapping[str, int] | None = None,
    base: int = 1,
) -> list[bytes]:
    """Return the parts of a record that exceeds the largest size; sections are numbered from `base`."""
    assert layout.broken is not None
    leading = layout.broken.section
    coded = _bytes(layout, sections, lengths)
    kinds = [section.name for section in _ordered(layout)]
    capacity = largest - len(_record(layout, subtype, system, local_us, {leading: coded[leading]}, {}, b""))
    capacity -= 16 + 4 * len(kinds)
    parts: list[dict[str, tuple[int, list[bytes]]]] = [{}]
    remaining = capacity
    for name in kinds:
        for number, section_bytes in enumerate(coded.get(name, [])):
            if name == leading:
                continue
            if len(section_bytes) > capacity:
                raise CatalogError(f"a section of {len(section_bytes)} bytes does not fit into {largest}")
            if len(section_bytes) > remaining:
                parts.append({})
                remaining = capacity
            parts[-1].setdefault(name, (number, []))[1].append(section_bytes)
            remaining -= len(section_bytes)
    records = []
    for number, part in enumerate(parts):
        area = bytearray()
        for value, size in ((len(parts), 2), (number + 1, 2), (0, 4), (4, 2), (len(kinds), 2), (0, 4)):
            area += value.to_bytes(size)
        for name in kinds:
            first, section_list = (0, coded[leading]) if name == leading else part.get(name, (-base, []))
            area += len(coded.get(name, [])).to_bytes(2) + (first + base if section_list else 0).to_bytes(2)
        contents = {name: section_list for name, (_, section_list) in part.items()}
        contents[leading] = coded[leading]
        records.append(_record(layout, subtype, system, local_us, contents, {}, bytes(area)))
    return records


def _ordered(layout: SmfLayout) -> list[SmfSection]:
    """Return the kinds of section in the order of their triplets."""
    return sorted(
        (section for section in layout.sections if section.triplet is not None),
        key=lambda section: section.triplet or 0,
    )


def _bytes(
    layout: SmfLayout, sections: Mapping[str, Sequence[Values]], lengths: Mapping[str, int] | None
) -> dict[str, list[bytes]]:
    coded = {}
    for name, all_values in sections.items():
        section = layout.section(name)
        length = (lengths or {}).get(name, section.length)
        coded[name] = [_section(section, values, length) for values in all_values]
    return coded


def _record(
    layout: SmfLayout,
    subtype: int,
    system: str,
    local_us: int,
    coded: Mapping[str, Sequence[bytes]],
    header: Values,
    area: bytes,
) -> bytes:
    kinds = _ordered(layout)
    record = bytearray(smf_record.header(layout.record, subtype, system, local_us))
    record.extend(bytes((kinds[-1].triplet or 0) + 8 - _HEADER))
    header_section = next((section for section in layout.sections if section.triplet is None), None)
    if header_section is not None:
        for name, value in header.items():
            field = header_section.field(name)
            record[field.offset : field.offset + field.length] = _field(field, value)
    elif layout.broken is not None:
        record[24:26] = len(kinds).to_bytes(2)
    leading = layout.broken.section if layout.broken is not None else None
    for section in kinds:
        section_list = coded.get(section.name, ())
        if not section_list:
            continue
        triplet = section.triplet or 0
        record[triplet : triplet + 8] = b"".join(
            (len(record).to_bytes(4), len(section_list[0]).to_bytes(2), len(section_list).to_bytes(2))
        )
        start = len(record)
        record += b"".join(section_list)
        if section.name == leading and area:
            _lead(layout, section, record, start, area)
    return bytes(record)


def _lead(layout: SmfLayout, section: SmfSection, record: bytearray, start: int, area: bytes) -> None:
    """Write the control area of a broken record after the section that locates it."""
    assert layout.broken is not None
    offset = len(record) - start
    record += area
    # The second four-byte number of the area is the offset of its blocks.
    record[start + offset + 4 : start + offset + 8] = (offset + 16).to_bytes(4)
    for role, value in (("offset", offset), ("length", 16), ("number", 1)):
        field = section.field(layout.broken.at[role])
        record[start + field.offset : start + field.offset + field.length] = value.to_bytes(field.length)


def _section(section: SmfSection, values: Values, length: int) -> bytes:
    coded = bytearray(length)
    for name, value in values.items():
        field = section.field(name)
        if field.offset + field.length <= length:
            coded[field.offset : field.offset + field.length] = _field(field, value)
    return bytes(coded)


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
        return hexadecimal(value)
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
