"""The types of processors, and what holds for each (facts/processor_types.toml)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from zlens.errors import CatalogError
from zlens.schema import document
from zlens.schema.facts import FACTS

_FILE = FACTS / "processor_types.toml"


@dataclass(frozen=True, slots=True)
class ProcessorType:
    """A type of processor; the file explains its flags."""

    name: str
    text: str
    full_speed: bool
    modeled: bool
    cpu_pool: bool
    source: str


@cache
def types() -> tuple[ProcessorType, ...]:
    """All of them in the order in which they are listed."""
    try:
        return tuple(ProcessorType(name=name, **facts) for name, facts in document.facts(_FILE).items())
    except TypeError as error:
        raise CatalogError(
            f"processor_types.toml is not complete: {error}", file=str(_FILE), cure="copy a neighbor in it"
        ) from None


def modeled() -> tuple[str, ...]:
    """The types that models and what-ifs know."""
    return tuple(each.name for each in types() if each.modeled)


def full_speed() -> frozenset[str]:
    """The types that always run at full speed."""
    return frozenset(each.name for each in types() if each.full_speed)


def in_cpu_pools() -> tuple[str, ...]:
    """The types that CPU pools of z/VM can limit."""
    return tuple(each.name for each in types() if each.cpu_pool)
