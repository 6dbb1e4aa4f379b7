"""Converts tables of a scenario to fields of the simulator's structures: each key says which it sets."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from zlens.models.system.partitions import Entry
from zlens.schema.validators import EntryName, FixedTuple, Key, ListOf, NumberOr, Spec, Validator

#: Suffixes of field names, by the unit of the key.
_SUFFIXES = {
    "ms": "_ms",
    "µs": "_us",
    "seconds": "_s",
    "%": "_pct",
    "bytes": "_bytes",
    "KiB": "_kib",
    "MiB": "_mib",
    "MiB/s": "_mib",
    "W": "_w",
}
#: Kinds whose values `_lower_value` converts.
_CONVERTED = (EntryName, NumberOr, FixedTuple, ListOf, Spec)
#: Indices of entries by name, for each table.
Indices = Mapping[str, Mapping[str, int]]


def key_targets(key: Key) -> tuple[str, ...]:
    """Return the paths of the fields that a key sets."""
    if key.target == "":
        unit = key.unit.partition(" ")[0]
        return (key.name if key.name == unit else key.name + _SUFFIXES.get(unit, ""),)
    return (key.target,) if isinstance(key.target, str) else key.target


def lower_table(
    spec: Spec,
    values: Entry,
    computed: Mapping[str, Any],
    indices: Indices | None = None,
    within: str = "",
) -> Entry:
    """Return the fields that the keys of a table set, with the computed ones.

    within   the structure of the fields, if those of the table are in several
    """
    same, converted = _lowered_keys(spec, within, tuple(computed))
    fields: Entry = {name: values[key] for name, key in same}
    for path, key, kind in converted:
        _put(fields, path, _lower_value(kind, values[key], indices or {}))
    for path, value in computed.items():
        _put(fields, path, value)
    return fields


@cache
def _lowered_keys(
    spec: Spec, within: str, computed: tuple[str, ...]
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str, Validator], ...]]:
    """Return fields with the keys that set them: those that have the key's value, and the others."""
    same, converted = [], []
    for key in spec.keys:
        for target in key_targets(key):
            path = target.removeprefix(within)
            if target.startswith("/") or not target.startswith(within):
                continue
            if path in computed or path.partition(".")[0] in computed:
                continue
            if isinstance(key.kind, _CONVERTED) or not path.isidentifier():
                converted.append((path, key.name, key.kind))
            else:
                same.append((path, key.name))
    return tuple(same), tuple(converted)


def _put(fields: Entry, path: str, value: Any) -> None:
    while "." in path:
        table_name, _, path = path.partition(".")
        fields = fields.setdefault(table_name, {})
    if path.endswith("[]"):
        fields.setdefault(path[:-2], []).append(value)
    else:
        fields[path] = value


def _lower_value(kind: Validator, value: Any, indices: Indices) -> Any:
    match kind:
        case _ if value is None:
            return None
        case EntryName():
            return indices[kind.table][value]
        case NumberOr():
            return None if value == kind.word else value
        case FixedTuple():
            return list(value)
        case ListOf():
            return [_lower_value(kind.of, entry, indices) for entry in value]
        case Spec():
            return lower_table(kind, value, {}, indices)
    return value
