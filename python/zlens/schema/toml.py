"""TOML, parsed once: the parsed text is cached as JSON in the user's cache directory.

tomllib is written in Python, and a query reads dozens of catalog files: parsing them each time takes longer
than most answers. Anything missing in the cache is parsed.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from zlens.schema.cache import Cache

if TYPE_CHECKING:
    from tomllib import TOMLDecodeError as TOMLDecodeError

#: A larger text is parsed each time; the largest of the catalog has 40 KB.
LARGEST = 1 << 20
#: Tables and arrays in each other.
DEEPEST = 50
_DOTTED = re.compile(
    r"(?<![\w-])(?:(?:[A-Za-z0-9_-]+|\"[^\"\n]*\"|'[^'\n]*')[ \t]*\.[ \t]*)" f"{{{4 * DEEPEST}}}"
)
_TOO_DEEP = f"it is nested more than {DEEPEST} levels deep"
_TOO_LARGE = "a whole number needs more than 64 bits"
_KEPT = Cache("toml", "2")


def __getattr__(name: str) -> Any:
    # If every text is cached, tomllib is never imported.
    if name == "TOMLDecodeError":
        import tomllib

        return tomllib.TOMLDecodeError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def loads(text: str) -> dict[str, Any]:
    """The parsed TOML text, like tomllib.loads, with its errors; the caller may change it."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > LARGEST:
        return parse(text)
    facts = _kept(data)
    if facts is None:
        facts = parse(text)
        _keep(data, facts)
    return facts


def parse(text: str) -> dict[str, Any]:
    """Like `loads`, without the cache: for texts of users. The only exception is a TOMLDecodeError."""
    import tomllib

    if _DOTTED.search(text):
        # tomllib takes gigabytes for a long one.
        raise tomllib.TOMLDecodeError(_TOO_DEEP)
    try:
        facts = tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError(_TOO_DEEP) from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:
        # Python converts no more than 4,300 digits.
        raise tomllib.TOMLDecodeError(_TOO_LARGE) from None
    _check_sizes(facts)
    return facts


def _check_sizes(facts: dict[str, Any]) -> None:
    """Refuse whole numbers beyond 64 bits, as TOML allows, and deep nesting."""
    import tomllib

    level: list[Any] = [facts]
    for _ in range(DEEPEST):
        values = [
            value for table in level for value in (table.values() if isinstance(table, dict) else table)
        ]
        if any(isinstance(value, int) and not -(2**63) <= value < 2**63 for value in values):
            raise tomllib.TOMLDecodeError(_TOO_LARGE)
        level = [value for value in values if isinstance(value, dict | list)]
        if not level:
            return
    raise tomllib.TOMLDecodeError(_TOO_DEEP)


def _kept(data: bytes) -> dict[str, Any] | None:
    body = _KEPT.read(data)
    try:
        facts = json.loads(body) if body is not None else None
    except (ValueError, RecursionError):
        return None
    return facts if isinstance(facts, dict) else None


def _keep(data: bytes, facts: dict[str, Any]) -> None:
    try:
        body = json.dumps(facts, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except (TypeError, ValueError, RecursionError):
        return  # JSON has no dates and times, and not every number
    _KEPT.write(data, body)
