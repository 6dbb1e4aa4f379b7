"""Numbers of a scenario, which sliders of the web UI change."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from zlens.schema.validators import Integer, Key, ListOf, MapOf, Number, NumberOr, Spec, Validator

#: Maximum numbers listed per scenario.
_MOST = 400
_Number = tuple[str, Key, Number | Integer, float]


def scenario_numbers(spec: Spec, values: dict[str, Any]) -> list[dict[str, Any]]:
    """List the numbers of a scenario, each with its key for --set and its allowed values."""
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
        for number, entry in enumerate(value, 1):
            # --set supports lists, but not lists of lists.
            if isinstance(entry, list):
                return
            yield from _number(key, kind.of, entry, f"{path}.{_label(value, entry, number)}")


def _label(entries: list[Any], entry: Any, number: int) -> str:
    """Return the label of an entry for --set: its name if unique, else its number from 1."""
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(name, str) or "." in name or "=" in name or name.isdecimal():
        return str(number)
    count = sum(isinstance(other, dict) and other.get("name") == name for other in entries)
    return name if count == 1 else str(number)
