"""Builder of random records by their layouts, with the values expected from decoding."""

from __future__ import annotations

import random
from typing import Any

import record_encoder
from zlens.catalog.layouts import MonitorField, MonitorSection, RecordLayout
from zlens.catalog.raw_columns import field_parts

TOD = 0xD0C0_FFEE_0000_0000
LETTERS = "ABCXYZ0123456789$#@ äöüÄÖÜß"


def some_value(field: MonitorField, kind: str, rng: random.Random, width: int) -> Any:
    if kind == "text":
        return "".join(rng.choice(LETTERS) for _ in range(rng.randint(0, width or 12))).rstrip()
    if kind == "ascii":
        return "".join(rng.choice("abcXYZ019 /_-") for _ in range(rng.randint(0, width or 12))).rstrip()
    if kind == "hex":
        return rng.randbytes(width or rng.randint(0, 12)).hex()
    bits = 8 * width
    if kind == "time":
        return rng.choice([0, TOD, rng.randrange(2**12, 2**bits)])
    if field.type == "signed" and kind == "int":
        return rng.choice([0, -1, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1, rng.randrange(2 ** (bits - 1))])
    top = 2**bits - 1
    return rng.choice([0, 1, top, top // 2, rng.randint(0, top)])


def some_values(
    fields: tuple[MonitorField, ...], rng: random.Random
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return values to encode, and the expected values by name of field part."""
    given: dict[str, Any] = {}
    expected: dict[str, Any] = {}
    for field in fields:
        # The bytes of an overlay belong to another field.
        if field.overlay:
            continue
        parts = field_parts(field)
        values = []
        for part in parts:
            width = field.total_length if part.element is None else field.length
            value = some_value(field, part.type, rng, width)
            values.append(value)
            expected[part.name] = value
            if part.type == "time":
                expected[part.name] = value or None
            elif part.type == "int" and value > 2**63 - 1:
                expected[part.name] = None
        if parts:
            given[field.name] = values[0] if parts[0].element is None else values
    return given, expected


def some_record(
    layout: RecordLayout, rng: random.Random
) -> tuple[bytes, dict[str, Any], dict[str, list[dict[str, Any]]]]:
    """Return a random record, its expected values and those of its entries."""
    given, expected = some_values(layout.fields, rng)
    entries: dict[str, list[dict[str, Any]]] = {}
    wanted: dict[str, list[dict[str, Any]]] = {}
    # Payloads exclude one another; arrays are consecutive.
    sections = [s for s in layout.sections if s.within is None and not s.arrays and s.join is None]
    payloads = [s for s in sections if s.match]
    for section in [s for s in sections if not s.match] + ([rng.choice(payloads)] if payloads else []):
        rows = [
            some_entry(layout, section, rng, number + 1)
            for number in range(rng.randint(0, 4) if section.count != 1 else 1)
        ]
        entries[section.name] = [row for row, _, _ in rows]
        wanted[section.name] = [read for _, read, _ in rows]
        for _, _, inside in rows:
            wanted |= inside
        for place in (
            *(section.offset, section.stride, section.count, section.bound),
            section.match and section.match[0],
        ):
            if isinstance(place, str):
                given.pop(place, None)
                expected.pop(place, None)
    for section in [s for s in layout.sections if s.join is not None]:
        # Records of random flags and lengths may be joined in any way; other tests cover joins.
        for name in (*section.join.names, section.offset):  # type: ignore[union-attr]
            given.pop(str(name), None)
            expected.pop(str(name), None)
    return record_encoder.encode(layout, given, tod=TOD, entries=entries), expected, wanted


def some_entry(
    layout: RecordLayout, section: MonitorSection, rng: random.Random, number: int
) -> tuple[dict[str, Any], dict[str, Any], dict[str, list[dict[str, Any]]]]:
    """Return an entry, its expected values and those of the entries inside it."""
    given, expected = some_values(section.fields, rng)
    for some, what in (some_values(section.tail, rng), some_texts(section.texts, rng)):
        given |= some
        expected |= what
    if section.ordinal:
        expected[section.ordinal] = number
    if section.equal:
        one, other = section.equal
        given[other] = given[one]
        expected[other] = expected[one]
    for name in section.inner or ():
        given.pop(name)
        expected.pop(name)
    inside: dict[str, list[dict[str, Any]]] = {}
    for inner in layout.sections:
        if inner.within != section.name:
            continue
        rows = [some_entry(layout, inner, rng, place + 1) for place in range(rng.randint(0, 4))]
        given[inner.name] = [row for row, _, _ in rows]
        inside[inner.name] = [read for _, read, _ in rows]
        for name in (inner.offset, inner.stride, inner.count):
            given.pop(str(name), None)
            expected.pop(str(name), None)
    return given, expected, inside


def some_texts(names: tuple[str, ...], rng: random.Random) -> tuple[dict[str, Any], dict[str, Any]]:
    texts = {
        name: "".join(rng.choice("abc/ xyz") for _ in range(rng.randint(0, 40))).rstrip() for name in names
    }
    return texts, texts
