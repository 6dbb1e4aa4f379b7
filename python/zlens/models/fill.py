"""Weighted max-min allocation: every claimant rises at the rate of its weight until something holds it.

The rule of CP's shares, of PR/SM's weights and of alias pools: entitlement in proportion to weights, and what
one leaves unused to the others in that same proportion, again and again. The answer is unique; it is found by
sorting, not by rounds. Amounts are in the caller's unit; all of them must be finite and not negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate


def water_fill(capacity: float, weights: Sequence[float], caps: Sequence[float]) -> list[float]:
    """min(cap, level x weight) for each, where the level uses up the capacity or all caps.

    A claimant without weight gets nothing while anybody with weight wants more, and then, like all others
    without weight, an equal part of what is left.
    """
    level = _level(capacity, weights, caps)
    found = [min(cap, level * weight) if weight else 0.0 for weight, cap in zip(weights, caps, strict=True)]
    left = capacity - sum(found)
    if level == float("inf") and left > 0:
        found = [cap if weight else 0.0 for weight, cap in zip(weights, caps, strict=True)]
        idle = [at for at, weight in enumerate(weights) if not weight and caps[at]]
        if idle:
            level = _level(capacity - sum(found), [1.0] * len(idle), [caps[at] for at in idle])
            for at in idle:
                found[at] = min(caps[at], level)
    return found


def _level(capacity: float, weights: Sequence[float], caps: Sequence[float]) -> float:
    """How far all rise; infinite where the caps of all who have weight fit into the capacity."""
    rising = [at for at, weight in enumerate(weights) if weight and caps[at]]
    full = {at: caps[at] / weights[at] for at in rising}
    rising.sort(key=full.__getitem__)
    # Weights still rising at each step, summed from the end: taking away what stops would leave a remainder.
    slopes = list(accumulate(weights[at] for at in reversed(rising)))[::-1]
    left = capacity
    for at, slope in zip(rising, slopes, strict=True):
        if full[at] * slope >= left:
            return max(left, 0.0) / slope
        left -= caps[at]
    return float("inf")


@dataclass(frozen=True, slots=True)
class Group:
    """Claimants with a limit on their sum. Members are claimants by their number, or groups within it."""

    members: tuple[int | Group, ...]
    limit: float


def group_fill(
    capacity: float, weights: Sequence[float], caps: Sequence[float], groups: Sequence[Group]
) -> list[float]:
    """As water_fill, where claimants of a group also stop when their sum reaches its limit.

    Groups may lie within each other, but not overlap. A group that stops does so at a level of its own, so
    its members can never have more than a fill of the group alone gives them: that is their cap outside.
    """
    held = list(caps)
    for group in groups:
        _hold(group, weights, held)
    return water_fill(capacity, weights, held)


def _hold(group: Group, weights: Sequence[float], caps: list[float]) -> list[int]:
    """Lowers the caps of a group's claimants to what its limit leaves them; who they are."""
    inside: list[int] = []
    for member in group.members:
        inside += [member] if isinstance(member, int) else _hold(member, weights, caps)
    wanted = [caps[at] for at in inside]
    if sum(wanted) <= group.limit:
        return inside
    heavy = [weights[at] for at in inside]
    if len({*wanted}) == len({*heavy}) == 1:
        # All alike, as the virtual processors of a user are: no need to sort them.
        filled = [group.limit / len(inside)] * len(inside)
    else:
        filled = water_fill(group.limit, heavy, wanted)
    for at, cap in zip(inside, filled, strict=True):
        caps[at] = cap
    return inside


def crossing_fill(
    capacity: float,
    weights: Sequence[float],
    caps: Sequence[float],
    groups: Sequence[tuple[Sequence[int], float]],
) -> list[float]:
    """As group_fill, where groups (members by their number, and the limit) may cross each other.

    All rise together; whatever is full next stops its members. Claimants without weight get nothing.
    """
    count = len(weights)
    sets = [list(members) for members, _ in groups] + [list(range(count))]
    left = [limit for _, limit in groups] + [capacity]
    of: list[list[int]] = [[] for _ in range(count)]
    for number, members in enumerate(sets):
        for at in members:
            of[at].append(number)
    found = [0.0] * count
    moving = {at for at in range(count) if weights[at]}
    # How fast those of each set that still move rise together.
    speeds = [sum(weights[at] for at in members) for members in sets]
    order = sorted(moving, key=lambda at: caps[at] / weights[at], reverse=True)

    def stop(at: int, amount: float) -> None:
        moving.discard(at)
        found[at] = amount
        for number in of[at]:
            left[number] -= amount
            speeds[number] -= weights[at]

    while moving:
        while order[-1] not in moving:
            order.pop()
        full = caps[order[-1]] / weights[order[-1]]
        levels = [
            max(0.0, left[number]) / speeds[number] if speeds[number] > 0 else float("inf")
            for number in range(len(sets))
        ]
        first = min(range(len(sets)), key=levels.__getitem__)
        if full <= levels[first]:
            stop(order[-1], caps[order[-1]])
            continue
        for at in [at for at in sets[first] if at in moving]:
            stop(at, min(caps[at], levels[first] * weights[at]))
        speeds[first] = 0.0
    return found
