"""Writes record files in the format that `layouts` reads, one line per field."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import fields as members

from zlens.catalog.layouts import MonitorField, MonitorSection, RecordFile, RecordJoin

_SHORT = {"offset": "at", "length": "len"}
#: Keys in the order in which they are written.
_RECORD = ("record", "dsect", "title", "kind", "lengths", "variable", "note", "changed_by")
_SHARED = ("subject", "subject_kind", "reset_on")
_LAYOUT = ("release", "length", "variable", "complete", "stable_to", "callevel", "source", "status", "note")
_SECTION = (
    *("name", "title", "arrays", "length", "offset", "stride", "count", "within", "match", "subject"),
    *("subject_kind", "source", "status", "note", "bound", "ordinal", "inner", "equal", "texts", "texts_at"),
)
_FIELD = (
    *("name", "offset", "length", "count", "first", "type", "overlay", "kind", "kind_status", "direction"),
    *("unit", "text", "status", "note"),
)
_JOIN = ("more", "more_bit", "within_us", "length", "active", "cfvn", "csvn", "same")
#: The value of each member of a field that is omitted.
_DEFAULTS = {member.name: member.default for member in members(MonitorField)}


def text(file: RecordFile) -> str:
    """Return the text of a record file."""
    head = _known(file.head, _RECORD) | _known(file, _SHARED)
    for key in ("lengths", "changed_by"):
        if key in head:
            head[key] = {quote(release): value for release, value in head[key].items()}
    lines = pairs(head)
    for layout in file.layouts:
        lines += ["", "[[layout]]", *pairs(_known(layout, _LAYOUT)), *_fields(layout.fields)]
        for section in layout.sections:
            lines += ["", "[[layout.section]]", *_section(section)]
    return "\n".join(lines) + "\n"


def save(file: RecordFile, path: Path) -> None:
    """Write a record file in place of an older one; readers never see a partial file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.part")
    partial.write_text(text(file), encoding="utf-8")
    partial.replace(path)


def _known(table: Struct, names: Iterable[str]) -> dict[str, Any]:
    """Return the members that have a value."""
    values = {name: getattr(table, name) for name in names}
    return {
        name: value
        for name, value in values.items()
        if value is not None and value is not False and value not in ((), {})
    }


def _section(section: MonitorSection) -> list[str]:
    values = _known(section, _SECTION)
    # The arrays of a section locate it.
    for name in ("length", "offset", "stride", "count") if section.arrays else ():
        values.pop(name, None)
    if not section.texts:
        values.pop("texts_at")
    if section.arrays:
        values["arrays"] = dict(section.arrays)
    if section.match:
        values["match"] = {"field": section.match[0], "hex": section.match[1]}
    if section.join:
        values["join"] = _join(section.join)
    if section.arrays:
        return pairs(values)
    return [*pairs(values), *_fields(section.fields), *_fields(section.tail, "tail")]


def _join(join: RecordJoin) -> dict[str, Any]:
    sets = tuple(_known(counters, ("name", "bit", "offset", "length")) for counters in join.sets)
    return _known(join, _JOIN) | {"sets": sets}


def _fields(fields: tuple[MonitorField, ...], key: str = "fields") -> list[str]:
    return [f"{key} = [", *(f"    {_field(field)}," for field in fields), "]"] if fields else []


def _field(field: MonitorField) -> str:
    written = {}
    for name in _FIELD:
        value = getattr(field, name)
        # The type is omitted only for reserved areas, whose bytes have no meaning.
        if value != ("character" if name == "type" and field.reserved else _DEFAULTS[name]):
            written[_SHORT.get(name, name)] = value
    return _value(written)


def pairs(values: Mapping[str, Any]) -> list[str]:
    """Return a line of TOML for each key."""
    return [f"{key} = {_value(value)}" for key, value in values.items()]


def quote(value: str) -> str:
    """Return a text in TOML: as in JSON, with an escape for one more character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    """Return a value in TOML."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        inner = ", ".join(f"{key} = {_value(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(_value, value)) + "]"
    return str(value)
