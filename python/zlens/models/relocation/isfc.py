"""ISFC logical links: the CTC devices a system writes on, and their throughput.

Facts with sources are in facts/models/isfc.toml.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Annotated

from msgspec import Meta, Struct, field

from zlens.schema import structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactTable, SourcedTable


class Device(Struct, frozen=True):
    """A CTC device of a link: its number and the index of its chpid."""

    number: int
    chpid: int


class LinkFact(SourcedTable, frozen=True, kw_only=True):
    """A fact about links."""

    text: Annotated[str, Meta(description="what is true of links")]


class LinkDevices(LinkFact, frozen=True, kw_only=True):
    most: Annotated[int, Meta(description="CTC devices of one link")]


class DevicesLeft(FactTable, frozen=True):
    """Devices that a side does not write on."""

    low: Annotated[int, Meta(description="from this number of devices of the link")] = field(name="from")
    high: Annotated[int, Meta(description="to this number")] = field(name="to")
    devices: Annotated[int, Meta(description="devices left to the other side")]


class WritePath(LinkFact, frozen=True, kw_only=True):
    left: tuple[DevicesLeft, ...]


class RecommendedDevices(LinkFact, frozen=True, kw_only=True):
    devices_per_chpid: int
    devices_at_most: Annotated[int, Meta(description="CTC devices of all chpids")]


class BestPractice(LinkFact, frozen=True, kw_only=True):
    chpids_at_most: int


class MeasuredLink(LinkFact, frozen=True, kw_only=True):
    devices: Annotated[int, Meta(description="its CTC devices")]
    usable: Annotated[int, Meta(description="those that a side writes on")]
    ssch_per_device: Annotated[float, Meta(description="starts per second of each")]
    ssch: Annotated[float, Meta(description="starts per second of all")]
    mb_per_second: Annotated[float, Meta(description="MB of 10^6 bytes")]
    speed: Annotated[float, Meta(description="Gb/s of the chpid")]


class LinkFacts(FactTable, frozen=True):
    """Facts about ISFC links."""

    devices: LinkDevices
    write_path: WritePath
    recommended: RecommendedDevices
    best_practice: BestPractice
    concurrent: LinkFact
    measured: MeasuredLink


@cache
def facts() -> LinkFacts:
    """Return facts about ISFC links."""
    return structs.load(FACTS / "models" / "isfc.toml", LinkFacts)


def max_devices() -> int:
    """Return the maximum number of CTC devices of one logical link."""
    return facts().devices.most


def max_chpids() -> int:
    """Return the maximum number of chpids that IBM recommends for one logical link."""
    return facts().best_practice.chpids_at_most


def capacity_factor(speeds: Sequence[float]) -> float:
    """Return the sum of the speeds, Gb/s ("z/VM Performance Update 6.2 and 6.3": ISFC capacity test)."""
    return float(sum(speeds))


def usable_device_count(devices: int) -> int:
    """Return the number of devices of a link that each side writes on."""
    for row in facts().write_path.left:
        if row.low <= devices <= row.high:
            return devices - row.devices
    return 0


def comes_first(system: str, peer: str) -> bool:
    """Return whether a system name sorts before its peer's in EBCDIC, as in CP: letters before digits."""
    return system.upper().encode("cp037", "replace") < peer.upper().encode("cp037", "replace")


def writes_on(devices: Sequence[Device], system: str, peer: str) -> list[Device]:
    """Return devices that a system writes on, in the order of use."""
    ordered = sorted(devices, key=lambda device: device.number, reverse=not comes_first(system, peer))
    return ordered[: usable_device_count(len(devices))]


def recommended_devices(chpids: int) -> int:
    """Return the CTC devices per chpid that IBM recommends for a number of chpids; 0 for too many chpids."""
    rule = facts().recommended
    return min(rule.devices_per_chpid, rule.devices_at_most // chpids)


def mb_per_ssch() -> float:
    """Return measured data per start of a CTC device, MB of 10^6 bytes."""
    return facts().measured.mb_per_second / facts().measured.ssch


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
