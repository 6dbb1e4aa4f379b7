"""Values as JSON: times in ISO 8601 with Z, non-finite numbers as null, integers exact."""

from __future__ import annotations

import datetime as dt
import json
import threading
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from zlens._native import json_rows
from zlens.engine.cancellation import hold_lock
from zlens.engine.results import MOST, QueryResult
from zlens.rendering.rows import to_json
from zlens.schema.validators import EXACT

if TYPE_CHECKING:
    from zlens.rendering.answer import AnswerTable

#: Results written at a time, because one may need hundreds of megabytes.
_WRITING = threading.Semaphore(2)


def json_value(value: Any) -> Any:
    """Convert a value of a column; an integer that JavaScript would round becomes text."""
    return to_json(value, EXACT)


def attributes(value: object, *names: str) -> dict[str, Any]:
    """Return some attributes of an object by name, converted."""
    return {name: json_value(getattr(value, name)) for name in names}


class JsonRows(Struct, frozen=True):
    """Rows as a JSON array of arrays; `more`: whether rows beyond the limit exist."""

    text: str
    more: bool


def first_rows(result: QueryResult, limit: int) -> JsonRows:
    """Write the first rows of a result from the engine's columns, without Python objects.

    Writes fewer than `limit` rows if they would exceed the maximum number of values.
    """
    limit = min(limit, max(1, MOST // max(1, len(result.columns))))
    with hold_lock(_WRITING):
        return JsonRows(*result.read(lambda stream: json_rows(stream, result.types, limit)))


def body(value: Any) -> bytes:
    """Encode a value as JSON; invalid characters, as in names from files, become question marks."""
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


def answer_table(table: AnswerTable) -> dict[str, Any]:
    """Convert a table of an answer."""
    return {
        "key": table.key,
        "title": table.title,
        "columns": [
            {
                **attributes(column, "key", "heading", "unit", "text", "decimals"),
                "whole": _whole([row[index] for row in table.rows]),
            }
            for index, column in enumerate(table.columns)
        ],
        "rows": json_value([*table.rows]),
    }


def _whole(cells: list[Any]) -> bool:
    """Return whether all values are integers, shown without decimals: JSON does not distinguish 3.0 and 3."""
    numbers = [value for value in cells if value is not None]
    return bool(numbers) and all(isinstance(value, int) and not isinstance(value, bool) for value in numbers)
