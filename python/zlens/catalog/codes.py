"""Words for codes of records (facts/codes.toml)."""

from typing import Annotated, ClassVar

from zlens.errors import CatalogError
from zlens.schema.structs import NamedFacts, SourcedTable, doc


class CodeTable(NamedFacts, SourcedTable, frozen=True):
    """The codes of a field."""

    path: ClassVar = "codes.toml"
    text: Annotated[str, doc("what the codes are of")]
    words: Annotated[dict[str, str], doc("words by code")]


def words(name: str) -> dict[str, str]:
    """Return the words of a table of codes, by code."""
    if name not in CodeTable.by_name():
        raise CatalogError(f"there is no table of codes {name!r}", expected="one of facts/codes.toml")
    return CodeTable.by_name()[name].words


def code(name: str, word: str) -> str:
    """Return the code of a word in a table of codes; CatalogError if no code has the word."""
    for key, value in words(name).items():
        if value == word:
            return key
    raise CatalogError(f"the table of codes {name!r} has no {word!r}", expected="one of facts/codes.toml")
