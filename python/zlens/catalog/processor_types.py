"""Types of processors and their properties (facts/processor_types.toml)."""

from __future__ import annotations

from functools import cache
from typing import Annotated

from zlens.schema import structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactTable, doc


class ProcessorType(FactTable, frozen=True):
    """A type of processor."""

    text: Annotated[str, doc("description")]
    full_speed: Annotated[bool, doc("whether it always runs at full speed")]
    modeled: Annotated[bool, doc("whether models and what-ifs support it")]
    cpu_pool: Annotated[bool, doc("whether CPU pools of z/VM can limit it")]
    source: Annotated[str, doc("where that is from")]


@cache
def types() -> dict[str, ProcessorType]:
    """Return all types by name, in the order of the file."""
    return structs.load(FACTS / "processor_types.toml", dict[str, ProcessorType])


def modeled_types() -> tuple[str, ...]:
    """Return the types that models and what-ifs support."""
    return tuple(name for name, facts in types().items() if facts.modeled)


def full_speed_types() -> frozenset[str]:
    """Return the types that always run at full speed."""
    return frozenset(name for name, facts in types().items() if facts.full_speed)


def cpu_pool_types() -> tuple[str, ...]:
    """Return the types that z/VM CPU pools can limit."""
    return tuple(name for name, facts in types().items() if facts.cpu_pool)
