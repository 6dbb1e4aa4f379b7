"""Values and rules that no public document settles, each with a default, a status and the document that would
settle it.

They are parameters of scenarios; measured reports never use them.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Annotated, Any

from msgspec import Meta
from msgspec.structs import asdict, replace

from zlens.rendering.answer import Assumption
from zlens.schema import structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import SourcedTable

#: Values of `status`: the catalog's words for how well a fact is established.
STATUSES = ("verified", "carried", "constructed", "derived", "unverified", "ours")
#: Those of values that may be others.
ASSUMED = ("constructed", "unverified", "ours")


class ConstantKeys(SourcedTable, frozen=True, kw_only=True):
    """An unsettled value."""

    default: Annotated[Any, Meta(description="its value, unless a scenario states another")]
    range: Annotated[
        list[Any] | None,
        Meta(description="least and greatest plausible value; the alternatives if it is not a number"),
    ] = None
    unit: Annotated[str, Meta(description="its unit")] = ""
    text: Annotated[str, Meta(description="what it is")]
    closes: Annotated[str, Meta(description="the document that would settle it; empty if none")] = ""


class Constant(ConstantKeys, frozen=True, kw_only=True):
    """An unsettled value with its name and the model that uses it."""

    name: str
    model: str

    def assumed(self) -> Assumption:
        """Return the constant as an assumption of an answer."""
        return Assumption(self.name, self.default, self.unit, self.text, self.status, self.source)


@cache
def constants() -> dict[str, Constant]:
    """Return all constants by name."""
    file = structs.load(FACTS / "models" / "constants.toml", dict[str, dict[str, ConstantKeys]])
    return {
        name: Constant(name=name, model=model, **asdict(keys))
        for model, rows in file.items()
        for name, keys in rows.items()
    }


_replaced: ContextVar[Mapping[str, Any] | None] = ContextVar("replaced", default=None)


def constant(name: str) -> Constant:
    """Return a constant by name, with the default that `replaced` gives it.

    Only models call this, so an unknown name is a bug.
    """
    found = constants()[name]
    values = _replaced.get() or {}
    return replace(found, default=values[name]) if name in values else found


@contextmanager
def replaced(values: Mapping[str, Any]) -> Iterator[None]:
    """Replace defaults of constants, by name."""
    token = _replaced.set(values)
    try:
        yield
    finally:
        _replaced.reset(token)


def open_questions() -> list[Constant]:
    """Return unsettled constants, by model."""
    return sorted(
        (question for question in constants().values() if question.status in ASSUMED),
        key=lambda question: (question.model, question.name),
    )
