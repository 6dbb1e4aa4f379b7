"""Weighted max-min allocation: each claimant rises at the rate of its weight until a limit stops it.

The rule of CP shares, PR/SM weights and alias pools: entitlement is proportional to weight, and what one
leaves unused goes to the others in the same proportion, repeatedly. The result is unique and computed by
sorting, not iteration. Amounts are in the caller's unit and must be finite and not negative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

from msgspec import Struct

#: Less than this much of a processor or core is negligible.
NEGLIGIBLE = 1e-9


def proportional(amount: float, weights: Sequence[float]) -> list[float]:
    """Return the parts of an amount in proportion to weights; 0 if all weights are 0."""
    total = math.fsum(weights)
    return [amount * weight / total if total else 0.0 for weight in weights]


def water_fill(capacity: float, weights: Sequence[float], caps: Sequence[float]) -> list[float]:
    """Return min(cap, level x weight) for each claimant; the level uses up the capacity or all caps.

    A claimant without weight gets nothing while any with weight wants more; those without weight then
    share the rest equally.
    """
    level = _level(capacity, weights, caps)
    allocations = [
        min(cap, level * weight) if weight else 0.0 for weight, cap in zip(weights, caps, strict=True)
    ]
    left = capacity - sum(allocations)
    if level == float("inf") and left > 0:
        allocations = [cap if weight else 0.0 for weight, cap in zip(weights, caps, strict=True)]
        idle = [index for index, weight in enumerate(weights) if not weight and caps[index]]
        if idle:
            level = _level(capacity - sum(allocations), [1.0] * len(idle), [caps[index] for index in idle])
            for index in idle:
                allocations[index] = min(caps[index], level)
    return allocations


def _level(capacity: float, weights: Sequence[float], caps: Sequence[float]) -> float:
    """Return the level to which all rise; infinite if the caps of all with weight fit into the capacity."""
    rising = [index for index, weight in enumerate(weights) if weight and caps[index]]
    full_levels = {index: caps[index] / weights[index] for index in rising}
    rising.sort(key=full_levels.__getitem__)
    # Weights still rising at each step, summed from the end: subtracting would accumulate rounding errors.
    slopes = list(accumulate(weights[index] for index in reversed(rising)))[::-1]
    left = capacity
    for index, slope in zip(rising, slopes, strict=True):
        if full_levels[index] * slope >= left:
            return max(left, 0.0) / slope
        left -= caps[index]
    return float("inf")


class CapGroup(Struct, frozen=True):
    """Claimants with a limit on their sum. Members are claimants by index, or nested groups."""

    members: tuple[int | CapGroup, ...]
    limit: float


def group_fill(
    capacity: float, weights: Sequence[float], caps: Sequence[float], groups: Sequence[CapGroup]
) -> list[float]:
    """Allocate like water_fill, but stop claimants of a group also when their sum reaches its limit.

    Groups may nest but not cross. A full group stops at its own level, so its members never get more than a
    fill of only that group allocates to them; that amount is their cap outside.
    """
    limited = list(caps)
    for group in groups:
        _limit_group(group, weights, limited)
    return water_fill(capacity, weights, limited)


def _limit_group(group: CapGroup, weights: Sequence[float], caps: list[float]) -> list[int]:
    """Lower the caps of a group's claimants to its limit; return the claimants' indexes."""
    inside: list[int] = []
    for member in group.members:
        inside += [member] if isinstance(member, int) else _limit_group(member, weights, caps)
    group_caps = [caps[index] for index in inside]
    if sum(group_caps) <= group.limit:
        return inside
    group_weights = [weights[index] for index in inside]
    if len({*group_caps}) == len({*group_weights}) == 1:
        # Equal claimants, such as the virtual CPUs of a user, need no sorting.
        filled = [group.limit / len(inside)] * len(inside)
    else:
        filled = water_fill(group.limit, group_weights, group_caps)
    for index, cap in zip(inside, filled, strict=True):
        caps[index] = cap
    return inside


def crossing_fill(
    capacity: float,
    weights: Sequence[float],
    caps: Sequence[float],
    groups: Sequence[tuple[Sequence[int], float]],
) -> list[float]:
    """Allocate like group_fill, but groups (indexes of members, and limit) may cross.

    All claimants rise at once; a full group stops its members. Claimants without weight get nothing.
    """
    count = len(weights)
    sets = [list(members) for members, _ in groups] + [list(range(count))]
    remaining = [limit for _, limit in groups] + [capacity]
    sets_of: list[list[int]] = [[] for _ in range(count)]
    for number, members in enumerate(sets):
        for index in members:
            sets_of[index].append(number)
    allocations = [0.0] * count
    moving = {index for index in range(count) if weights[index]}
    # Total weight of the rising members of each set.
    speeds = [sum(weights[index] for index in members) for members in sets]
    order = sorted(moving, key=lambda index: caps[index] / weights[index], reverse=True)

    def stop(index: int, amount: float) -> None:
        moving.discard(index)
        allocations[index] = amount
        for number in sets_of[index]:
            remaining[number] -= amount
            speeds[number] -= weights[index]

    while moving:
        while order[-1] not in moving:
            order.pop()
        full_level = caps[order[-1]] / weights[order[-1]]
        levels = [
            max(0.0, remaining[number]) / speeds[number] if speeds[number] > 0 else float("inf")
            for number in range(len(sets))
        ]
        first = min(range(len(sets)), key=levels.__getitem__)
        if full_level <= levels[first]:
            stop(order[-1], caps[order[-1]])
            continue
        for index in [index for index in sets[first] if index in moving]:
            stop(index, min(caps[index], levels[first] * weights[index]))
        speeds[first] = 0.0
    return allocations
