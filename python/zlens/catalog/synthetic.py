"""Synthetic systems: those in demo files that zlens writes, and those of simulated machines."""

from __future__ import annotations

from functools import cache

from zlens.schema import document
from zlens.schema.facts import FACTS

#: Serial number of simulated machines, unless their scenario specifies one.
SERIAL = "00000ZLSIMULATED"


@cache
def _systems() -> frozenset[tuple[str, str]]:
    data = document.load_unchecked(FACTS / "synthetic_systems.toml")
    return frozenset((entry["system"], entry["serial"]) for entry in data["made"])


def is_synthetic(system: str, serial: str | None) -> bool:
    """Return whether a system with this name on a machine with this serial number is synthetic."""
    if serial is None:
        return False
    return serial.strip() == SERIAL or (system, serial.strip().lstrip("0")) in _systems()
