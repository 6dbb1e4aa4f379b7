"""The types of processors and their properties (facts/processor_types.toml)."""

from __future__ import annotations

from functools import cache

from msgspec import Struct

from zlens.errors import CatalogError
from zlens.schema import document
from zlens.schema.facts import FACTS

_FILE = FACTS / "processor_types.toml"


class ProcessorType(Struct, frozen=True):
    """A type of processor; the file explains its flags."""

    name: str
    text: str
    full_speed: bool
    modeled: bool
    cpu_pool: bool
    source: str


@cache
def types() -> tuple[ProcessorType, ...]:
    """All types in the order of the file."""
    try:
        return tuple(
            ProcessorType(name=name, **facts) for name, facts in document.load_unchecked(_FILE).items()
        )
    except TypeError as error:
        raise CatalogError(
            f"processor_types.toml is not complete: {error}", file=str(_FILE), cure="copy a neighbor in it"
        ) from None


def modeled_types() -> tuple[str, ...]:
    """The types that models and what-ifs support."""
    return tuple(processor_type.name for processor_type in types() if processor_type.modeled)


def full_speed_types() -> frozenset[str]:
    """The types that always run at full speed."""
    return frozenset(processor_type.name for processor_type in types() if processor_type.full_speed)


def cpu_pool_types() -> tuple[str, ...]:
    """The types that z/VM CPU pools can limit."""
    return tuple(processor_type.name for processor_type in types() if processor_type.cpu_pool)
