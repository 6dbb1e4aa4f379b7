"""Checks of the SMF layouts of the catalog."""

from __future__ import annotations

from collections.abc import Iterator

from zlens.catalog import smf
from zlens.catalog.layouts import STATUS
from zlens.errors import CatalogError

_LENGTHS = {"tod": (8,), "local": (4,), "date": (4,), "bit": (1,), "unsigned": (1, 2, 4, 8)}


def check() -> list[str]:
    """Return catalog issues of the SMF files, one sentence each."""
    problems: list[str] = []
    for record in smf.counter_record_types():
        try:
            layout = smf.layout(record)
            problems += [f"smf/{record}.toml: {problem}" for problem in _layout(layout)]
            smf.plan(record)
        except (CatalogError, KeyError, TypeError, AssertionError) as error:
            problems.append(f"smf/{record}.toml: {error}")
    return problems


def _layout(layout: smf.SmfCounterLayout) -> Iterator[str]:
    if sorted(layout.order) != sorted(layout.subtypes):
        yield "order does not list every subtype once"
    statuses = [section.status for section in layout.sections.values()]
    statuses += [subtype.status for subtype in layout.subtypes.values()]
    statuses += [field.status for field in layout.fields]
    for status in dict.fromkeys(statuses):
        if status not in STATUS:
            yield f"status is {status!r}"
    for number, subtype in layout.subtypes.items():
        if (subtype.own is None) == (subtype.area is None):
            yield f"subtype {number} needs either triplets of its sets or one area of counters"
        for triplet in (subtype.entries, subtype.area):
            if triplet is not None and triplet.count_at + 2 > subtype.length:
                yield f"a triplet of subtype {number} is beyond its data section"
    yield from _fields(layout)
    yield from _columns(layout)


def _fields(layout: smf.SmfCounterLayout) -> Iterator[str]:
    for field in layout.fields:
        where = f"field {field.name}"
        if field.section not in layout.sections:
            yield f"{where}: there is no section {field.section}"
        if field.type not in smf.TYPES:
            yield f"{where}: type is {field.type!r}"
        elif field.type in _LENGTHS and field.length not in _LENGTHS[field.type]:
            yield f"{where}: {field.type} cannot have {field.length} bytes"
        if (field.bit is not None) != (field.type == "bit") or not 0 <= (field.bit or 0) < 8:
            yield f"{where}: bit is {field.bit}"
        for number, subtype in layout.subtypes.items():
            sizes = {"header": smf.HEADER_LENGTH, "data": subtype.length}
            length = sizes.get(field.section) or layout.sections[field.section].length
            if field.subtype in (None, number) and length and field.offset + field.length > length:
                yield f"{where} ends at {field.offset + field.length}, its section at {length}"
    for number in layout.subtypes:
        seen: dict[tuple[str, str], int] = {}
        taken: dict[str, dict[int, str]] = {}
        for field in layout.fields:
            if field.subtype not in (None, number):
                continue
            if seen.setdefault((field.section, field.name), field.offset) != field.offset:
                yield f"field {field.name} of subtype {number} is defined twice"
            if field.type != "bit":
                bytes_taken = taken.setdefault(field.section, {})
                for byte in range(field.offset, field.offset + field.length):
                    if byte in bytes_taken:
                        yield f"fields {bytes_taken[byte]} and {field.name} of subtype {number} overlap"
                        break
                    bytes_taken[byte] = field.name


def _columns(layout: smf.SmfCounterLayout) -> Iterator[str]:
    names = {field.name for field in layout.fields}
    columns = {column.name for column in layout.columns}
    for column in layout.columns:
        if column.type not in smf.COLUMN_TYPES:
            yield f"column {column.name}: type is {column.type!r}"
        for name in column.fields:
            if name not in names:
                yield f"column {column.name}: there is no field {name}"
        if column.marked and column.marked not in columns:
            yield f"column {column.name}: there is no column {column.marked}"
        if not column.text:
            yield f"column {column.name} has no text"
    if len(columns) < len(layout.columns):
        yield "a column is defined twice"
    reader = layout.reader
    for name in (reader.processor, reader.run, reader.first, *reader.versions, *reader.watched):
        if name not in columns:
            yield f"reader: there is no column {name}"
    if len(reader.watched) > 8:
        yield "reader: no more than eight columns can be watched"
    if not set(reader.versions) <= set(reader.watched):
        yield "reader: versions must be watched"
