"""How many cores to run in: the rules of z/VM, of Linux and of z/OS, as plain functions.

Power and use are percent of one core. Sources: IBM, "z/VM 6.4 Performance Update" (VM66063: the three
heuristics; UNPARKING and EXCESSUSE hold with Global Performance Data on); IBM, z/VM 6.3 Performance Report
(CPUPAD, a decision every two seconds); Linux, arch/s390/kernel/hiperdispatch.c; IBM SMF Explorer, texts of
the fields of SMF 99 subtype 12. How z/VM projects its use and what power it expects of vertical-lows is on no
public page at hand: those rules are ours (facts/models/constants.toml).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from zlens.models.fill import water_fill
from zlens.models.published import number

#: How often z/VM and Linux decide.
ZVM_SECONDS, LINUX_SECONDS = number("zvm_decides_each"), number("linux_decides_each")
#: Less than this of a core is nothing.
_NOTHING = 1e-9


@dataclass(frozen=True, slots=True)
class Cores:
    """Online cores of a vertical partition. medium: entitlement of each vertical-medium."""

    highs: int
    mediums: int
    lows: int
    medium: float = 100.0

    @property
    def entitled(self) -> int:
        """Cores that have entitlement."""
        return self.highs + self.mediums

    @property
    def online(self) -> int:
        return self.entitled + self.lows

    @property
    def entitlement(self) -> float:
        return 100.0 * self.highs + self.medium * self.mediums


@dataclass(frozen=True, slots=True)
class Unparked:
    """Cores that z/VM runs in by each model, and what decides.

    powered  cores that appear powered
    needed   the fewest of them whose power reaches what is projected; all where they do not
    short    power that is missing then
    """

    large: int
    medium: int
    small: int
    powered: int
    needed: int
    short: float


def projected(used: float, factor: float, base: float) -> float:
    """What the next interval is expected to use, from what the last one used (rule of ours)."""
    return factor * used + base


def padded(projection: float, pad: float, entitlement: float, *, beyond: bool) -> float:
    """CPUPAD on top of the projection; without `beyond` it takes nobody past the entitlement."""
    if beyond:
        return projection + pad
    return max(projection, min(projection + pad, entitlement))


def excess_power(
    weight: float, most: float, others: Sequence[tuple[float, float, float, float]]
) -> tuple[float, float]:
    """What the others leave of their entitlement, and what of it this partition may have.

    others: weight, entitlement, use and demand of each other partition. What is left goes by weight to those
    who want more than their entitlement, as PR/SM shares excess; this partition would have `most`.
    """
    spare = sum(max(0.0, entitlement - used) for _, entitlement, used, _ in others)
    hungry = [(one, demand - entitled) for one, entitled, _, demand in others if demand > entitled]
    found = water_fill(
        spare, [weight, *(one for one, _ in hungry)], [most, *(wanted for _, wanted in hungry)]
    )
    return spare, found[0]


def low_power(excess: float, lows: int, *, evenly: bool) -> list[float]:
    """Power of each vertical-low: the excess evenly, or a whole core each as long as there is any."""
    if evenly:
        return [min(100.0, excess / lows)] * lows
    return [min(100.0, max(0.0, excess - 100.0 * at)) for at in range(lows)]


def zvm(cores: Cores, lows: Sequence[float], wanted: float, least: float) -> Unparked:
    """The three models of z/VM with Global Performance Data on.

    lows    power that each vertical-low appears to have
    wanted  power that is projected to be needed
    least   power below which a vertical-low does not count as powered
    """
    powers = [100.0] * cores.highs + [cores.medium] * cores.mediums
    powers += sorted((power for power in lows if power >= least), reverse=True)
    needed = _fewest(powers, wanted)
    small = max(needed, min(1, cores.online))
    powered = max(len(powers), min(1, cores.online))
    short = max(0.0, wanted - sum(powers))
    return Unparked(powered, max(cores.entitled, small), small, powered, small, short)


def zvm_alone(cores: Cores, wanted: float) -> int:
    """Cores that z/VM runs in with Global Performance Data off: it takes vertical-lows to have full power."""
    powers = [100.0] * cores.highs + [cores.medium] * cores.mediums + [100.0] * cores.lows
    return max(_fewest(powers, wanted), min(1, cores.online))


def _fewest(powers: Iterable[float], wanted: float) -> int:
    """How many of the powers, from the first, reach what is wanted; all where they do not."""
    count = 0
    for reached in accumulate(powers, initial=0.0):
        if reached >= wanted - _NOTHING:
            return count
        count += 1
    return count - 1


@dataclass(frozen=True, slots=True)
class Tick:
    """A quarter of a second of Linux: steal as the kernel sees it, its average, cores of high capacity."""

    steal: int
    average: int
    cores: int


def linux(entitled: int, online: int, steals: Iterable[float], threshold: int, weight: int) -> list[Tick]:
    """Cores of full capacity after each tick, in the kernel's integer arithmetic.

    steals: mean steal time of the vertical-mediums and -lows in each tick, percent. Without an entitled core
    the kernel leaves all of them at high capacity.
    """
    average = 0
    ticks = []
    for steal in steals:
        # Percent is cut off, and so is the average: it cannot rise by less than one.
        average = (average * (weight - 1) + int(steal)) // weight
        all_high = average < threshold or not entitled
        ticks.append(Tick(int(steal), average, online if all_high else entitled))
    return ticks


@dataclass(frozen=True, slots=True)
class Wlm:
    """Thresholds of WLM, percent: see constants.toml of the first two, published.toml of the others."""

    unpark_busy: float
    park_busy: float
    half: float = number("wlm_half_above")
    one: float = number("wlm_one_above")
    effect: float = number("wlm_effect_below")


@dataclass(frozen=True, slots=True)
class Interval:
    """Two seconds of z/OS, percent of one core.

    busy    MVS busy: of the unparked cores, in percent
    used    what the partition used
    free    what the machine had free
    unused  entitlement that the other partitions left
    part    this partition's part of that, of one: its weight among those that want more than theirs
    """

    busy: float
    used: float
    free: float
    unused: float = 0.0
    part: float = 1.0


@dataclass(frozen=True, slots=True)
class Decision:
    """What WLM does after an interval: vertical-lows that run from now on, and why."""

    lows: int
    why: str


def zos(cores: Cores, lows: int, interval: Interval, rules: Wlm) -> Decision:
    """The next number of unparked vertical-lows, from those that run now."""
    guaranteed = cores.entitlement
    above = interval.used - guaranteed
    if interval.busy >= rules.unpark_busy:
        if lows >= cores.lows:
            return Decision(lows, "busy, and no vertical-low is parked")
        if interval.free > rules.unpark_busy:
            return Decision(lows + 1, "busy, and the machine has free capacity")
        if interval.unused and interval.used < guaranteed + interval.unused * interval.part:
            return Decision(lows + 1, "busy, and others leave some of theirs")
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
    return Decision(lows, "nothing to change")
