"""Published numbers that model rules use, each with its source (facts/models/published.toml)."""

from __future__ import annotations

from functools import cache

from msgspec import Struct

from zlens.errors import CatalogError
from zlens.schema import document
from zlens.schema.facts import FACTS

_FILE = FACTS / "models" / "published.toml"


class PublishedNumber(Struct, frozen=True):
    """A number in a rule that a model applies."""

    name: str
    model: str
    value: float
    unit: str
    text: str
    source: str
    status: str


@cache
def published() -> dict[str, PublishedNumber]:
    """Return all published numbers by name."""
    try:
        return {
            name: PublishedNumber(name=name, **facts)
            for name, facts in document.load_unchecked(_FILE).items()
        }
    except TypeError as error:
        raise CatalogError(
            f"models/published.toml is incomplete: {error}", file=str(_FILE), cure="copy a neighbor in it"
        ) from None


def number(name: str) -> float:
    """Return a published number by name. Only models call this, so an unknown name is a bug."""
    return published()[name].value
