"""Numbers of rules that publications print: each with its source (facts/models/published.toml)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from zlens.errors import CatalogError
from zlens.schema import document
from zlens.schema.facts import FACTS

_FILE = FACTS / "models" / "published.toml"


@dataclass(frozen=True, slots=True)
class Published:
    """A number of a rule that a model computes by."""

    name: str
    model: str
    value: float
    unit: str
    text: str
    source: str
    status: str


@cache
def published() -> dict[str, Published]:
    """All of them by name."""
    try:
        return {name: Published(name=name, **facts) for name, facts in document.facts(_FILE).items()}
    except TypeError as error:
        raise CatalogError(
            f"models/published.toml is not complete: {error}", file=str(_FILE), cure="copy a neighbor in it"
        ) from None


def number(name: str) -> float:
    """One of them; the name stands in a model's own code, so that a wrong one is a fault of ours."""
    return published()[name].value
