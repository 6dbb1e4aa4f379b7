"""Tests of PR/SM's arithmetic with published numbers, linear programming and its definition."""

from __future__ import annotations

import math
import random
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog  # type: ignore[import-untyped]
from scipy.sparse import coo_matrix  # type: ignore[import-untyped]

from iterations import draws, iterations
from zlens.models.partitions import prsm
from zlens.models.partitions.prsm import Claim, Polarity

#: Entitlement, logical cores, high, medium and low by name and source of a case.
VERTICAL = {
    '"z/VM 6.4 Performance", VM66063, first partition': (6.88, 12, 6, 1, 5),
    '"z/VM 6.4 Performance", VM66063, second and third': (19.78, 24, 19, 1, 4),
    '"z/VM 6.4 Performance", VM66063, fourth and fifth': (19.78, 28, 19, 1, 8),
    "Mainframe Tips and Tricks, 2021-04, 28% of 32": (8.96, 10, 8, 1, 1),
    "Mainframe Tips and Tricks, 2021-04, 26% of 32": (8.32, 10, 7, 2, 1),
    "Mainframe Performance Topics, 2020-01-13, weight 300": (3.0, 4, 3, 0, 1),
    "Mainframe Performance Topics, 2020-01-13, weight 270": (2.7, 4, 2, 1, 1),
    '"z/VM 6.2 and 6.3", vertical: about all of 4 CPUs': (4.0, 7, 4, 0, 3),
    "IBM LPAR Entitlement Calculator, 381%": (3.81, 6, 3, 1, 2),
    "IBM-MAIN: no high core up to a share of 1.5": (1.2, 2, 0, 2, 0),
    "below a half one high core is given up": (2.49, 4, 1, 2, 1),
    "from a half on none is": (2.5, 4, 2, 1, 1),
    "less than a half, and no high core to give up": (0.3, 2, 0, 1, 1),
    "whole": (12.0, 16, 12, 0, 4),
    "as many cores as it is entitled to": (14.0, 14, 14, 0, 0),
    "fewer cores than it is entitled to": (4.15, 2, 2, 0, 0),
    "entitled to nothing": (0.0, 3, 0, 0, 3),
}


@pytest.mark.parametrize("case", VERTICAL)
def test_vertical(case: str) -> None:
    entitled, cores, high, medium, low = VERTICAL[case]
    found = prsm.vertical(entitled, cores, "all high")
    assert (found.high, found.medium, found.low) == (high, medium, low)


#: Sample study of the LPARDesign tool for a z15: entitlement, cores, high, medium, share of each medium, low.
@pytest.mark.parametrize(
    ("entitled", "cores", "expected"),
    [
        (8.476, 9, Polarity(7, 2, 0.738, 0)),
        (5.511, 8, Polarity(5, 1, 0.511, 2)),
        (1.273, 3, Polarity(0, 2, 0.6365, 1)),
        (0.015, 2, Polarity(0, 1, 0.015, 1)),
        (0.958, 2, Polarity(0, 1, 0.958, 1)),
    ],
)
def test_shares_of_medium_cores(entitled: float, cores: int, expected: Polarity) -> None:
    found = prsm.vertical(entitled, cores)
    assert (found.high, found.medium, found.low) == (expected.high, expected.medium, expected.low)
    assert found.share == pytest.approx(expected.share)


@pytest.mark.parametrize(
    ("rule", "beside_lows", "alone"),
    [
        ("all high", Polarity(3, 0, 0.0, 3), Polarity(3, 0, 0.0, 0)),
        ("one medium", Polarity(2, 1, 1.0, 3), Polarity(2, 1, 1.0, 0)),
        # From the sample study of the LPARDesign tool for a z16.
        ("one medium beside lows", Polarity(2, 1, 1.0, 3), Polarity(3, 0, 0.0, 0)),
    ],
)
def test_whole_entitlements_by_each_rule(rule: str, beside_lows: Polarity, alone: Polarity) -> None:
    assert prsm.vertical(3.0, 6, rule) == beside_lows
    assert prsm.vertical(3.0, 3, rule) == alone
    assert prsm.vertical(0.0, 2, rule) == Polarity(0, 0, 0.0, 2)
    assert prsm.vertical(3.0, 5) == Polarity(2, 1, 1.0, 2), "the default, as IBM's table has it"
    assert prsm.vertical(3.0, 3) == Polarity(3, 0, 0.0, 0)
    # Only integer entitlements depend on the rule.
    assert prsm.vertical(2.7, 6, rule) == prsm.vertical(2.7, 6)


def most_high(entitled: float, cores: int) -> tuple[int, int]:
    """Search the most high cores with which at most two mediums of at least a half carry the rest."""
    for high, medium in sorted(product(range(cores + 1), range(3)), key=lambda pair: (-pair[0], pair[1])):
        rest = entitled - high
        if high + medium <= cores and (
            (not medium and abs(rest) < 1e-9) or (medium and 0.5 - 1e-9 <= rest / medium < 1 - 1e-9)
        ):
            return high, medium
    return (0, 1) if 0 < entitled < 0.5 else (cores, 0)


def test_vertical_by_trying_all() -> None:
    chance = draws(66063)
    for _ in range(3000):
        cores = chance.randint(1, 12)
        entitled = chance.choice([chance.uniform(0, cores + 1), chance.randint(0, 2 * cores) / 2])
        found = prsm.vertical(entitled, cores, "all high")
        assert (found.high, found.medium) == most_high(entitled, cores), (entitled, cores)
        assert found.high + found.medium + found.low == cores
        assert found.high + found.medium * found.share == pytest.approx(min(entitled, cores))


@given(st.integers(1, 200), st.lists(st.integers(1, 999), min_size=1, max_size=30))
def test_division_leaves_no_rounding_rest(shared: int, weights: list[int]) -> None:
    """An integer entitlement is an integer after floating point, too."""
    total = sum(weights)
    for weight, entitled in zip(weights, prsm.entitlements(shared, weights), strict=True):
        whole, left = divmod(shared * weight, total)
        found = prsm.vertical(entitled, shared + 1, "all high")
        if left == 0:
            assert found == Polarity(whole, 0, 0.0, shared + 1 - whole)
        elif 2 * left >= total:
            assert (found.high, found.medium) == (whole, 1)


@pytest.mark.parametrize(
    ("shared", "weights", "expected"),
    [
        pytest.param(
            86,
            [688, 1978, 1978, 1978, 1978],
            [6.88, 19.78, 19.78, 19.78, 19.78],
            id='"z/VM 6.4 Performance", VM66063',
        ),
        pytest.param(100, [300, 100, 900], [23.1, 7.7, 69.2], id="PR/SM Planning Guide, use of weights"),
        pytest.param(100, [30, 10, 10, 30], [37.5, 12.5, 12.5, 37.5], id="IBM-MAIN msg107398"),
        pytest.param(
            50, [100, 50, 150], [16.7, 8.3, 25], id="z/OS MVS Planning WLM, group capacity of 50 MSU"
        ),
        pytest.param(459, [400, 400, 400], [153, 153, 153], id="BMC CMF, capacity group DB2GROUP"),
        pytest.param(227, [200, 200], [113.5, 113.5], id="BMC CMF, capacity group of two"),
        pytest.param(8, [600, 400], [4.8, 3.2], id="PR/SM Planning Guide, enabling HiperDispatch"),
        pytest.param(0, [1, 2], [0, 0], id="nothing to share"),
        pytest.param(5, [], [], id="nobody"),
    ],
)
def test_entitlements(shared: float, weights: list[float], expected: list[float]) -> None:
    assert prsm.entitlements(shared, weights) == pytest.approx(expected, abs=0.04)


def test_prsm_lowest_limit_applies() -> None:
    """RMF, Group Capacity Report: the minimum of defined capacity, weight, group and two hardware caps."""
    names = ("defined", "weight", "group", "absolute", "hardware group")
    claim = Claim(1, 20, limits=tuple(zip(names, (9.0, 7.5, 6.0, 8.0, 10.0), strict=True)))
    assert claim.lowest_limit == ("group", 6.0)
    assert claim.max_cores == 6.0
    assert prsm.allocate(50, [claim]) == [6.0]


def shared(cores: int, weight: float, demand: float = math.inf, cap: float | None = None) -> Claim:
    return Claim(weight, cores, demand, () if cap is None else (("cap", cap),))


@pytest.mark.parametrize(
    ("capacity", "claims", "groups", "expected"),
    [
        pytest.param(3, [shared(2, 900), shared(3, 100)], [], [2, 1], id="z9 PR/SM Planning Guide: 67%"),
        pytest.param(
            10, [shared(8, 400, 2.0), shared(8, 300), shared(8, 300)], [], [2, 4, 4], id="excess by weight"
        ),
        pytest.param(
            10,
            [shared(8, 400, 2.0), shared(8, 300, cap=3.0), shared(8, 300)],
            [],
            [2, 3, 5],
            id="excess with one capped",
        ),
        pytest.param(
            10,
            [shared(10, 500, cap=2.5), shared(10, 500)],
            [],
            [2.5, 7.5],
            id="PR/SM Planning Guide: 2.5 cores",
        ),
        pytest.param(
            10,
            [shared(10, 200), shared(10, 200), shared(10, 600)],
            [([0, 1], 2.5)],
            [1.25, 1.25, 7.5],
            id="absolute group capping",
        ),
        pytest.param(
            10,
            [shared(10, 100), shared(10, 100), shared(10, 100), shared(10, 100)],
            [([0, 1], 3.0), ([1, 2], 1.0)],
            [2.5, 0.5, 0.5, 6.5],
            id="groups that cross",
        ),
        pytest.param(0, [shared(2, 1)], [], [0], id="no capacity"),
        pytest.param(-1, [shared(2, 1)], [], [0], id="PR/SM took all"),
        pytest.param(5, [], [], [], id="nobody"),
        pytest.param(5, [shared(4, 7)], [([0], 0.0)], [0], id="a group of nothing"),
        pytest.param(5, [shared(4, 7, 0.0)], [([0], 3.0), ([0], 2.0)], [0], id="no demand"),
    ],
)
def test_allocation(
    capacity: float, claims: list[Claim], groups: list[tuple[list[int], float]], expected: list[float]
) -> None:
    assert prsm.allocate(capacity, claims, groups) == pytest.approx(expected)


Instance = tuple[float, list[Claim], list[tuple[list[int], float]]]


def random_instance(chance: random.Random) -> Instance:
    """Return a machine with partitions, caps of all kinds and groups that may overlap."""
    capacity = chance.choice([0, 1, 6, 10, 86]) * 1.0
    weights = [
        chance.choice([10, 100, 100, 500, chance.randint(1, 999)]) for _ in range(chance.randint(1, 6))
    ]
    entitled = prsm.entitlements(capacity, weights)
    claims = []
    for weight, part in zip(weights, entitled, strict=True):
        limits = [("initial", part)] if chance.random() < 0.3 else []
        if chance.random() < 0.3:
            limits.append(("absolute", chance.choice([0.5, 2.5, chance.uniform(0, capacity + 1)])))
        demand = chance.choice([math.inf, 0.0, 1.0, chance.uniform(0, capacity + 1)])
        claims.append(Claim(weight, chance.randint(1, 20), demand, tuple(limits)))
    groups = [
        (
            sorted(chance.sample(range(len(claims)), chance.randint(1, len(claims)))),
            chance.uniform(0, capacity),
        )
        for _ in range(chance.choice([0, 1, 1, 2, 3]))
    ]
    return capacity, claims, groups


def by_linear_programming(instances: list[Instance]) -> list[list[float]]:
    """Solve all instances in one program: maximize the lowest level of each, fix its claims, repeat.

    Prices identify the claims to fix: a claim whose level has a price is at that level in any optimum.
    """
    first = np.cumsum([0, *(len(claims) + 1 for _, claims, _ in instances)])
    fixed: list[dict[int, float]] = [{} for _ in instances]
    while any(len(done) < len(claims) for done, (_, claims, _) in zip(fixed, instances, strict=True)):
        cells: list[tuple[int, int, float]] = []
        most: list[float] = []
        bounds: list[tuple[float, float | None]] = []
        levels: list[tuple[int, int]] = []
        objective = np.zeros(first[-1])
        for number, (capacity, claims, groups) in enumerate(instances):
            done, begin = fixed[number], int(first[number])
            level = begin + len(claims)
            for at, claim in enumerate(claims):
                bounds.append((done[at], done[at]) if at in done else (0.0, claim.max_cores))
            bounds.append((0.0, None) if len(done) < len(claims) else (0.0, 0.0))
            objective[level] = -1.0
            for members, limit in [*groups, (range(len(claims)), capacity)]:
                # Fixed claims are rounded, which must not make the rest infeasible.
                floor = sum(done.get(at, 0.0) for at in members)
                cells += [(len(most), begin + at, 1.0) for at in members]
                most.append(max(limit, floor))
            for at, claim in enumerate(claims):
                if at not in done:
                    cells += [(len(most), begin + at, -1.0), (len(most), level, claim.weight)]
                    levels.append((number, len(most)))
                    most.append(0.0)
        rows, columns, values = zip(*cells, strict=True)
        matrix = coo_matrix((values, (rows, columns)), shape=(len(most), first[-1])).tocsr()
        answer = linprog(objective, A_ub=matrix, b_ub=most, bounds=bounds, method="highs")
        assert answer.status == 0, answer.message
        prices = answer.ineqlin.marginals
        remaining = iter(levels)
        for number, (_, claims, _) in enumerate(instances):
            level = answer.x[first[number] + len(claims)]
            for at, claim in enumerate(claims):
                if at not in fixed[number] and prices[next(remaining)[1]] < -1e-12:
                    fixed[number][at] = level * claim.weight
    return [[done[at] for at in range(len(done))] for done in fixed]


def test_allocation_agrees_with_linear_programming() -> None:
    chance = draws(9176)
    instances = [random_instance(chance) for _ in range(iterations(2000, 400))]
    for instance, expected in zip(instances, by_linear_programming(instances), strict=True):
        assert prsm.allocate(*instance) == pytest.approx(expected, abs=1e-5), instance


def test_prsm_claims_are_limited() -> None:
    """A claim below its limit has the highest level in a full group or in the machine."""
    chance = draws(3906)
    for _ in range(3000):
        capacity, claims, groups = random_instance(chance)
        found = prsm.allocate(capacity, claims, groups)
        sets = [(list(members), limit) for members, limit in groups] + [(list(range(len(claims))), capacity)]
        for members, limit in sets:
            assert sum(found[at] for at in members) <= limit + 1e-9
        for at, claim in enumerate(claims):
            assert 0 <= found[at] <= max(0.0, claim.max_cores)
            level = found[at] / claim.weight
            assert found[at] >= claim.max_cores - 1e-9 or any(
                at in members
                and sum(found[other] for other in members) >= limit - 1e-9
                and all(found[other] / claims[other].weight <= level + 1e-9 for other in members)
                for members, limit in sets
            )


def test_allocation_by_brute_force() -> None:
    """Small steps find the same allocation on small machines."""
    chance = draws(11)
    for _ in range(30):
        count, step = 3, 0.001
        weights = [chance.choice([100, 200, 300]) for _ in range(count)]
        capacity = chance.choice([1.0, 2.0, 3.0])
        claims = [Claim(weight, chance.choice([1, 2]), chance.choice([0.4, 5.0])) for weight in weights]
        groups = [([0, 1], chance.choice([0.5, 1.2])), ([1, 2], chance.choice([0.8, 2.0]))]
        has, moving = [0.0] * count, set(range(count))
        while moving:
            for at in sorted(moving):
                more = weights[at] / 100 * step
                full = has[at] + more > claims[at].max_cores or sum(has) + more > capacity
                full = full or any(
                    at in members and sum(has[other] for other in members) + more > limit
                    for members, limit in groups
                )
                if full:
                    moving.discard(at)
                else:
                    has[at] += more
        assert prsm.allocate(capacity, claims, groups) == pytest.approx(has, abs=0.01)


#: PR/SM Planning Guide, processing weight management: weight and cores; range of use, % of shared.
EXAMPLE_1 = ([(500, 6), (480, 3), (20, 3)], [(48.2, 51.8), (46.3, 49.7), (0.0, 5.6)])
EXAMPLE_2 = ([(500, 6), (300, 3), (200, 3)], [(48.2, 51.8), (28.9, 31.1), (16.4, 23.6)])


@pytest.mark.parametrize(
    ("example", "capped"),
    [
        pytest.param(EXAMPLE_1, True, id="PR/SM Planning Guide, example 1, with capping"),
        pytest.param(EXAMPLE_2, False, id="PR/SM Planning Guide, example 2, without capping"),
    ],
)
def test_bands(example: tuple[list[tuple[int, int]], list[tuple[float, float]]], capped: bool) -> None:
    partitions, use = example
    total = sum(weight for weight, _ in partitions)
    for (weight, cores), expected in zip(partitions, use, strict=True):
        low, high = prsm.accuracy_band(weight / total, 6 * weight / total / cores, capped=capped)
        assert (100 * low, 100 * high) == pytest.approx(expected, abs=0.06)


@pytest.mark.parametrize(
    ("each", "capped", "near"),
    [(0.1, True, True), (0.09, True, False), (0.5, False, True), (0.49, False, False)],
)
def test_band_thresholds_of_share(each: float, capped: bool, near: bool) -> None:
    low, high = prsm.accuracy_band(0.5, each, capped=capped)
    assert high - low == pytest.approx(0.036 if near else 0.072)
    assert prsm.accuracy_band(1.0, 1.0, capped=capped)[1] == 1.0


@pytest.mark.parametrize(
    ("physical", "logical", "expected"),
    [(86, 116, 18.534), (4, 40, 12.5), (10, 8, 25.0), (0, 3, 12.5), (0, 0, 25.0)],
)
def test_run_time(physical: int, logical: int, expected: float) -> None:
    """The range is from the PR/SM Planning Guide, 86 and 116 from "z/VM 6.4 Performance"."""
    assert prsm.run_time(physical, logical, 25.0) == pytest.approx(expected, abs=0.001)


#: "z/VM 6.4 Performance", FCX302 PHYSLOG: %LgclC, %Ovrhd, %LPmgt; %Total, T/L, LCoT/L.
@pytest.mark.parametrize(
    ("measured", "printed"),
    [
        pytest.param((3240.9, 244.65, 1804.8), (5290.4, 1.632, 1.075), id="mean"),
        pytest.param((4238.0, 340.31, 1714.0), (6292.3, 1.485, 1.080), id="10:11"),
        pytest.param((4164.1, 343.12, 1911.5), (6418.7, 1.541, 1.082), id="10:12"),
    ],
)
def test_physlog(measured: tuple[float, float, float], printed: tuple[float, float, float]) -> None:
    total, t_l, lcot_l = prsm.physical(*measured)
    assert total == pytest.approx(printed[0], abs=0.06)
    assert (t_l, lcot_l) == pytest.approx(printed[1:], abs=0.0006)


def test_physlog_of_idle_machine() -> None:
    assert prsm.physical(0, 0, 5) == (5, None, None)
