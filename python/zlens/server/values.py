"""Values as JSON holds them: times as ISO 8601 with Z, nothing that is not finite, whole numbers exact."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from zlens._native import json_rows
from zlens.engine.answers import Answer
from zlens.present.rows import iso
from zlens.schema.kinds import EXACT


def plain(value: Any) -> Any:
    """A value of a column. A whole number that JavaScript would round is given as text."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if -EXACT <= value <= EXACT else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dt.datetime):
        return iso(value)
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return str(value)


def rows(found: Iterable[Sequence[Any]]) -> list[list[Any]]:
    return [[plain(value) for value in row] for row in found]


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows as a JSON array of arrays, for an answer's own keys; `more`: there are others beyond the limit."""

    text: str
    more: bool


def limited(answer: Answer, limit: int) -> Rows:
    """The first rows of an answer; they are written in the engine's columns and never held in Python."""
    return Rows(*answer.read(lambda stream: json_rows(stream, answer.types, limit)))


def body(value: Any) -> bytes:
    """As JSON. Characters that are none, such as a name in a file may hold, become question marks."""
    if isinstance(value, dict) and any(isinstance(one, Rows) for one in value.values()):
        members = (f"{text(str(key))}:{text(one)}" for key, one in value.items())
        return f"{{{','.join(members)}}}".encode("utf-8", "replace")
    return text(value).encode("utf-8", "replace")


def text(value: Any) -> str:
    if isinstance(value, Rows):
        return value.text
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def epoch(time: dt.datetime | None) -> float | None:
    return None if time is None else time.timestamp()
