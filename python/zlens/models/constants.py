"""Values and rules that no public document settles, each with a default, a status and the document that would
settle it.

They are parameters of scenarios; measured reports never use them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from msgspec import Struct

from zlens.answers.answer import Assumption
from zlens.errors import CatalogError
from zlens.schema import document
from zlens.schema.facts import FACTS

_FILE = FACTS / "models" / "constants.toml"
#: Values of `status`: the catalog's words for how well a fact is established.
STATUSES = ("verified", "carried", "constructed", "derived", "unverified", "ours")


class Constant(Struct, frozen=True):
    """Unsettled value. default: number, text or flag. closes: the document that would settle it, or ""."""

    name: str
    model: str
    default: Any
    unit: str
    text: str
    status: str
    source: str
    closes: str

    def assumed(self) -> Assumption:
        """Return the constant as an assumption of an answer."""
        return Assumption(self.name, self.default, self.unit, self.text, self.status, self.source)


@cache
def constants() -> dict[str, Constant]:
    """Return all constants by name."""
    loaded: dict[str, Constant] = {}
    for name, facts in document.load_unchecked(_FILE).items():
        try:
            loaded[name] = Constant(name=name, **{"unit": "", "closes": "", **facts})
        except TypeError:
            raise CatalogError(
                f"{name} of models/constants.toml is incomplete", file=str(_FILE), cure="copy its neighbor"
            ) from None
    return loaded


def constant(name: str) -> Constant:
    """Return a constant by name. Only models call this, so an unknown name is a bug."""
    return constants()[name]


def open_questions() -> list[Constant]:
    """Return unsettled constants, by model."""
    return sorted(
        (
            question
            for question in constants().values()
            if question.status in ("unverified", "ours", "constructed")
        ),
        key=lambda question: (question.model, question.name),
    )
