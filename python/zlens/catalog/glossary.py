"""Terms and their explanations (facts/glossary.toml)."""

from functools import cache
from typing import Annotated, ClassVar

from msgspec import Meta
from msgspec.structs import replace

from zlens.catalog import measures
from zlens.errors import CatalogError
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactFile, FactTable, doc


class Term(FactTable, frozen=True):
    """A term, explained by a text of its own or by that of a column."""

    name: str
    text: Annotated[str, doc("what it means")] = ""
    source: Annotated[str, doc("where that is described")] = ""
    status: Annotated[str, doc("how well it is known")] = ""
    of: Annotated[str, Meta(pattern=r"^\w+\.\w+$", description="the column that explains it")] | None = None

    def __post_init__(self) -> None:
        if self.of is None and not (self.text and self.source and self.status):
            raise ValueError("it needs text, source and status; or of")


class Glossary(FactFile, frozen=True):
    """All terms."""

    path: ClassVar = "glossary.toml"
    term: tuple[Term, ...]


@cache
def terms() -> tuple[Term, ...]:
    """Return all terms in the order of the file."""
    return tuple(map(_completed, Glossary.load().term))


def _completed(term: Term) -> Term:
    if term.of is None:
        return term
    table, name = term.of.split(".")
    for column in measures.load_measure(table).columns:
        if column.name == name:
            return replace(term, text=column.text, source=column.source or "", status=column.status or "")
    raise CatalogError(
        f"the term {term.name!r} names {term.of}, which is not a column of a measure",
        file=str(FACTS / Glossary.path),
    )
