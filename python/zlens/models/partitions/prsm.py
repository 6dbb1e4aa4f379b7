"""PR/SM's arithmetic: entitlement, polarity of logical cores, bands of accuracy, run time, physical cores.

Amounts are in cores: 1 is all of one physical core. Sources, by name: IBM, PR/SM Planning Guide (weights,
capping, weight management, running time); IBM, z/VM 6.4 Performance (the machine of 86 cores, FCX302);
IBM-MAIN and "Mainframe Performance Topics" (vertical cores of integer and fractional entitlements).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from zlens.models.allocation import CapGroup, crossing_fill, group_fill, proportional
from zlens.models.optional_numbers import ratio
from zlens.models.published_numbers import number

#: Tolerance for an entitlement to count as an integer: the rounding error of a division.
_WHOLE = 1e-9
#: Deviation of use that PR/SM allows, as a fraction.
STRAYS = number("prsm_strays")
#: Entitlement per core, capped and uncapped, from which the deviation is a fraction of the share; below, of
#: all shared cores.
CAPPED_FROM, UNCAPPED_FROM = number("prsm_capped_from"), number("prsm_uncapped_from")
#: Minimum and maximum default run time, and run time of vertical-high cores, ms.
SHORTEST, LONGEST = number("prsm_shortest_run"), number("prsm_longest_run")
OF_HIGH = number("prsm_run_of_high")

#: Rules for an entitlement to an integer number of cores.
INTEGER_RULES = ("all high", "one medium", "one medium beside lows")


class Polarity(Struct, frozen=True):
    """Vertical cores of a partition. share: entitlement of each medium one, in cores."""

    high: int
    medium: int
    share: float
    low: int


class Claim(Struct, frozen=True):
    """Claim of a partition to shared cores. limits: its own limits by name."""

    weight: float
    cores: float
    demand: float = math.inf
    limits: tuple[tuple[str, float], ...] = ()

    @property
    def lowest_limit(self) -> tuple[str, float]:
        """Name and value of the lowest limit, which applies (RMF, Group Capacity Report)."""
        return min((*self.limits, ("cores", self.cores)), key=lambda limit: limit[1])

    @property
    def max_cores(self) -> float:
        """Cores that it could use without other partitions."""
        return min(self.demand, self.lowest_limit[1])


def own_limits(
    partition: Mapping[str, Any], entitled: float, msu_per_core: float | None
) -> tuple[tuple[str, float], ...]:
    """Return the limits of a partition of a scenario other than its logical cores, by name, in cores."""
    limits = []
    if partition.get("capped"):
        limits.append(("initial cap", entitled))
    if partition.get("absolute_cap") is not None:
        limits.append(("absolute cap", float(partition["absolute_cap"])))
    if partition.get("defined_capacity") is not None and msu_per_core is not None:
        limits.append(("defined capacity", partition["defined_capacity"] / msu_per_core))
    return tuple(limits)


def entitlements(shared: float, weights: Sequence[float]) -> list[float]:
    """Divide an amount in proportion to weights: cores of a type, or the limit of a capacity group.

    Source: PR/SM Planning Guide, use of processing weights; z/OS MVS Planning: Workload Management, group
    capacity.
    """
    return proportional(shared, weights)


def vertical(entitled: float, cores: int, integer: str = "one medium beside lows") -> Polarity:
    """Return the polarity of the logical cores of a vertical partition.

    The integer part of the entitlement becomes vertical-high cores, the remainder a medium one. If the
    remainder is less than half a core, one high core is given up and two mediums share the sum, which avoids
    weak medium cores. An integer entitlement has no remainder:

    all high                 no medium core (Mainframe Performance Topics, 2020-01-13: 3.0 on 4 cores are 3
                             high and 1 low)
    one medium               one core is medium regardless (IBM-MAIN: always at least one medium, z10)
    one medium beside lows   only if there are more logical cores (sample study of the LPARDesign tool for
                             a z16: 3.0 on 3 cores are 3 high, on 6 cores 2 high, 1 medium and 3 low)

    No exception is made for the z13 (constant `z13_exception`).
    """
    full_cores = math.floor(entitled + _WHOLE)
    if entitled >= cores - _WHOLE:
        if integer == "one medium" and cores:
            return Polarity(cores - 1, 1, 1.0, 0)
        return Polarity(cores, 0, 0.0, 0)
    left = entitled - full_cores
    if left < _WHOLE:
        if integer == "all high" or not full_cores:
            return Polarity(full_cores, 0, 0.0, cores - full_cores)
        return Polarity(full_cores - 1, 1, 1.0, cores - full_cores)
    if left >= 0.5 - _WHOLE or not full_cores:
        return Polarity(full_cores, 1, left, cores - full_cores - 1)
    return Polarity(full_cores - 1, 2, (1 + left) / 2, cores - full_cores - 1)


def is_integer(entitled: float) -> bool:
    """Return whether an entitlement is an integer number of cores, to which a rule of its own applies."""
    return entitled > _WHOLE and abs(entitled - round(entitled)) < _WHOLE


def allocate(
    capacity: float, claims: Sequence[Claim], groups: Sequence[tuple[Sequence[int], float]] = ()
) -> list[float]:
    """Return the cores that each partition gets.

    All rise in proportion to their weights until their own limit, a group's limit or the machine stops them:
    each gets its entitlement plus what others leave of theirs, by weight. Groups may cross: a partition can
    be in a hardware group and in a capacity group that have only some members in common.

    Source: PR/SM Planning Guide, processing weight management; absolute and absolute group capping.
    """
    weights = [claim.weight for claim in claims]
    caps = [max(0.0, claim.max_cores) for claim in claims]
    inside = [index for members, _ in groups for index in members]
    if len(set(inside)) == len(inside):
        disjoint = [CapGroup(tuple(members), limit) for members, limit in groups]
        return group_fill(max(0.0, capacity), weights, caps, disjoint)
    return crossing_fill(max(0.0, capacity), weights, caps, groups)


def accuracy_band(share: float, weakest: float, *, capped: bool) -> tuple[float, float]:
    """Return the range, in parts of all shared cores, of the use of a partition that wants its share.

    share    part of all shared cores
    weakest  entitlement of its weakest entitled logical core, in cores

    Source: PR/SM Planning Guide, processing weight management, examples 1 and 2.
    """
    near = weakest >= (CAPPED_FROM if capped else UNCAPPED_FROM) - _WHOLE
    off = STRAYS * (share if near else 1.0)
    return max(0.0, share - off), min(1.0, share + off)


def run_time(shared: float, logical: int, max_run_ms: float) -> float:
    """Return the default run time of a logical core until PR/SM reclaims the physical core, ms.

    Source: PR/SM Planning Guide, processor running time, for the range; the formula is only an image there;
    this one is recalled (constant `run_time_longest`).
    """
    return max(SHORTEST, min(LONGEST, max_run_ms * shared / logical)) if logical else LONGEST


def physical(lgclc: float, ovrhd: float, lpmgt: float) -> tuple[float, float | None, float | None]:
    """Return %Total, T/L and LCoT/L of FCX302 PHYSLOG from %LgclC, %Ovrhd and %LPmgt, percent of one core.

    Source: z/VM 6.4 Performance, whose printed rows obey it.
    """
    total = lgclc + ovrhd + lpmgt
    return total, ratio(total, lgclc), ratio(lgclc + ovrhd, lgclc)
