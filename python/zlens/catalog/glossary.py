"""Terms and their explanations (facts/glossary.toml)."""

from __future__ import annotations

from functools import cache

from msgspec import Struct

from zlens.catalog import measures
from zlens.errors import CatalogError
from zlens.schema import document
from zlens.schema.facts import FACTS

_FILE = FACTS / "glossary.toml"


class Term(Struct, frozen=True):
    """A term; `of` is the column of a measure that explains it."""

    name: str
    text: str
    source: str
    status: str
    of: str | None = None


@cache
def terms() -> tuple[Term, ...]:
    """Return all terms in the order of the file."""
    return tuple(_term(facts) for facts in document.load_unchecked(_FILE)["term"])


def _term(facts: dict[str, str]) -> Term:
    of = facts.get("of")
    try:
        if of is None:
            return Term(**facts)
        table, name = of.split(".")
        column = next(column for column in measures.load_measure(table).columns if column.name == name)
    except (TypeError, StopIteration):
        raise CatalogError(
            f"glossary.toml: the term {facts.get('name')!r} is not complete",
            file=str(_FILE),
            expected="name and of, a column of a measure; or name, text, source and status",
            cure="copy a neighbor in it",
        ) from None
    return Term(facts["name"], column.text, column.source or "", column.status or "", of)
