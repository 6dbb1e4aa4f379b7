"""The numbers of a scenario, which sliders can change."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from zlens.schema.validators import Integer, Key, ListOf, MapOf, Number, NumberOr, Spec, Validator

#: Maximum numbers listed of one scenario.
_MOST = 400
_Number = tuple[str, Key, Number | Integer, float]


def scenario_numbers(spec: Spec, values: dict[str, Any]) -> list[dict[str, Any]]:
    """The numbers of a scenario by their keys for --set, with allowed values."""
    entries = []
    for path, key, kind, value in _walk(spec.keys, values, ""):
        low, high = float(kind.low), float(kind.high)
        entries.append(
            {
                "path": path,
                "value": value,
                "low": low if math.isfinite(low) else None,
                "high": high if math.isfinite(high) else None,
                "above": isinstance(kind, Number) and kind.above,
                "whole": isinstance(kind, Integer),
                "unit": key.unit,
                "text": key.text,
                "allowed": kind.describe(),
            }
        )
        if len(entries) == _MOST:
            break
    return entries


def _walk(keys: Sequence[Key], values: dict[str, Any], prefix: str) -> Iterator[_Number]:
    for key in keys:
        if key.name in values:
            yield from _number(key, key.kind, values[key.name], prefix + key.name)


def _number(key: Key, kind: Validator, value: Any, path: str) -> Iterator[_Number]:
    if isinstance(kind, NumberOr):
        kind = kind.of
    if isinstance(kind, Number | Integer):
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield path, key, kind, value
    elif isinstance(kind, Spec) and isinstance(value, dict):
        yield from _walk(kind.keys, value, f"{path}.")
    elif isinstance(kind, MapOf) and isinstance(value, dict):
        for name, entry in value.items():
            # A dot separates the parts of a path.
            if "." not in name:
                yield from _number(key, kind.of, entry, f"{path}.{name}")
    elif isinstance(kind, ListOf) and isinstance(value, list):
        for position, entry in enumerate(value, 1):
            # --set reaches into a list, but not into a list of lists.
            if isinstance(entry, list):
                return
            yield from _number(key, kind.of, entry, f"{path}.{_label(value, entry, position)}")


def _label(entries: list[Any], entry: Any, position: int) -> str:
    """The label of an entry for --set: its name if unique, else its position."""
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(name, str) or "." in name or "=" in name or name.isdecimal():
        return str(position)
    same = sum(isinstance(other, dict) and other.get("name") == name for other in entries)
    return name if same == 1 else str(position)
