"""Types of processors and their properties (facts/processor_types.toml)."""

from typing import Annotated, ClassVar

from zlens.schema.structs import NamedFacts, doc


class ProcessorType(NamedFacts, frozen=True):
    """A type of processor."""

    path: ClassVar = "processor_types.toml"
    text: Annotated[str, doc("description")]
    full_speed: Annotated[bool, doc("whether it always runs at full speed")]
    modeled: Annotated[bool, doc("whether models and what-ifs support it")]
    cpu_pool: Annotated[bool, doc("whether CPU pools of z/VM can limit it")]
    source: Annotated[str, doc("where that is from")]


def modeled_types() -> tuple[str, ...]:
    """Return the types that models and what-ifs support."""
    return tuple(name for name, facts in ProcessorType.by_name().items() if facts.modeled)


def full_speed_types() -> frozenset[str]:
    """Return the types that always run at full speed."""
    return frozenset(name for name, facts in ProcessorType.by_name().items() if facts.full_speed)


def cpu_pool_types() -> tuple[str, ...]:
    """Return the types that z/VM CPU pools can limit."""
    return tuple(name for name, facts in ProcessorType.by_name().items() if facts.cpu_pool)
