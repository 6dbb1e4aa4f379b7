"""ISFC logical links: which CTC devices a system writes on, and how much goes over them.

Facts are in facts/models/isfc.toml, each with its source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from zlens.schema import document
from zlens.schema.facts import FACTS

_FILE = FACTS / "models" / "isfc.toml"


@dataclass(frozen=True, slots=True)
class Device:
    """A CTC device of a link: its number and the place of its chpid in the list."""

    number: int
    chpid: int


@cache
def facts() -> dict[str, Any]:
    """What is known of links."""
    return document.facts(_FILE)


def most_devices() -> int:
    """CTC devices that one logical link can have."""
    return int(facts()["devices"]["most"])


def capacity_factor(speeds: Sequence[float]) -> float:
    """Sum of the speeds of the chpids, Gb/s ("z/VM Performance Update 6.2 and 6.3": ISFC capacity test)."""
    return float(sum(speeds))


def usable(devices: int) -> int:
    """Devices of a link that each of its two sides writes on."""
    for row in facts()["write_path"]["left"]:
        if row["from"] <= devices <= row["to"]:
            return devices - int(row["devices"])
    return 0


def first(own: str, other: str) -> bool:
    """Whether a system's name comes before another's: as CP has them, in EBCDIC, letters before digits."""
    return own.upper().encode("cp037", "replace") < other.upper().encode("cp037", "replace")


def writes_on(devices: Sequence[Device], own: str, other: str) -> list[Device]:
    """Devices on which a system writes, in the order in which it takes them."""
    ordered = sorted(devices, key=lambda device: device.number, reverse=not first(own, other))
    return ordered[: usable(len(devices))]


def recommended_devices(chpids: int) -> int:
    """CTC devices for each of so many chpids as IBM recommends; 0 where there are too many chpids."""
    rule = facts()["recommended"]
    return int(min(rule["devices_per_chpid"], rule["devices_at_most"] // chpids))


def mb_per_ssch() -> float:
    """What one start of a CTC device carried where it was measured, MB of 10^6 bytes."""
    measured = facts()["measured"]
    return float(measured["mb_per_second"] / measured["ssch"])


def chpid_rate(
    speed: float, devices: int, *, per_gb: float, share: float = 100.0, ssch: float | None = None
) -> float:
    """MB/s (10^6 bytes) that a system writes over one chpid.

    speed    Gb/s of the chpid
    devices  CTC devices of it on which the system writes
    per_gb   MB/s that a chpid carries for each Gb/s, measured
    share    what the link has of the chpid where others use it as well, percent
    ssch     starts per second of one device at most; None where that is no limit
    """
    if not devices:
        return 0.0
    channel = speed * per_gb * share / 100.0
    return channel if ssch is None else min(channel, devices * ssch * mb_per_ssch())
