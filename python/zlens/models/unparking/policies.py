"""Number of cores to run in: rules of z/VM, Linux and z/OS.

Power and use are percent of one core. Sources: IBM, "z/VM 6.4 Performance Update" (VM66063: the three
heuristics; UNPARKING and EXCESSUSE apply with Global Performance Data on); IBM, z/VM 6.3 Performance Report
(CPUPAD, a decision every two seconds); Linux, arch/s390/kernel/hiperdispatch.c; IBM SMF Explorer, texts of
the fields of SMF 99 subtype 12. No known public source says how z/VM projects its use and what power
it expects of vertical-lows: zlens assumes those rules (facts/models/constants.toml).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

from msgspec import Struct

from zlens.models.allocation import NEGLIGIBLE, water_fill
from zlens.models.published_numbers import number

#: Seconds between decisions of z/VM and Linux.
ZVM_SECONDS, LINUX_SECONDS = number("zvm_decides_each"), number("linux_decides_each")


class VerticalCores(Struct, frozen=True):
    """Online cores of a vertical partition. medium: entitlement of each vertical-medium."""

    highs: int
    mediums: int
    lows: int
    medium: float = 100.0

    @property
    def entitled(self) -> int:
        """Number of cores with entitlement."""
        return self.highs + self.mediums

    @property
    def online(self) -> int:
        return self.entitled + self.lows

    @property
    def entitlement(self) -> float:
        return 100.0 * self.highs + self.medium * self.mediums


class Unparked(Struct, frozen=True):
    """Cores that z/VM runs in by each model, and the underlying values.

    powered  cores that appear powered
    needed   minimum number of them whose power reaches the projection; all if it does not
    short    power missing in that case
    """

    large: int
    medium: int
    small: int
    powered: int
    needed: int
    short: float


def projected(used: float, factor: float, base: float) -> float:
    """Return the expected use of the next interval from the use of the last one (zlens' rule)."""
    return factor * used + base


def add_pad(projection: float, pad: float, entitlement: float, *, beyond: bool) -> float:
    """Return the projection plus CPUPAD; without `beyond` the pad does not exceed the entitlement."""
    if beyond:
        return projection + pad
    return max(projection, min(projection + pad, entitlement))


def excess_power(
    weight: float, max_excess: float, others: Sequence[tuple[float, float, float, float]]
) -> tuple[float, float]:
    """Return the entitlement that the others leave unused, and this partition's part of it.

    others: weight, entitlement, use and demand of each other partition. Unused entitlement goes by weight to
    partitions that want more than theirs, as PR/SM shares excess; this partition wants `max_excess`.
    """
    spare = sum(max(0.0, entitlement - used) for _, entitlement, used, _ in others)
    hungry = [(each, demand - entitled) for each, entitled, _, demand in others if demand > entitled]
    weights, wants = zip((weight, max_excess), *hungry, strict=True)
    return spare, water_fill(spare, weights, wants)[0]


def low_power(excess: float, lows: int, *, evenly: bool) -> list[float]:
    """Return the power of each vertical-low: the excess spread evenly, or a full core each while it lasts."""
    if evenly:
        return [min(100.0, excess / lows)] * lows
    return [min(100.0, max(0.0, excess - 100.0 * index)) for index in range(lows)]


def zvm(cores: VerticalCores, lows: Sequence[float], projection: float, powered_from: float) -> Unparked:
    """Return the cores of the three models of z/VM with Global Performance Data on.

    lows          power that each vertical-low appears to have
    projection    projected power needed
    powered_from  least power of a vertical-low that counts as powered
    """
    powers = [100.0] * cores.highs + [cores.medium] * cores.mediums
    powers += sorted((power for power in lows if power >= powered_from), reverse=True)
    needed = _fewest_cores(powers, projection)
    small = max(needed, min(1, cores.online))
    powered = max(len(powers), min(1, cores.online))
    missing = max(0.0, projection - sum(powers))
    return Unparked(powered, max(cores.entitled, small), small, powered, small, missing)


def zvm_without_gpd(cores: VerticalCores, projection: float) -> int:
    """Return cores that z/VM runs in without Global Performance Data, at full power of vertical-lows."""
    powers = [100.0] * cores.highs + [cores.medium] * cores.mediums + [100.0] * cores.lows
    return max(_fewest_cores(powers, projection), min(1, cores.online))


def _fewest_cores(powers: Iterable[float], projection: float) -> int:
    """Return how many powers, from the first, reach the projection; all if they do not."""
    reached = list(accumulate(powers, initial=0.0))
    enough = (count for count, power in enumerate(reached) if power >= projection - NEGLIGIBLE)
    return next(enough, len(reached) - 1)


class Tick(Struct, frozen=True):
    """A quarter of a second of Linux: steal as seen by the kernel, its average, cores of high capacity."""

    steal: int
    average: int
    cores: int


def linux(entitled: int, online: int, steals: Iterable[float], threshold: int, weight: int) -> list[Tick]:
    """Return cores of full capacity after each tick, in the kernel's integer arithmetic.

    steals: mean steal time of the vertical-mediums and -lows in each tick, percent. Without an entitled core
    the kernel leaves all cores at high capacity.
    """
    average = 0
    ticks = []
    for steal in steals:
        # Both percent and average are truncated: the average cannot rise by less than one.
        average = (average * (weight - 1) + int(steal)) // weight
        all_high = average < threshold or not entitled
        ticks.append(Tick(int(steal), average, online if all_high else entitled))
    return ticks


class Wlm(Struct, frozen=True):
    """Thresholds of WLM, percent: see constants.toml for the first two, published.toml for the others."""

    unpark_busy: float
    park_busy: float
    half: float = number("wlm_half_above")
    one: float = number("wlm_one_above")
    effect: float = number("wlm_effect_below")


class WlmInterval(Struct, frozen=True):
    """Two seconds of z/OS, percent of one core.

    busy    MVS busy: of the unparked cores, in percent
    used    use of the partition
    free    free capacity of the machine
    unused  entitlement that the other partitions left
    part    this partition's part of that, 0 to 1: its weight among partitions that want more than theirs
    """

    busy: float
    used: float
    free: float
    unused: float = 0.0
    part: float = 1.0


class Decision(Struct, frozen=True):
    """WLM's decision after an interval: vertical-lows that run from then on, and why."""

    lows: int
    why: str


def zos(cores: VerticalCores, lows: int, interval: WlmInterval, rules: Wlm) -> Decision:
    """Return the decision on the number of unparked vertical-lows, from the current number."""
    guaranteed = cores.entitlement
    above = interval.used - guaranteed
    if interval.busy >= rules.unpark_busy:
        if lows >= cores.lows:
            return Decision(lows, "busy, and no vertical-low is parked")
        if interval.free > rules.unpark_busy:
            return Decision(lows + 1, "busy, and the machine has free capacity")
        if interval.unused and interval.used < guaranteed + interval.unused * interval.part:
            return Decision(lows + 1, "busy, and others leave entitlement unused")
        return Decision(lows, "busy, but the machine has no free capacity")
    if not lows:
        return Decision(0, "not busy, and no vertical-low is unparked")
    if interval.busy <= rules.park_busy:
        return Decision(lows - 1, "busy is low")
    if above <= rules.half / 100 * guaranteed:
        return Decision(lows - max(1, lows // 2), f"{rules.half:g}% above guaranteed or less is used")
    if above <= rules.one / 100 * guaranteed:
        return Decision(lows - 1, f"{rules.one:g}% above guaranteed or less is used")
    outside = interval.used - 100.0 * cores.highs
    if cores.highs and outside < rules.effect / 100 * 100.0 * (cores.mediums + lows):
        return Decision(lows - 1, f"less than {rules.effect:g}% of Vm and Vl is used")
    return Decision(lows, "no change")
