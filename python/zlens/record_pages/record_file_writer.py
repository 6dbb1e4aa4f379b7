"""Writes record files in the format that `layouts` reads, one line per field."""

from __future__ import annotations

from collections.abc import Iterable
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
    lines = [f"# {head.record} {_plain(f'{head.dsect}: {head.title}')}"]
    lines += _head(head)
    if file.subject:
        lines.append(f"subject = {_strings(file.subject)}")
    if file.subject_kind:
        lines.append(f"subject_kind = {_quote(file.subject_kind)}")
    if file.reset_on:
        lines.append(f"reset_on = {_strings(file.reset_on)}")
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


def _head(head: RecordInfo) -> list[str]:
    lines = [
        f"record = {_quote(head.record)}",
        f"dsect = {_quote(head.dsect)}",
        f"title = {_quote(head.title)}",
        f"kind = {_quote(head.kind)}",
    ]
    if head.lengths:
        pairs = ", ".join(f"{_quote(release)} = {length}" for release, length in head.lengths.items())
        lines.append(f"lengths = {{ {pairs} }}")
    if head.variable:
        lines.append("variable = true")
    if head.note:
        lines.append(f"note = {_quote(head.note)}")
    return lines


def _layout(layout: RecordLayout) -> list[str]:
    lines = [f"release = {_quote(layout.release)}", f"length = {layout.length}"]
    if layout.variable:
        lines.append("variable = true")
    lines.append(f"complete = {_bool(layout.complete)}")
    if layout.stable_to is not None:
        lines.append(f"stable_to = {layout.stable_to}")
    if layout.callevel:
        lines.append(f"callevel = [{', '.join(map(str, layout.callevel))}]")
    lines += [f"source = {_quote(layout.source)}", f"status = {_quote(layout.status)}"]
    if layout.note:
        lines.append(f"note = {_quote(layout.note)}")
    return lines + _fields(layout.fields)


def _section(section: MonitorSection) -> list[str]:
    lines = [f"name = {_quote(section.name)}", f"title = {_quote(section.title)}"]
    if section.arrays:
        pairs = ", ".join(f"{name} = {_quote(array)}" for name, array in section.arrays)
        lines.append(f"arrays = {{ {pairs} }}")
    else:
        lines += [
            f"length = {section.length}",
            f"offset = {_place(section.offset)}",
            f"stride = {_place(section.stride)}",
        ]
        if section.count is not None:
            lines.append(f"count = {_place(section.count)}")
    if section.within:
        lines.append(f"within = {_quote(section.within)}")
    if section.match:
        lines.append(f"match = {{ field = {_quote(section.match[0])}, hex = {_quote(section.match[1])} }}")
    if section.subject:
        lines.append(f"subject = {_strings(section.subject)}")
    if section.subject_kind:
        lines.append(f"subject_kind = {_quote(section.subject_kind)}")
    lines += [f"source = {_quote(section.source)}", f"status = {_quote(section.status)}"]
    if section.note:
        lines.append(f"note = {_quote(section.note)}")
    for key in ("bound", "ordinal"):
        if getattr(section, key):
            lines.append(f"{key} = {_quote(getattr(section, key))}")
    for key in ("inner", "equal", "texts"):
        if getattr(section, key):
            lines.append(f"{key} = {_strings(getattr(section, key))}")
    if section.texts:
        lines.append(f"texts_at = {section.texts_at}")
    if section.join:
        lines.append(_join(section.join))
    if section.arrays:
        return lines
    lines += _fields(section.fields)
    return [*lines, *_fields(section.tail, "tail")] if section.tail else lines


def _join(join: RecordJoin) -> str:
    def pairs(record: Any, names: Iterable[str]) -> list[str]:
        values = [(name, getattr(record, name)) for name in names]
        return [f"{name} = {_place(value)}" for name, value in values if value is not None]

    sets = ", ".join(
        "{ " + ", ".join(pairs(counters, ("name", "bit", "offset", "length"))) + " }"
        for counters in join.sets
    )
    parts = pairs(join, ("more", "more_bit", "within_us", "length", "active", "cfvn", "csvn"))
    parts += [f"same = {_strings(join.same)}", f"sets = [{sets}]"]
    return f"join = {{ {', '.join(parts)} }}"


def _fields(fields: tuple[MonitorField, ...], key: str = "fields") -> list[str]:
    if not fields:
        return [f"{key} = []"]
    return [f"{key} = [", *(f"    {_field(field)}," for field in fields), "]"]


#: Members of a field in write order, with the value that is omitted.
_MEMBERS = [(m.name, m.default) for m in members(MonitorField)]
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
    "note",
)
_DEFAULTS = dict(_MEMBERS)


def _field(field: MonitorField) -> str:
    parts = []
    for name in _ORDER:
        value = getattr(field, name)
        # The type is omitted only for reserved areas, whose bytes have no meaning.
        if value == ("character" if name == "type" and field.reserved else _DEFAULTS[name]):
            continue
        shown = (
            _quote(value)
            if isinstance(value, str)
            else _bool(value)
            if isinstance(value, bool)
            else str(value)
        )
        parts.append(f"{_SHORT.get(name, name)} = {shown}")
    return "{ " + ", ".join(parts) + " }"


def _place(value: str | int) -> str:
    return _quote(value) if isinstance(value, str) else str(value)


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _strings(values: tuple[str, ...]) -> str:
    return "[" + ", ".join(_quote(value) for value in values) + "]"


def _plain(value: str) -> str:
    return "".join(character if character >= " " and character != "\x7f" else " " for character in value)


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
