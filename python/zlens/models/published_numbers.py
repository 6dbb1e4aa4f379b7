"""Published numbers that model rules use, each with its source (facts/models/published.toml)."""

from typing import Annotated, ClassVar

from msgspec import Meta

from zlens.schema.structs import NamedFacts, SourcedTable


class PublishedNumber(NamedFacts, SourcedTable, frozen=True):
    """A number in a rule that a model applies."""

    path: ClassVar = "models/published.toml"
    model: Annotated[str, Meta(description="the model")]
    value: Annotated[int | float, Meta(description="the number")]
    unit: Annotated[str, Meta(description="its unit")]
    text: Annotated[str, Meta(description="what it is")]


def number(name: str) -> float:
    """Return a published number by name. Only models call this, so an unknown name is a bug."""
    return PublishedNumber.by_name()[name].value
