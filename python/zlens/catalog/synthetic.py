"""Synthetic systems: those in demo files that zlens writes, and those of simulated machines."""

from functools import cache
from typing import Annotated, ClassVar

from zlens.schema.structs import FactFile, FactTable, doc

#: Serial number of simulated machines, unless their scenario specifies one.
SERIAL = "00000ZLSIMULATED"


class SyntheticSystem(FactTable, frozen=True):
    """A system that only exists in files of zlens."""

    system: Annotated[str, doc("its name")]
    serial: Annotated[str, doc("the serial number of its machine, without leading zeros")]
    text: Annotated[str, doc("what it is")]


class SyntheticFile(FactFile, frozen=True):
    """All synthetic systems."""

    path: ClassVar = "synthetic_systems.toml"
    systems: tuple[SyntheticSystem, ...]


@cache
def _systems() -> frozenset[tuple[str, str]]:
    return frozenset((entry.system, entry.serial) for entry in SyntheticFile.load().systems)


def is_synthetic(system: str, serial: str | None) -> bool:
    """Return whether a system with this name on a machine with this serial number is synthetic."""
    if serial is None:
        return False
    return serial.strip() == SERIAL or (system, serial.strip().lstrip("0")) in _systems()
