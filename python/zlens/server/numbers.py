"""The numbers that stand in a scenario: what a slider may move."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from zlens.schema.kinds import Integer, Key, Kind, Many, Named, Number, NumberOr, Spec

#: More numbers of one scenario are not listed: nobody moves hundreds of sliders.
_MOST = 400
_Found = tuple[str, Key, Number | Integer, float]


def of(spec: Spec, values: dict[str, Any]) -> list[dict[str, Any]]:
    """The numbers that stand in a scenario, by the keys that --set takes, and what each may be."""
    found = []
    for path, key, kind, value in _walk(spec.keys, values, ""):
        low, high = float(kind.low), float(kind.high)
        found.append(
            {
                "path": path,
                "value": value,
                "low": low if math.isfinite(low) else None,
                "high": high if math.isfinite(high) else None,
                "above": isinstance(kind, Number) and kind.above,
                "whole": isinstance(kind, Integer),
                "unit": key.unit,
                "text": key.text,
                "allowed": kind.words(),
            }
        )
        if len(found) == _MOST:
            break
    return found


def _walk(keys: Sequence[Key], values: dict[str, Any], before: str) -> Iterator[_Found]:
    for key in keys:
        if key.name in values:
            yield from _number(key, key.kind, values[key.name], before + key.name)


def _number(key: Key, kind: Kind, value: Any, path: str) -> Iterator[_Found]:
    if isinstance(kind, NumberOr):
        kind = kind.of
    if isinstance(kind, Number | Integer):
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield path, key, kind, value
    elif isinstance(kind, Spec) and isinstance(value, dict):
        yield from _walk(kind.keys, value, f"{path}.")
    elif isinstance(kind, Named) and isinstance(value, dict):
        for name, one in value.items():
            # A dot parts the words of a path.
            if "." not in name:
                yield from _number(key, kind.of, one, f"{path}.{name}")
    elif isinstance(kind, Many) and isinstance(value, list):
        for at, one in enumerate(value, 1):
            # --set reaches into a list, but not into a list of a list.
            if isinstance(one, list):
                return
            yield from _number(key, kind.of, one, f"{path}.{_called(value, one, at)}")


def _called(entries: list[Any], one: Any, at: int) -> str:
    """How --set calls an entry: by its name where that is its own, else by its place."""
    name = one.get("name") if isinstance(one, dict) else None
    if not isinstance(name, str) or "." in name or "=" in name or name.isdigit():
        return str(at)
    same = sum(isinstance(other, dict) and other.get("name") == name for other in entries)
    return name if same == 1 else str(at)
