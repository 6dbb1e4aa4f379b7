"""Published numbers that model rules use, each with its source (facts/models/published.toml)."""

from __future__ import annotations

from functools import cache
from typing import Annotated

from msgspec import Meta

from zlens.schema import structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import SourcedTable


class PublishedNumber(SourcedTable, frozen=True):
    """A number in a rule that a model applies."""

    model: Annotated[str, Meta(description="the model")]
    value: Annotated[int | float, Meta(description="the number")]
    unit: Annotated[str, Meta(description="its unit")]
    text: Annotated[str, Meta(description="what it is")]


@cache
def published() -> dict[str, PublishedNumber]:
    """Return all published numbers by name."""
    return structs.load(FACTS / "models" / "published.toml", dict[str, PublishedNumber])


def number(name: str) -> float:
    """Return a published number by name. Only models call this, so an unknown name is a bug."""
    return published()[name].value
