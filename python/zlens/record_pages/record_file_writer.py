"""Writes record files in the format that `layouts` reads, one line per field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import fields as members

from zlens.catalog.layouts import (
    MonitorField,
    MonitorSection,
    RecordFile,
    RecordInfo,
    RecordJoin,
    RecordLayout,
)

_SHORT = {"offset": "at", "length": "len"}
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def text(file: RecordFile) -> str:
    """Return the text of a record file."""
    head = file.head
    lines = _pairs(
        record=head.record,
        dsect=head.dsect,
        title=head.title,
        kind=head.kind,
        lengths={_value(release): length for release, length in head.lengths.items()} or None,
        variable=head.variable or None,
        note=head.note or None,
        changed_by={_value(release): apars for release, apars in head.changed_by.items()} or None,
        subject=file.subject or None,
        subject_kind=file.subject_kind or None,
        reset_on=file.reset_on or None,
    )
    for layout in file.layouts:
        lines += ["", "[[layout]]", *_layout(layout)]
        for section in layout.sections:
            lines += ["", "[[layout.section]]", *_section(section)]
    return "\n".join(lines) + "\n"


def save(file: RecordFile, path: Path) -> None:
    """Write a record file in place of an older one; readers never see a partial file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.part")
    partial.write_text(text(file), encoding="utf-8")
    partial.replace(path)


def record_file(head: RecordInfo, layouts: tuple[RecordLayout, ...]) -> RecordFile:
    """Return a file of layouts with the union of their subject fields."""

    def union(lists: list[tuple[str, ...]]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for names in lists for name in names))

    kinds = [layout.subject_kind for layout in layouts if layout.subject_kind]
    return RecordFile(
        head=head,
        subject=union([layout.subject for layout in layouts]),
        subject_kind=kinds[0] if kinds else None,
        reset_on=union([layout.reset_on for layout in layouts]),
        layouts=layouts,
    )


def _layout(layout: RecordLayout) -> list[str]:
    lines = _pairs(
        release=layout.release,
        length=layout.length,
        variable=layout.variable or None,
        complete=layout.complete or None,
        stable_to=layout.stable_to,
        callevel=layout.callevel or None,
        source=layout.source,
        status=layout.status,
        note=layout.note or None,
    )
    return lines + _fields(layout.fields)


def _section(section: MonitorSection) -> list[str]:
    in_array = bool(section.arrays)
    lines = _pairs(
        name=section.name,
        title=section.title,
        arrays=dict(section.arrays) or None,
        length=None if in_array else section.length,
        offset=None if in_array else section.offset,
        stride=None if in_array else section.stride,
        count=None if in_array else section.count,
        within=section.within or None,
        match={"field": section.match[0], "hex": section.match[1]} if section.match else None,
        subject=section.subject or None,
        subject_kind=section.subject_kind or None,
        source=section.source,
        status=section.status,
        note=section.note or None,
        bound=section.bound or None,
        ordinal=section.ordinal or None,
        inner=section.inner or None,
        equal=section.equal or None,
        texts=section.texts or None,
        texts_at=section.texts_at if section.texts else None,
        join=_join(section.join) if section.join else None,
    )
    if in_array:
        return lines
    lines += _fields(section.fields)
    return [*lines, *_fields(section.tail, "tail")] if section.tail else lines


def _join(join: RecordJoin) -> dict[str, Any]:
    def known(record: Any, *names: str) -> dict[str, Any]:
        return {name: value for name in names if (value := getattr(record, name)) is not None}

    return {
        **known(join, "more", "more_bit", "within_us", "length", "active", "cfvn", "csvn", "same"),
        "sets": tuple(known(counters, "name", "bit", "offset", "length") for counters in join.sets),
    }


def _fields(fields: tuple[MonitorField, ...], key: str = "fields") -> list[str]:
    if not fields:
        return []
    return [f"{key} = [", *(f"    {_field(field)}," for field in fields), "]"]


#: Members of a field in write order.
_ORDER = (
    "name",
    "offset",
    "length",
    "count",
    "first",
    "type",
    "overlay",
    "kind",
    "kind_status",
    "direction",
    "unit",
    "text",
    "status",
    "note",
)
#: The value of each member that is omitted.
_DEFAULTS = {member.name: member.default for member in members(MonitorField)}


def _field(field: MonitorField) -> str:
    written = {}
    for name in _ORDER:
        value = getattr(field, name)
        # The type is omitted only for reserved areas, whose bytes have no meaning.
        if value == ("character" if name == "type" and field.reserved else _DEFAULTS[name]):
            continue
        written[_SHORT.get(name, name)] = value
    return _value(written)


def _pairs(**values: Any) -> list[str]:
    """Return a line for each key with a value."""
    return [f"{key} = {_value(value)}" for key, value in values.items() if value is not None]


def _value(value: Any) -> str:
    """Return a value in TOML."""
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{key} = {_value(inner)}" for key, inner in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(_value, value)) + "]"
    return str(value)


def _quote(value: str) -> str:
    escaped = []
    for character in value:
        if character in _ESCAPES:
            escaped.append(_ESCAPES[character])
        elif character < " " or character == "\x7f":
            escaped.append(f"\\u{ord(character):04x}")
        else:
            escaped.append(character)
    return '"' + "".join(escaped) + '"'
