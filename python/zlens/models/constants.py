"""Numbers and rules that public texts leave open: each with its default, status and what would settle it.

They are parameters of scenarios. Measured reports never use one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from zlens.errors import CatalogError
from zlens.models.answer import Assumption
from zlens.schema import document
from zlens.schema.facts import FACTS

_FILE = FACTS / "models" / "constants.toml"
#: What a constant may be: known words of the catalog for how well something is known.
STATUSES = ("verified", "carried", "constructed", "derived", "unverified", "ours")


@dataclass(frozen=True, slots=True)
class Constant:
    """default: a number, a text or a flag. closes: the document that would settle it, "" where none would."""

    name: str
    model: str
    default: Any
    unit: str
    text: str
    status: str
    source: str
    closes: str

    def assumed(self) -> Assumption:
        """As an assumption of an answer."""
        return Assumption(self.name, self.default, self.unit, self.text, self.status, self.source)


@cache
def constants() -> dict[str, Constant]:
    """All of them by name."""
    found: dict[str, Constant] = {}
    for name, facts in document.facts(_FILE).items():
        try:
            found[name] = Constant(name=name, **{"unit": "", "closes": "", **facts})
        except TypeError:
            raise CatalogError(
                f"{name} of models/constants.toml is not complete", file=str(_FILE), cure="copy its neighbor"
            ) from None
    return found


def constant(name: str) -> Constant:
    """One of them; the name stands in a model's own code, so that a wrong one is a fault of ours."""
    return constants()[name]


def open_questions() -> list[Constant]:
    """Those that are not settled, by model."""
    return sorted(
        (one for one in constants().values() if one.status in ("unverified", "ours", "constructed")),
        key=lambda one: (one.model, one.name),
    )
