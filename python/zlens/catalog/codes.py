"""Words for codes of records (facts/codes.toml)."""

from __future__ import annotations

from functools import cache

from zlens.errors import CatalogError
from zlens.schema import document
from zlens.schema.facts import FACTS


@cache
def words(name: str) -> dict[str, str]:
    """Return the words of a table of codes, by code."""
    table = document.load_unchecked(FACTS / "codes.toml").get(name)
    if table is None:
        raise CatalogError(f"there is no table of codes {name!r}", expected="one of facts/codes.toml")
    return {code: word for code, word in table.items() if code not in ("text", "status", "source")}


def code(name: str, word: str) -> str:
    """Return the code of a word in a table of codes; CatalogError if no code has the word."""
    for key, value in words(name).items():
        if value == word:
            return key
    raise CatalogError(f"the table of codes {name!r} has no {word!r}", expected="one of facts/codes.toml")
