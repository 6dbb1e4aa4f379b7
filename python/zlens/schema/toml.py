"""TOML, parsed once: the parsed text is cached as JSON in the user's cache directory.

tomllib is written in Python, and a query reads dozens of catalog files: parsing them each time takes longer
than most answers. Anything missing in the cache is parsed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from zlens.schema.cache import Cache

if TYPE_CHECKING:
    from tomllib import TOMLDecodeError as TOMLDecodeError

#: A larger text is parsed each time; the largest of the catalog has 40 KB.
LARGEST = 1 << 20
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
    """Like `loads`, without the cache: for texts of users."""
    import tomllib

    return tomllib.loads(text)


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
