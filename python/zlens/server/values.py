"""Values as JSON holds them: times as ISO 8601 with Z, nothing that is not finite, whole numbers exact."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from zlens.cli.rows import iso
from zlens.server.kinds import EXACT


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


def body(value: Any) -> bytes:
    """As JSON. Characters that are none, such as a name in a file may hold, become question marks."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def epoch(time: dt.datetime | None) -> float | None:
    return None if time is None else time.timestamp()
