"""ISFC logical links: the CTC devices a system writes on, and their throughput.

Their numbers with sources are in facts/models/published.toml.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from zlens.models.published_numbers import number

#: Maximum number of CTC devices of one logical link, and of chpids that IBM recommends for one.
MAX_DEVICES, MAX_CHPIDS = int(number("isfc_devices")), int(number("isfc_chpids"))


class Device(Struct, frozen=True):
    """A CTC device of a link: its number and the index of its chpid."""

    number: int
    chpid: int


def capacity_factor(speeds: Sequence[float]) -> float:
    """Return the sum of the speeds, Gb/s ("z/VM Performance Update 6.2 and 6.3": ISFC capacity test)."""
    return float(sum(speeds))


def usable_device_count(devices: int) -> int:
    """Return the number of devices of a link that each side writes on."""
    if devices > MAX_DEVICES:
        return 0
    return devices - sum(devices >= number(f"isfc_{left}_left_from") for left in ("one", "two"))


def comes_first(system: str, peer: str) -> bool:
    """Return whether a system name sorts before its peer's in EBCDIC, as in CP: letters before digits."""
    return system.upper().encode("cp037", "replace") < peer.upper().encode("cp037", "replace")


def writes_on(devices: Sequence[Device], system: str, peer: str) -> list[Device]:
    """Return devices that a system writes on, in the order of use."""
    ordered = sorted(devices, key=lambda device: device.number, reverse=not comes_first(system, peer))
    return ordered[: usable_device_count(len(devices))]


def recommended_devices(chpids: int) -> int:
    """Return the CTC devices per chpid that IBM recommends for a number of chpids; 0 for too many chpids."""
    return int(min(number("isfc_devices_per_chpid"), number("isfc_devices_recommended") // chpids))


def mb_per_ssch() -> float:
    """Return measured data per start of a CTC device, MB of 10^6 bytes."""
    return number("isfc_measured_mb") / number("isfc_measured_ssch")


def chpid_rate(
    speed: float, devices: int, *, per_gb: float, share: float = 100.0, ssch: float | None = None
) -> float:
    """Return MB/s (10^6 bytes) that a system writes over one chpid.

    speed    Gb/s of the chpid
    devices  its CTC devices that the system writes on
    per_gb   MB/s that a chpid carries for each Gb/s, measured
    share    the link's part of the chpid if others use it, too, percent
    ssch     maximum starts per second of one device; None for no limit
    """
    if not devices:
        return 0.0
    channel = speed * per_gb * share / 100.0
    return channel if ssch is None else min(channel, devices * ssch * mb_per_ssch())
