"""Tests of weighted max-min allocation with linear programming and with its definition."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog  # type: ignore[import-untyped]

from iterations import draws, iterations
from zlens.models.allocation import CapGroup, group_fill, water_fill

AMOUNTS = st.one_of(st.sampled_from([0.0, 1.0, 100.0]), st.floats(0, 1e4))
CLAIMS = st.lists(st.tuples(st.one_of(st.just(100.0), st.floats(1e-3, 1e4)), AMOUNTS), max_size=12)


@given(AMOUNTS, CLAIMS)
def test_water_fill_raises_claims_to_caps(capacity: float, claims: list[tuple[float, float]]) -> None:
    weights, caps = [weight for weight, _ in claims], [cap for _, cap in claims]
    found = water_fill(capacity, weights, caps)
    assert sum(found) == pytest.approx(min(capacity, sum(caps)), rel=1e-9, abs=1e-9)
    level = max((x / w for x, w in zip(found, weights, strict=True)), default=0.0)
    for amount, weight, cap in zip(found, weights, caps, strict=True):
        assert 0 <= amount <= cap
        # A claim below its cap has the highest level.
        assert amount == pytest.approx(cap, rel=1e-9) or amount / weight == pytest.approx(level, rel=1e-6)


def lexicographic(
    capacity: float, weights: list[float], caps: list[float], groups: list[tuple[list[int], float]]
) -> list[float]:
    """Return the allocation by linear programming: maximize the lowest level, fix its claims, repeat."""
    count = len(weights)
    fixed: dict[int, float] = {}
    while len(fixed) < count:
        rising = [at for at in range(count) if at not in fixed]
        bounds = [(fixed.get(at, 0.0), fixed.get(at, caps[at])) for at in range(count)]
        rows = [[1.0] * count + [0.0]]
        most = [capacity]
        for members, limit in groups:
            rows.append([1.0 if at in members else 0.0 for at in range(count)] + [0.0])
            most.append(limit)
        for at in rising:
            row = [0.0] * (count + 1)
            row[at], row[count] = -1.0, weights[at]
            rows.append(row)
            most.append(0.0)
        level = highest(count, rows, most, bounds, 0.0)
        held = [
            at
            for at in rising
            if highest(at, rows, most, bounds, level * (1 - 1e-12))
            <= level * weights[at] + 1e-7 * max(1.0, capacity)
        ]
        for at in held or rising:
            fixed[at] = min(caps[at], level * weights[at])
    return [fixed[at] for at in range(count)]


def highest(
    at: int, rows: list[list[float]], most: list[float], bounds: list[tuple[float, float]], floor: float
) -> float:
    """Return the maximum of one variable; the last variable is the level of all rising claims."""
    objective = [0.0] * (len(bounds) + 1)
    objective[at] = -1.0
    answer = linprog(objective, A_ub=rows, b_ub=most, bounds=[*bounds, (floor, None)], method="highs")
    assert answer.status == 0, answer.message
    return float(-answer.fun)


def test_groups_agree_with_linear_programming() -> None:
    chance = draws(20240514)
    for _ in range(iterations(60, 15)):
        count = chance.randint(1, 6)
        weights = [chance.choice([1.0, 2.0, 5.0, chance.uniform(0.1, 10)]) for _ in range(count)]
        caps = [chance.choice([0.0, 100.0, 200.0, chance.uniform(0, 300)]) for _ in range(count)]
        capacity = chance.choice([0.0, 100.0, 300.0, chance.uniform(0, 600)])
        order = list(range(count))
        chance.shuffle(order)
        cut = chance.randint(0, count)
        groups = [
            (members, chance.choice([0.0, 50.0, chance.uniform(0, 400)]))
            for members in (order[:cut], order[cut:])
            if members and chance.random() < 0.8
        ]
        found = group_fill(capacity, weights, caps, [CapGroup(tuple(m), limit) for m, limit in groups])
        assert found == pytest.approx(lexicographic(capacity, weights, caps, groups), abs=1e-5 * 600)


def test_groups_within_groups_by_brute_force() -> None:
    """Small steps find the same allocation with a limit nested in the limit of a pool."""
    chance = draws(7)
    for _ in range(40):
        weights = [chance.choice([1.0, 2.0, 3.0]) for _ in range(4)]
        caps = [chance.choice([20.0, 60.0, 100.0]) for _ in range(4)]
        inner, outer, capacity = (chance.choice([30.0, 90.0, 150.0]) for _ in range(3))
        groups = [CapGroup((CapGroup((0, 1), inner), 2), outer)]
        step, has = 0.005, [0.0] * 4
        moving = set(range(4))
        while moving:
            for at in sorted(moving):
                more = has[at] + weights[at] * step
                sums = [
                    sum(has) + weights[at] * step <= capacity,
                    at > 1 or has[0] + has[1] + weights[at] * step <= inner,
                    at > 2 or has[0] + has[1] + has[2] + weights[at] * step <= outer,
                    more <= caps[at],
                ]
                if all(sums):
                    has[at] = more
                else:
                    moving.discard(at)
        assert group_fill(capacity, weights, caps, groups) == pytest.approx(has, abs=0.2)


@pytest.mark.parametrize(
    ("capacity", "weights", "caps", "expected"),
    [
        (0.0, [1.0, 2.0], [3.0, 4.0], [0.0, 0.0]),
        (10.0, [], [], []),
        (10.0, [1.0], [4.0], [4.0]),
        (10.0, [0.0, 0.0], [3.0, 400.0], [3.0, 7.0]),
        (10.0, [0.0, 1.0], [9.0, 4.0], [6.0, 4.0]),
        (10.0, [0.0, 1.0], [9.0, 40.0], [0.0, 10.0]),
        (6.0, [2.0, 2.0, 2.0], [5.0, 5.0, 5.0], [2.0, 2.0, 2.0]),
    ],
)
def test_degenerate(capacity: float, weights: list[float], caps: list[float], expected: list[float]) -> None:
    assert water_fill(capacity, weights, caps) == pytest.approx(expected)


def test_water_fill_ignores_order() -> None:
    weights, caps = [1.0, 2.0, 2.0, 5.0], [10.0, 3.0, 50.0, 8.0]
    for order in itertools.permutations(range(4)):
        found = water_fill(20.0, [weights[at] for at in order], [caps[at] for at in order])
        assert dict(zip(order, found, strict=True)) == pytest.approx({0: 3.0, 1: 3.0, 2: 6.0, 3: 8.0})


def test_water_fill_keeps_last_claims() -> None:
    count = 10_000
    found = water_fill(1e6, [1.0 + at * 1e-9 for at in range(count)], [100.0] * count)
    assert math.fsum(found) == pytest.approx(1e6)
