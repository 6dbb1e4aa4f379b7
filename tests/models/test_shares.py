"""Tests of CP's shares with published and derived cases."""

from __future__ import annotations

from typing import Any

import pytest

from zlens import models
from zlens.errors import ScenarioError
from zlens.models import scenario, sweeps
from zlens.models.scenario import example
from zlens.rendering.answer import Answer, by_name
from zlens.simulation import run

#: Processors, users, allocations and entitlements by name and source of a case.
CASES: dict[str, tuple[int, list[dict[str, Any]], list[float], list[float] | None]] = {
    '"z/VM 6.4 Performance": infinite demand, unequal share': (
        2,
        [{"relative": 100}, {"relative": 200}, {"relative": 100}, {"relative": 400}],
        [25, 50, 25, 100],
        None,
    ),
    '"z/VM 6.4 Performance": excess goes by share': (
        2,
        [
            {"relative": 10_000, "demand": 0},
            {"relative": 10_000, "demand": 0},
            {"relative": 100},
            {"relative": 200},
            {"relative": 300},
        ],
        [0, 0, 33.3333, 66.6667, 100],
        [97.0874, 97.0874, 0.97087, 1.94175, 2.91262],
    ),
    **{
        f"VM65288, four equal guests on {processors} processors": (
            processors,
            [{"relative": 100}] * 4,
            [each] * 4,
            None,
        )
        for processors, each in ((2, 50), (3, 75), (4, 100), (5, 100))
    },
    "one virtual processor has at most one logical one": (
        2,
        [{"relative": 100}, {"relative": 100}, {"relative": 100}, {"relative": 900}],
        [33.3333, 33.3333, 33.3333, 100],
        None,
    ),
    "SET SHARE: relative users share what absolute ones leave": (
        4,
        [
            {"absolute": 50, "virtual_cpus": 4},
            {"relative": 100, "virtual_cpus": 4},
            {"relative": 300, "virtual_cpus": 4},
        ],
        [200, 50, 150],
        None,
    ),
    "SET SHARE: what an absolute user cannot use is shared": (
        4,
        [
            {"absolute": 50},
            {"relative": 100, "virtual_cpus": 4},
            {"relative": 300, "virtual_cpus": 4},
        ],
        [100, 75, 225],
        None,
    ),
    "SET SHARE LIMITHARD leaves processors idle": (
        4,
        [
            {"relative": 100, "virtual_cpus": 4, "limit": "hard", "maximum_absolute": 25},
            {"relative": 100, "virtual_cpus": 4, "demand": 50},
        ],
        [100, 50],
        None,
    ),
    "SET SHARE LIMITSOFT has what nobody else wants": (
        4,
        [
            {"relative": 100, "virtual_cpus": 4, "limit": "soft", "maximum_absolute": 25},
            {"relative": 100, "virtual_cpus": 4, "demand": 50},
        ],
        [350, 50],
        None,
    ),
    "SET SHARE LIMITSOFT holds while others want": (
        4,
        [
            {"relative": 100, "virtual_cpus": 4, "limit": "soft", "maximum_absolute": 25},
            {"relative": 100, "virtual_cpus": 4},
        ],
        [100, 300],
        None,
    ),
    "absolute shares beyond 99% are scaled": (
        4,
        [
            {"absolute": 80, "virtual_cpus": 4},
            {"absolute": 60, "virtual_cpus": 4},
            {"relative": 100, "virtual_cpus": 4},
        ],
        [226.2857, 169.7143, 4.0],
        None,
    ),
    "MRSCLSHR: a share is split over virtual processors": (
        2,
        [
            {"relative": 400, "virtual_cpus": 4, "demands": [100, 0, 0, 0]},
            {"relative": 100},
            {"relative": 100},
            {"relative": 100},
        ],
        [50, 50, 50, 50],
        None,
    ),
}


def solved(processors: int, users: list[dict[str, Any]], **more: Any) -> Answer:
    named = [{"name": f"U{at}", **user} for at, user in enumerate(users)]
    return models.solve("shares", {"processors": {"CP": processors}, "user": named, **more})


@pytest.mark.parametrize("case", CASES)
def test_allocation_matches_published_case(case: str) -> None:
    processors, users, allocation, entitlement = CASES[case]
    table = solved(processors, users).table("users")
    assert table.column("allocation") == pytest.approx(allocation, abs=1e-4)
    if entitlement is not None:
        assert table.column("entitlement") == pytest.approx(entitlement, abs=1e-4)


@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        ({"limithard": 50}, [50, 150, 200]),
        ({"capacity": 1.5}, [37.5, 112.5, 250]),
        ({"limithard": 100}, [80, 240, 80]),
    ],
)
def test_cpu_pools_of_four_ifls(pool: dict[str, float], expected: list[float]) -> None:
    users = [
        {
            "name": f"U{at}",
            "type": "IFL",
            "virtual_cpus": 4,
            "relative": share,
            **({"pool": "P"} if at < 2 else {}),
        }
        for at, share in enumerate((100, 300, 100))
    ]
    pools = [{"name": "P", "type": "IFL", **pool}]
    answer = models.solve("shares", {"processors": {"IFL": 4}, "user": users, "pool": pools})
    table = answer.table("users")
    assert table.column("allocation") == pytest.approx(expected)
    binds = "pool P" if pool != {"limithard": 100} else "share"
    assert by_name(table)["U0"]["bound_by"] == binds


def test_pool_counts_shared_processors_only() -> None:
    users = [
        {"name": "D", "virtual_cpus": 2, "dedicated": 2, "relative": 100},
        {"name": "P1", "virtual_cpus": 4, "relative": 100, "pool": "P"},
        {"name": "O", "virtual_cpus": 4, "relative": 100},
    ]
    pools = [{"name": "P", "limithard": 25}]
    answer = models.solve("shares", {"processors": {"CP": 6}, "user": users, "pool": pools})
    rows = by_name(answer.table("users"))
    assert rows["D"]["allocation"] == 200
    assert rows["D"]["bound_by"] == "dedicated"
    assert rows["P1"]["allocation"] == pytest.approx(100)
    assert rows["O"]["allocation"] == pytest.approx(300)


def test_users_state_limit() -> None:
    users = [
        {"relative": 100, "demand": 10},
        {"relative": 100, "demand": 300},
        {"relative": 100, "virtual_cpus": 2, "limit": "hard", "maximum_absolute": 10},
        {"relative": 100, "virtual_cpus": 4},
        {"relative": 100, "virtual_cpus": 4, "limit": "soft", "maximum_absolute": 5},
    ]
    table = solved(4, users).table("users")
    assert table.column("bound_by") == ["demand", "virtual CPUs", "LIMITHARD", "share", "LIMITSOFT"]


def test_soft_and_hard_limits_of_one_another() -> None:
    """Users exceed soft limits only on idle processors, and never a hard limit."""
    users = [
        {"relative": 100, "virtual_cpus": 4, "limit": "soft", "maximum_absolute": 25},
        {"relative": 300, "virtual_cpus": 4, "limit": "soft", "maximum_absolute": 25},
        {"relative": 100, "virtual_cpus": 4, "limit": "hard", "maximum_absolute": 10},
    ]
    found = solved(4, users).table("users").column("allocation")
    assert found == pytest.approx([100 + 160 * 0.25, 100 + 160 * 0.75, 40])


def test_share_types_are_solved_separately() -> None:
    users = [
        {"name": "A", "relative": 100, "virtual_cpus": 2},
        {"name": "B", "relative": 100, "type": "IFL"},
        {"name": "C", "relative": 300, "type": "IFL"},
    ]
    answer = models.solve("shares", {"processors": {"CP": 1, "IFL": 1}, "user": users})
    assert answer.table("users").column("allocation") == pytest.approx([100, 25, 75])
    assert answer.figure("used_cp") == pytest.approx(100)
    assert answer.figure("idle_ifl") == pytest.approx(0)


def test_no_processor_at_all() -> None:
    answer = solved(0, [{"relative": 100}, {"absolute": 50}])
    assert answer.table("users").column("allocation") == [0, 0]
    assert answer.table("users").column("bound_by") == ["no processor", "no processor"]


def test_relative_maximum_equals_share_of_that_size() -> None:
    users = [
        {"relative": 100, "virtual_cpus": 4, "limit": "hard", "maximum_relative": 300},
        {"relative": 100, "virtual_cpus": 4, "demand": 0},
    ]
    found = solved(4, users).table("users")
    assert found.column("limit")[0] == pytest.approx(300)
    assert found.column("allocation")[0] == pytest.approx(300)


#: A guest with virtual CPUs of two types, and one with CPs only.
TWO_TYPES: dict[str, Any] = {
    "processors": {"CP": 1, "IFL": 2},
    "user": [
        {"name": "LINUX1", "relative": 300},
        {"name": "LINUX1", "type": "IFL", "virtual_cpus": 2, "relative": 300, "demand": 120},
        {"name": "CMS1", "relative": 100},
    ],
}


def test_guest_with_virtual_cpus_of_two_types() -> None:
    answer = models.solve("shares", TWO_TYPES)
    table = answer.table("users")
    gets = dict(zip(table.labels(), table.column("allocation"), strict=True))
    assert gets == pytest.approx({"LINUX1.CP": 75, "LINUX1.IFL": 120, "CMS1": 25})
    assert answer.charts[0].places == table.labels()


def test_setting_names_type_of_user_with_two() -> None:
    changed = scenario.apply_setting(TWO_TYPES, "user.LINUX1.IFL.demand=50")
    assert models.solve("shares", changed).figure("used_ifl") == pytest.approx(50)
    one = sweeps.solve("shares", TWO_TYPES, "user.LINUX1.CP.relative=100:300:100").table("sweep")
    assert one.column("allocation_LINUX1.CP") == pytest.approx([50, 200 / 3, 75])
    assert one.column("allocation_LINUX1.IFL") == pytest.approx([120] * 3)
    with pytest.raises(ScenarioError, match=r"one of 2 entries named LINUX1.*LINUX1.CP or LINUX1.IFL"):
        scenario.apply_setting(TWO_TYPES, "user.LINUX1.demand=50")


def test_simulated_user_has_virtual_cpus_of_one_type() -> None:
    with pytest.raises(ScenarioError, match=r"LINUX1 is given 2 times.*of one type"):
        run.prepare({"model": "shares", **TWO_TYPES})


def test_shares_list_only_used_assumptions() -> None:
    assert not solved(2, [{"absolute": 50}, {"relative": 100}]).assumptions
    (one,) = solved(2, [{"absolute": 80}, {"name": "B", "absolute": 60}, {"relative": 100}]).assumptions
    assert (one.name, one.value, one.status) == ("absolute_shares_at_most", 99.0, "unverified")
    given = solved(2, [{"absolute": 80}, {"absolute": 60}, {"relative": 1}], absolute_shares_at_most=90)
    assert not given.assumptions
    assert given.table("users").column("normalized")[2] == pytest.approx(10)


def test_shares_example_is_valid() -> None:
    import tomllib

    answer = models.solve("shares", tomllib.loads(example("shares")))
    assert answer.figure("used_cp") == pytest.approx(300)
    assert answer.table("users").column("bound_by") == ["share", "LIMITHARD", "demand", "share"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"user": [{"name": "A", "relative": 100, "absolute": 5}]}, "user.A needs exactly one share"),
        ({"user": [{"name": "A"}]}, "user.A needs exactly one share"),
        ({"user": [{"name": "A", "relative": 1, "limit": "hard"}]}, "limit of hard and 0 maximum shares"),
        ({"user": [{"name": "A", "relative": 1, "maximum_absolute": 5}]}, "limit of none and 1 maximum"),
        ({"user": [{"name": "A", "relative": 1, "pool": "X"}]}, "no pool of CPs has that name"),
        ({"user": [{"name": "A", "relative": 1, "demands": [1, 2]}]}, "user.A.demands has 2 values"),
        ({"user": [{"name": "A", "relative": 1, "dedicated": 2}]}, "exceeds its virtual CPUs"),
        ({"user": [{"name": "A", "relative": 1, "type": "IFL"}]}, "processors has no IFL"),
        ({"user": [{"name": "A", "relative": 1}] * 2}, "user A is given twice with type CP"),
        ({"processors": {"CPU": 2}}, "processors.CPU is not a processor type"),
        ({"pool": [{"name": "P"}]}, "pool.P needs exactly one limit"),
        ({"user": []}, "user is a list of 0"),
        ({"user": [{"name": "A", "relative": 0}]}, "user[1].relative is 0; expected an integer from 1"),
        ({"usr": []}, "usr is not known here; expected one of"),
    ],
)
def test_invalid_shares_scenario_is_rejected_with_fix(change: dict[str, Any], says: str) -> None:
    scenario = {"processors": {"CP": 1}, "user": [{"name": "A", "relative": 100}], **change}
    with pytest.raises(ScenarioError) as caught:
        models.solve("shares", scenario, file="s.toml")
    assert says in str(caught.value)
    assert str(caught.value).startswith("s.toml: ")
    assert caught.value.cure
