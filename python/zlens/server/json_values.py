"""Values as JSON: times in ISO 8601 with Z, non-finite numbers as null, integers exact."""

from __future__ import annotations

import datetime as dt
import json
import math
import threading
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from zlens._native import json_rows
from zlens.engine.cancellation import hold_lock
from zlens.engine.results import MOST, QueryResult
from zlens.rendering.rows import iso
from zlens.schema.validators import EXACT

#: Answers written at a time: one of them may take hundreds of megabytes.
_WRITING = threading.Semaphore(2)


def json_value(value: Any) -> Any:
    """A value of a column; an integer that JavaScript would round becomes text."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if -EXACT <= value <= EXACT else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dt.datetime):
        return iso(value)
    if isinstance(value, dict):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    return str(value)


def rows(table: Iterable[Sequence[Any]]) -> list[list[Any]]:
    return [[json_value(value) for value in row] for row in table]


class JsonRows(Struct, frozen=True):
    """Rows as a JSON array of arrays; `more`: whether there are rows beyond the limit."""

    text: str
    more: bool


def first_rows(answer: QueryResult, limit: int) -> JsonRows:
    """The first rows of an answer, written from the engine's columns without Python objects.

    There are fewer of them than `limit` if these have more values than an answer may have.
    """
    limit = min(limit, max(1, MOST // max(1, len(answer.columns))))
    with hold_lock(_WRITING):
        return JsonRows(*answer.read(lambda stream: json_rows(stream, answer.types, limit)))


def body(value: Any) -> bytes:
    """A value as JSON; invalid characters, as in names from files, become question marks."""
    if isinstance(value, dict) and any(isinstance(item, JsonRows) for item in value.values()):
        members = (f"{text(str(key))}:{text(item)}" for key, item in value.items())
        return f"{{{','.join(members)}}}".encode("utf-8", "replace")
    return text(value).encode("utf-8", "replace")


def text(value: Any) -> str:
    if isinstance(value, JsonRows):
        return value.text
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def epoch_seconds(time: dt.datetime | None) -> float | None:
    return None if time is None else time.timestamp()
