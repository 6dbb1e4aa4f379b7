"""TOML, parsed once: what a text says is kept as JSON in the user's cache directory.

tomllib is written in Python, and a question reads dozens of catalog files: parsing them each time costs more
than most answers. Whatever the cache does not have is parsed.
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
    # Where every text is kept already, tomllib is never imported.
    if name == "TOMLDecodeError":
        import tomllib

        return tomllib.TOMLDecodeError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def loads(text: str) -> dict[str, Any]:
    """What a text of TOML says, as tomllib.loads gives it, with its errors; the caller may change it."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > LARGEST:
        return parse(text)
    facts = _kept(data)
    if facts is None:
        facts = parse(text)
        _keep(data, facts)
    return facts


def parse(text: str) -> dict[str, Any]:
    """The same without the cache: for what users write."""
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
