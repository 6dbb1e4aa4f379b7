"""Tests of unparking with published intervals, the kernel's arithmetic and invariants."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from iterations import draws
from zlens import models
from zlens.errors import ScenarioError
from zlens.models.scenario import example
from zlens.models.unparking import policies
from zlens.rendering.answer import Answer, by_name

#: IBM, "Eighty Logical Processors", Tables 9 and 10 (UNPARKING SMALL): logical processors, average busy,
#: unparked processors, average busy of unparked ones.
SMALL = [
    (16, 64.7, 13.4, 77.2),
    (32, 27.5, 12.0, 73.2),
    (48, 24.6, 15.5, 76.3),
    (64, 18.9, 15.6, 77.6),
    (80, 18.0, 18.5, 77.8),
]
#: "z/VM 6.4 Performance Update", VM66063: N(small) <= N(medium) <= N(large); numbers by rules of zlens.
ORDER = {
    "highs": 19,
    "mediums": 1,
    "medium_share": 78,
    "lows": 8,
    "projection": 1100,
    "lows_power": [90, 90, 80, 70, 60, 50, 40, 30],
}


def solved(**scenario: Any) -> Answer:
    return models.solve("unparking", scenario)


def unparked(answer: Answer) -> dict[Any, Any]:
    table = answer.table("models")
    return dict(zip(table.column("name"), table.column("unparked"), strict=True))


@pytest.mark.parametrize("row", SMALL, ids=lambda row: f"Eighty Logical Processors, {row[0]}")
def test_small_policy_of_dedicated_partition(row: tuple[float, ...]) -> None:
    processors, busy, published, busy_unparked = row
    answer = solved(highs=processors, used=processors * busy, unparking="SMALL")
    found = by_name(answer.table("models"))["SMALL"]
    assert found["unparked"] == pytest.approx(published, abs=1.5)
    assert found["busy"] == pytest.approx(busy_unparked, abs=6)
    # The published tables are consistent: total busy divided by unparked processors.
    assert processors * busy / published == pytest.approx(busy_unparked, abs=0.35)
    assert by_name(answer.table("models"))["LARGE"]["unparked"] == processors


@pytest.mark.parametrize("row", SMALL, ids=lambda row: f"Eighty Logical Processors, {row[0]}")
def test_small_on_average_over_two_second_intervals(row: tuple[float, ...]) -> None:
    """Published values are averages of changing integers: varying use results in their fractions."""
    processors, busy, published, _ = row
    chance = draws(1)
    history = [processors * busy + chance.uniform(-100, 100) for _ in range(900)]
    answer = solved(highs=processors, history=history, unparking="SMALL")
    assert answer.figure("unparked") == pytest.approx(published, abs=0.4)
    assert len(answer.table("decisions").rows) == 900


def test_three_models_of_vm66063() -> None:
    assert unparked(solved(**ORDER)) == {"LARGE": 26, "MEDIUM": 20, "SMALL": 11}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        # Beyond the entitlement of 1978 required vertical-lows with power are unparked, the strongest first.
        ({"projection": 1978}, (26, 20, 20)),
        ({"projection": 1979}, (26, 21, 21)),
        ({"projection": 2069}, (26, 22, 22)),
        ({"projection": 5000}, (26, 26, 26)),
        ({"projection": 0}, (26, 20, 1)),
        ({"projection": 1900}, (26, 20, 19)),
        ({"projection": 1901}, (26, 20, 20)),
        ({"low_powered": 51}, (25, 20, 11)),
        ({"lows_power": [30, 40, 50, 60, 70, 80, 90, 90]}, (26, 20, 11)),
        ({"excessuse": "NONE", "projection": 5000}, (20, 20, 20)),
    ],
)
def test_policy_determines_unparked_cores(change: dict[str, Any], expected: tuple[int, int, int]) -> None:
    assert tuple(unparked(solved(**{**ORDER, **change})).values()) == expected


def test_unparked_cores_and_utilization() -> None:
    rows = by_name(solved(**{**ORDER, "projection": 2069}).table("models"))
    keys = ("unparked", "highs", "mediums", "lows", "parked", "busy")
    assert [rows["LARGE"][key] for key in keys] == [26, 19, 1, 6, 2, None]
    assert [rows["SMALL"][key] for key in keys] == [22, 19, 1, 2, 6, None]
    few = {"highs": 19, "used": 1500, "projection_factor": 1, "projection_base": 0}
    rows = by_name(solved(**few).table("models"))
    assert [rows["SMALL"][key] for key in keys] == [15, 15, 0, 0, 4, 100]
    assert rows["LARGE"]["busy"] == pytest.approx(1500 / 19)
    assert [row["in_effect"] for row in rows.values()] == [True, False, False]
    # Busy is at most 100%.
    assert by_name(solved(highs=2, used=900).table("models"))["SMALL"]["busy"] == 100


def test_small_policy_notes_dispatch_wait() -> None:
    def warned(**scenario: Any) -> bool:
        return any("wait longer for dispatch" in note for note in solved(**scenario).notes)

    assert warned(highs=80, used=1440)
    assert not warned(highs=80, used=100)
    assert not warned(highs=2, used=190)


def test_partition_demand_is_at_least_use() -> None:
    base = {"highs": 10, "lows": 6, "weight": 100, "used": 400, "excessuse": "HIGH"}
    one = {"name": "B", "weight": 100, "entitlement": 1000, "used": 600}
    other = {"name": "C", "weight": 100, "entitlement": 500, "used": 700}
    found = [
        solved(**base, partition=[one, {**other, **more}]).figure("excess")
        for more in ({}, {"demand": 100}, {"demand": 800})
    ]
    assert found == pytest.approx([200, 200, 200])
    assert solved(**base, partition=[one, {**other, "used": 600}]).figure("excess") == pytest.approx(300)


def test_order_and_bounds_of_models() -> None:
    """N(small) <= N(medium) <= N(large) for thousands of partitions, each equal to its definition."""
    chance = draws(6)
    for _ in range(3000):
        cores = policies.VerticalCores(
            chance.randrange(20), chance.randrange(3), chance.randrange(12), chance.uniform(1, 100)
        )
        if not cores.online:
            continue
        lows = [chance.uniform(0, 100) for _ in range(cores.lows)]
        wanted = chance.choice((0.0, chance.uniform(0, 3000)))
        least = chance.choice((0.0, 50.0, 100.0))
        found = policies.zvm(cores, lows, wanted, least)
        assert 1 <= found.small <= found.medium <= found.large <= cores.online
        powered = [100.0] * cores.highs + [cores.medium] * cores.mediums
        powered += sorted((one for one in lows if one >= least), reverse=True)
        assert found.large == max(1, len(powered))
        assert found.medium >= cores.entitled
        # Brute force: the first sufficient number, or all.
        enough = [count for count in range(len(powered) + 1) if sum(powered[:count]) >= wanted]
        assert found.small == max(1, enough[0] if enough else len(powered))
        assert found.short == pytest.approx(max(0.0, wanted - sum(powered)))


def test_excess_is_shared_by_weight_on_demand() -> None:
    # 478 are left and shared 200 to 70 by weight.
    others = [(200, 1978.0, 1500.0, 1500.0), (70, 688.0, 690.0, 900.0)]
    spare, ours = policies.excess_power(200, 800, others)
    assert (spare, ours) == pytest.approx((478, 478 * 200 / 270))
    # The other needs little; this partition gets the rest, up to the limit of its vertical-lows.
    others = [(200, 1978.0, 1500.0, 1500.0), (70, 688.0, 690.0, 698.0)]
    assert policies.excess_power(200, 800, others)[1] == pytest.approx(468)
    assert policies.excess_power(200, 300, others)[1] == pytest.approx(300)
    assert policies.excess_power(0, 800, others)[1] == pytest.approx(468)
    assert policies.excess_power(100, 800, []) == (0, 0)


def test_excess_power_unparks_vertical_lows() -> None:
    partition = [{"name": "B", "weight": 100, "entitlement": 1000, "used": 600}]
    base = {"highs": 10, "lows": 6, "weight": 100, "used": 400, "partition": partition}
    counts = [
        unparked(solved(**base, excessuse=setting))["LARGE"] for setting in ("HIGH", "MEDIUM", "LOW", "NONE")
    ]
    # 400, 280, 160 and 0% of a core; at least half a core counts.
    assert counts == [14, 13, 12, 10]
    answer = solved(**base, excessuse="HIGH")
    assert answer.figure("excess") == 400
    # Split evenly, none of six gets half a core of the 280%.
    assert unparked(solved(**base, excessuse="MEDIUM", lows_filled="evenly"))["LARGE"] == 10
    assert unparked(solved(**base, excessuse="HIGH", lows_filled="evenly"))["LARGE"] == 16
    without = solved(highs=10, lows=6, used=400)
    assert unparked(without)["LARGE"] == 10
    assert any("no excess power is given" in note for note in without.notes)


def test_pad_applies_without_global_performance_data() -> None:
    base = {"highs": 10, "mediums": 1, "medium_share": 50, "lows": 4, "global_performance_data": False}
    counts = [
        solved(**base, projection=projection, cpupad=pad).figure("unparked")
        for projection, pad in ((500, 0), (500, 100), (500, 300), (990, 100), (1100, 100), (1600, 100))
    ]
    # The projection can exceed the entitlement of 1050, the pad cannot.
    assert counts == [5, 6, 8, 11, 12, 15]
    beyond = solved(**base, projection=990, pad_beyond_entitlement=True)
    assert beyond.figure("unparked") == 12
    assert {one.name for one in solved(**base, projection=500).assumptions} == {"unpark_lows_without_data"}
    assert "unpark_pad_beyond_entitlement" in {one.name for one in solved(**base, projection=990).assumptions}
    with_history = solved(**base, history=[100, 700])
    assert with_history.table("decisions").column("unparked") == [4, 11]


def test_linux_hiperdispatch_with_full_steal_time() -> None:
    """Kernel, arch/s390/kernel/hiperdispatch.c: threshold 30, weight 16, integers."""
    answer = solved(policy="linux", highs=4, mediums=2, medium_share=50, lows=6, steal=[100] * 10)
    table = answer.table("ticks")
    assert table.column("cores") == [12] * 6 + [6] * 4
    assert table.column("average") == [6, 11, 16, 21, 25, 29, 33, 37, 40, 43]
    assert answer.figure("first_change") == 1.75


def test_kernel_integers_leave_gap() -> None:
    """Parking and unparking are fifteen points apart, which no comment in the kernel mentions."""
    last = {steal: policies.linux(6, 12, [steal] * 400, 30, 16)[-1].cores for steal in (29, 30, 44, 45, 100)}
    assert last == {29: 12, 30: 12, 44: 12, 45: 6, 100: 6}
    back = {
        steal: policies.linux(6, 12, [100] * 100 + [steal] * 400, 30, 16)[-1].cores for steal in (29, 30, 44)
    }
    assert back == {29: 12, 30: 6, 44: 6}
    for steals, threshold, noted in (([44] * 60, 30, True), ([45] * 5, 30, False), ([29] * 60, 30, False)):
        answer = solved(policy="linux", highs=6, lows=6, steal=steals, steal_threshold=threshold)
        assert any("from 45% on" in note and "below 30%" in note for note in answer.notes) == noted
    always = solved(policy="linux", highs=6, lows=6, steal=[100] * 400, steal_threshold=90)
    assert always.figure("changes") == 0
    assert any("no steady steal" in note for note in always.notes)
    # Percentages are truncated before they are averaged.
    assert policies.linux(6, 12, [15.99], 30, 16)[0].average == 0


def test_linux_leaves_all_high_without_choice() -> None:
    for highs, lows in ((0, 4), (4, 0)):
        answer = solved(policy="linux", highs=highs, lows=lows, steal=[100] * 20)
        assert set(answer.table("ticks").column("cores")) == {4}
        assert any("leaves all cores" in note for note in answer.notes)


CORES = policies.VerticalCores(4, 2, 6, 50.0)
WLM = policies.Wlm(95, 50)


@pytest.mark.parametrize(
    ("lows", "interval", "expected", "why"),
    [
        (2, (95, 700, 96), 3, "free capacity"),
        # Free capacity must exceed the threshold's percent of one processor in two seconds.
        (2, (95, 700, 95), 2, "no free capacity"),
        (2, (95, 540, 95, 100, 0.5), 3, "others leave entitlement"),
        (2, (95, 550, 95, 100, 0.5), 2, "no free capacity"),
        (6, (100, 700, 500), 6, "no vertical-low is parked"),
        (0, (94.9, 500, 500), 0, "not busy"),
        (3, (50, 700, 500), 2, "busy is low"),
        # 500 are guaranteed: 4% above is 520, 10% above is 550.
        (5, (80, 520, 500), 3, "4% above"),
        (1, (80, 300, 500), 0, "4% above"),
        (5, (80, 521, 500), 4, "10% above"),
        (5, (80, 550, 500), 4, "10% above"),
        (3, (80, 551, 500), 3, "no change"),
    ],
)
def test_rules_of_smf_99_12(lows: int, interval: tuple[float, ...], expected: int, why: str) -> None:
    """IBM SMF Explorer, SMF 99 subtype 12: texts of the action fields."""
    decision = policies.zos(CORES, lows, policies.WlmInterval(*interval), WLM)
    assert decision.lows == expected
    assert why in decision.why


def test_little_use_of_mediums_and_lows_parks_one() -> None:
    cores = policies.VerticalCores(4, 1, 8, 20.0)
    # Guaranteed 420, used 470: more than 10% above; 70 are a fifth of one medium and two and a half lows.
    used = policies.WlmInterval(80, 470, 0)
    assert policies.zos(cores, 6, used, WLM) == policies.Decision(5, "less than 20% of Vm and Vl is used")
    assert policies.zos(cores, 3, used, WLM).lows == 2
    assert policies.zos(cores, 2, used, WLM).lows == 2
    # The rule requires vertical-highs.
    assert (
        policies.zos(policies.VerticalCores(0, 4, 8, 10.0), 6, policies.WlmInterval(80, 60, 0), WLM).lows == 6
    )


def test_wlm_over_intervals() -> None:
    answer = solved(
        policy="zos", highs=4, mediums=2, medium_share=60, lows=6, lows_unparked=1,
        interval=[
            {"busy": 99, "used": 600, "free": 300},
            {"busy": 99, "used": 700, "free": 300},
            {"busy": 70, "used": 500, "free": 300},
            {"busy": 40, "used": 100, "free": 300},
        ],
    )  # fmt: skip
    assert answer.table("intervals").column("lows") == [2, 3, 2, 1]
    assert answer.table("intervals").column("above") == [80, 180, -20, -420]
    assert answer.figure("unparked") == 7
    assert {one.name for one in answer.assumptions} == {"wlm_unpark_busy", "wlm_park_busy", "wlm_order"}


def test_wlm_stays_within_its_cores() -> None:
    chance = draws(3)
    for _ in range(2000):
        cores = policies.VerticalCores(chance.randrange(5), chance.randrange(3), chance.randrange(6), 50.0)
        lows = chance.randint(0, cores.lows)
        values = (chance.uniform(0, 100), chance.uniform(0, 900), chance.uniform(0, 500))
        after = policies.zos(
            cores, lows, policies.WlmInterval(*values, chance.uniform(0, 200), chance.random()), WLM
        )
        assert 0 <= after.lows <= cores.lows
        assert after.lows <= lows + 1


def test_unparking_lists_only_used_assumptions() -> None:
    def names(**scenario: Any) -> set[str]:
        return {one.name for one in solved(**scenario).assumptions}

    assert names(highs=4, projection=100, unparking="SMALL") == set()
    assert names(highs=4, used=100, unparking="SMALL") == {
        "unpark_projection_factor",
        "unpark_projection_base",
    }
    assert names(policy="linux", highs=4, lows=2, steal=[1]) == set()
    assert names(highs=4, lows=2, projection=100, excess=100, unparking="LARGE", excessuse="LOW") == {
        "excessuse_low",
        "unpark_low_powered",
        "unpark_lows_filled",
    }
    assert names(**ORDER, unparking="LARGE") == {"unpark_low_powered"}


def test_unreachable_projection_is_noted() -> None:
    answer = solved(highs=2, projection=350, unparking="SMALL")
    assert unparked(answer) == {"LARGE": 2, "MEDIUM": 2, "SMALL": 2}
    assert any("by up to 150.0% of one core" in note for note in answer.notes)


def test_intervals_using_more_than_unparked() -> None:
    answer = solved(highs=10, history=[100, 900, 100, 900], unparking="SMALL")
    assert any(note.startswith("SMALL: 2 of 3 intervals") for note in answer.notes)


def test_unparking_example_is_valid() -> None:
    answer = models.solve("unparking", tomllib.loads(example("unparking")))
    assert unparked(answer) == {"LARGE": 22, "MEDIUM": 20, "SMALL": 11}


@pytest.mark.parametrize(
    ("scenario", "says"),
    [
        ({"highs": 0, "used": 5}, "has no cores"),
        ({"highs": 1}, "use is given 0 times"),
        ({"highs": 1, "used": 5, "projection": 5}, "use is given 2 times"),
        ({"highs": 1, "mediums": 1, "used": 5}, "medium_share is missing"),
        ({"highs": 1, "used": 5, "history": []}, "history is a list of 0"),
        ({"highs": 1, "lows": 2, "used": 5, "lows_power": [1]}, "lows_power has 1 values"),
        ({"highs": 1, "lows": 1, "used": 5, "lows_power": [1], "excess": 5}, "keep one of them"),
        ({"highs": 1, "lows": 1, "used": 5,
          "partition": [{"name": "A", "weight": 1, "entitlement": 1, "used": 1}]}, "weight is missing"),
        ({"highs": 1, "policy": "linux"}, "steal is missing"),
        ({"highs": 1, "policy": "zos"}, "interval is missing"),
        ({"highs": 1, "policy": "zos", "lows_unparked": 1}, "lows_unparked is 1, but lows is 0"),
        ({"highs": 1, "used": 5, "cpupad": 9000}, "cpupad is 9000; expected a number from 0 to 8000"),
        ({"highs": 1, "used": 5, "excessuse": "SOME"}, 'excessuse is "SOME"'),
    ],
)  # fmt: skip
def test_invalid_unparking_scenario_is_rejected_with_fix(scenario: dict[str, Any], says: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        solved(**scenario)
    assert says in str(caught.value)
    assert caught.value.cure
