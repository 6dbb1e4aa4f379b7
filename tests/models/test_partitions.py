"""Tests of partition scenarios: published machines, limits of partitions, and notes."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from iterations import draws
from zlens import models
from zlens.errors import ScenarioError
from zlens.models import sweeps
from zlens.models.partitions import prsm
from zlens.models.scenario import example
from zlens.rendering import answer_text
from zlens.rendering.answer import Answer, by_name


def solved(cores: int, entries: list[dict[str, Any]], **more: Any) -> Answer:
    named = [{"name": f"P{at}", "cores": 4, **one} for at, one in enumerate(entries)]
    return models.solve("partitions", {"processors": {"CP": cores}, "partition": named, **more})


def column(answer: Answer, name: str, table: str = "partitions") -> list[Any]:
    return list(answer.table(table).column(name))


def test_weights_of_planning_guide() -> None:
    """PR/SM Planning Guide, use of processing weights: 23.1, 7.7, 69.2%; each core 23.1, 1.3, 34.6%."""
    entries = [
        {"weight": 300, "cores": 1},
        {"weight": 100, "cores": 6},
        {"weight": 900, "cores": 2},
    ]
    horizontal = [{**one, "polarization": "horizontal"} for one in entries]
    answer = solved(6, horizontal)
    assert column(answer, "share_pct") == pytest.approx([23.1, 7.7, 69.2], abs=0.06)
    # The guide prints percent of six cores, zlens of one.
    each = [value / 6 for value in column(answer, "each_pct", "polarization")]
    assert each == pytest.approx([23.1, 1.3, 34.6], abs=0.06)
    assert column(answer, "allocation") == pytest.approx([1, 3, 2])
    assert any("P0, P2 cannot use the entitlement from the weight: too few" in note for note in answer.notes)


def test_seven_horizontal_cores_of_four() -> None:
    """ "z/VM 6.2 and 6.3": 400 of 1000 on 10 IFLs, 7 logical: 57% each; vertical, about all of 4 CPUs."""
    entries = [
        {"name": "A", "type": "IFL", "weight": 400, "cores": 7, "polarization": "horizontal"},
        {"name": "B", "type": "IFL", "weight": 600, "cores": 10},
    ]
    scenario = {"processors": {"IFL": 10}, "partition": entries}
    rows = by_name(models.solve("partitions", scenario).table("polarization"))
    assert rows["A"]["each_pct"] == pytest.approx(57.14, abs=0.2)
    assert (rows["A"]["high"], rows["B"]["each_pct"]) == (None, None)
    flat = [{**one, "polarization": "horizontal"} for one in entries]
    answer = models.solve("partitions", {**scenario, "partition": flat})
    assert (answer.figure("high_ifl"), answer.figure("not_high_ifl"), answer.figure("left_ifl")) == (
        0,
        17,
        10,
    )
    vertical = models.solve(
        "partitions", {**scenario, "partition": [{**entries[0], "polarization": "vertical"}, entries[1]]}
    )
    row = by_name(vertical.table("polarization"))["A"]
    assert (row["high"], row["medium"], row["medium_pct"]) == (3, 1, 100)


def machine(**more: Any) -> dict[str, Any]:
    """ "z/VM 6.4 Performance", VM66063: 86 IFLs; entitlements 688 and four times 1978."""
    cores = (12, 24, 24, 28, 28)
    entries = [
        {"name": f"LP{at}", "type": "IFL", "cores": count, "weight": 344 if at == 1 else 989}
        for at, count in enumerate(cores, 1)
    ]
    return {"processors": {"IFL": 86}, "partition": entries, **more}


def test_crowding_of_too_many_vertical_lows() -> None:
    answer = models.solve("partitions", machine())
    assert column(answer, "entitlement_pct", "polarization") == pytest.approx([688, 1978, 1978, 1978, 1978])
    (row,) = answer.table("machine").rows
    found = dict(zip([one.key for one in answer.table("machine").columns], row, strict=True))
    assert (found["high"], found["not_high"], found["left"], found["logical"]) == (82, 34, 4, 116)
    assert found["crowding"] == pytest.approx(8.5)
    assert found["run_time"] == pytest.approx(18.534, abs=0.001)
    assert found["run_time_high"] == 100
    assert answer.figure("crowding_ifl") == pytest.approx(8.5)
    assert (answer.figure("left_ifl"), answer.figure("idle_ifl")) == (4, 0)
    assert any(
        "34 logical cores that are not vertical-high compete for 4 physical" in one for one in answer.notes
    )
    assert not any("compete" in one for one in models.solve("partitions", machine(crowded_from=8.5)).notes)


def test_parked_vertical_lows_do_not_crowd() -> None:
    scenario = machine()
    for one, used in zip(scenario["partition"], (7, 20, 20, 20, 20), strict=True):
        one["unparked"] = used
    answer = models.solve("partitions", scenario)
    assert answer.figure("crowding_ifl") == pytest.approx(5 / 4)
    assert column(answer, "parked", "polarization") == [5, 4, 4, 8, 8]
    assert column(answer, "allocation") == pytest.approx([6.88, 19.78, 19.78, 19.78, 19.78])
    # High cores are parked last; a parked one uses no physical core.
    scenario["partition"][1]["unparked"] = 15
    answer = models.solve("partitions", scenario)
    assert (answer.figure("high_ifl"), answer.figure("not_high_ifl")) == (78, 4)


def test_missing_cores_are_noted() -> None:
    entries = [{"weight": 100, "cores": 4}, {"weight": 100, "cores": 4}]
    answer = solved(4, entries, integer_entitlement="all high")
    assert column(answer, "high", "polarization") == [2, 2]
    assert answer.figure("crowding_cp") is None
    assert any("vertical-high cores use all physical ones" in note for note in answer.notes)


def test_sample_study_of_lpardesign_tool() -> None:
    """A z16 of 18 CPs, two dedicated, with high, medium, share of each medium, and low cores."""
    published = {
        "W013": (142, 2, 0, 2, 71, 0),
        "W014": (250, 3, 2, 1, 50, 0),
        "W015": (196, 3, 1, 1, 96, 1),
        "W017": (302, 4, 2, 2, 51, 0),
        "W018": (60, 2, 0, 1, 60, 1),
        "W019": (300, 3, 3, 0, None, 0),
        "W020": (300, 6, 2, 1, 100, 3),
        "W021": (50, 2, 0, 1, 50, 1),
    }
    entries: list[dict[str, Any]] = [
        {"name": name, "weight": weight, "cores": cores} for name, (weight, cores, *_) in published.items()
    ]
    entries.append({"name": "W022", "cores": 2, "dedicated": True})
    answer = solved(18, entries, integer_entitlement="one medium beside lows")
    rows = by_name(answer.table("polarization"))
    for name, (_, _, high, medium, share, low) in published.items():
        row = rows[name]
        assert (row["high"], row["medium"], row["low"]) == (high, medium, low), name
        assert row["medium_pct"] == (None if share is None else pytest.approx(share)), name
    assert (rows["W022"]["polarization"], rows["W022"]["entitlement_pct"]) == ("dedicated", 200)
    assert (rows["W022"]["high"], rows["W022"]["medium"], rows["W022"]["low"]) == (2, 0, 0)
    assert by_name(answer.table("partitions"))["W022"]["allocation"] == 2


def test_fractions_of_core() -> None:
    """Mainframe Performance Topics, 2020-01-14: three CPs, weights 965 and 35."""
    answer = solved(3, [{"weight": 965, "cores": 3}, {"weight": 35, "cores": 2}])
    assert column(answer, "high", "polarization") == [2, 0]
    assert column(answer, "medium_pct", "polarization") == pytest.approx([89.5, 10.5])
    assert column(answer, "low", "polarization") == [0, 1]


def test_partitions_state_limit() -> None:
    entries: list[dict[str, Any]] = [
        {"weight": 200, "demand": 0.5},
        {"weight": 200, "cores": 1},
        {"weight": 200, "capped": True},
        {"weight": 200, "absolute_cap": 1.25},
        {"weight": 200, "group": "G"},
        {"weight": 200, "defined_capacity": 130.0},
        {"weight": 200, "capacity_group": "Z"},
        {"weight": 200, "cores": 10},
        {"dedicated": True, "cores": 2},
    ]
    groups = [{"name": "G", "absolute_cap": 1.5}, {"name": "Z", "capacity": 170}]
    answer = solved(18, entries, group=groups, msu_per_core=100)
    assert column(answer, "bound_by") == [
        "demand", "cores", "initial cap", "absolute cap", "group G", "defined capacity", "group Z", "weight",
        "dedicated",
    ]  # fmt: skip
    assert column(answer, "allocation") == pytest.approx([0.5, 1, 2, 1.25, 1.5, 1.3, 1.7, 6.75, 2])
    assert column(answer, "limited_by")[:4] == ["cores", "cores", "initial cap", "absolute cap"]
    assert column(answer, "excess")[7] == pytest.approx(4.75)
    assert column(answer, "unmet")[3] == pytest.approx(2.75)
    assert any("four-hour rolling average" in note for note in answer.notes)
    assert any(
        "the absolute cap of P3 is below the entitlement from the weight" in note for note in answer.notes
    )


def test_initial_cap_limits_share_and_leaves_excess() -> None:
    entries = [
        {"weight": 400, "capped": True, "cores": 8},
        {"weight": 300, "demand": 1},
        {"weight": 300, "cores": 8},
    ]
    assert column(solved(10, entries), "allocation") == pytest.approx([4, 1, 5])


def test_lowest_limit_applies() -> None:
    """RMF, Group Capacity Report: the lowest of the five limits applies."""
    one = {"weight": 600, "cores": 10, "capped": True, "absolute_cap": 5.5, "defined_capacity": 500.0,
           "group": "H", "capacity_group": "Z"}  # fmt: skip
    other = {"weight": 400, "cores": 10}

    def held(hardware: float, capacity: float, **change: Any) -> tuple[Any, Any]:
        groups = [{"name": "H", "absolute_cap": hardware}, {"name": "Z", "capacity": capacity}]
        answer = solved(10, [{**one, **change}, other], group=groups, msu_per_core=100)
        return column(answer, "allocation")[0], column(answer, "bound_by")[0]

    assert held(9, 900) == (pytest.approx(5), "defined capacity")
    assert held(9, 900, defined_capacity=580.0) == (pytest.approx(5.5), "absolute cap")
    assert held(9, 900, defined_capacity=580.0, absolute_cap=8) == (pytest.approx(5.8), "defined capacity")
    assert held(9, 900, defined_capacity=700.0, absolute_cap=8) == (pytest.approx(6), "initial cap")
    assert held(3, 900) == (pytest.approx(3), "group H")
    assert held(9, 250) == (pytest.approx(2.5), "group Z")


def test_shares_of_capacity_group() -> None:
    """z/OS MVS Planning: Workload Management, group capacity: 50 MSU are 16.7, 8.3 and 25."""
    entries: list[dict[str, Any]] = [{"weight": weight, "capacity_group": "G"} for weight in (100, 50, 150)]
    answer = solved(
        8, [*entries, {"weight": 300, "cores": 8}], group=[{"name": "G", "capacity": 50}], msu_per_core=25
    )
    assert column(answer, "share", "capacity_groups") == pytest.approx([16.7, 8.3, 25], abs=0.04)
    assert column(answer, "gets", "capacity_groups") == pytest.approx([16.7, 8.3, 25], abs=0.04)
    # The others get the unused share of one.
    entries[2]["demand"] = 0.2
    answer = solved(
        8, [*entries, {"weight": 300, "cores": 8}], group=[{"name": "G", "capacity": 50}], msu_per_core=25
    )
    assert column(answer, "gets", "capacity_groups") == pytest.approx([30, 15, 5])


def test_overlapping_capacity_groups() -> None:
    entries: list[dict[str, Any]] = [
        {"weight": 100, "cores": 10, "group": "H"},
        {"weight": 100, "cores": 10, "group": "H", "capacity_group": "Z"},
        {"weight": 100, "cores": 10, "capacity_group": "Z"},
        {"weight": 100, "cores": 10},
    ]
    groups = [{"name": "H", "absolute_cap": 3}, {"name": "Z", "capacity": 100}]
    answer = solved(10, entries, group=groups, msu_per_core=100)
    assert column(answer, "allocation") == pytest.approx([2.5, 0.5, 0.5, 6.5])
    assert column(answer, "bound_by") == ["group H", "group Z", "group Z", "weight"]
    # Allocation relative to weight determines the limiting group.
    entries[1]["weight"] = 300
    groups[1]["capacity"] = 200
    answer = solved(10, entries, group=groups, msu_per_core=100)
    assert column(answer, "allocation") == pytest.approx([1.5, 1.5, 0.5, 6.5])
    assert column(answer, "bound_by") == ["group H", "group Z", "group Z", "weight"]


#: PR/SM Planning Guide, processing weight management: weights, cores and columns of its tables. Example 1
#: prints 165.3, but its 49.7% require 165.8.
BANDS: dict[str, tuple[list[tuple[int, int]], bool, dict[str, list[float]], list[str]]] = {
    "example 1, with capping": (
        [(500, 6), (480, 3), (20, 3)],
        True,
        {
            "weight_each": [83.3, 160.0, 6.7],
            "core_pct": [50, 96, 4],
            "low_weight": [80.3, 154.2, 0.0],
            "high_weight": [86.3, 165.8, 18.7],
            "low_pct": [48.2, 46.3, 0.0],
            "high_pct": [51.8, 49.7, 5.6],
        },
        ["3.6% of its share", "3.6% of its share", "3.6% of all"],
    ),
    "example 2, without capping": (
        [(500, 6), (300, 3), (200, 3)],
        False,
        {
            "weight_each": [83.3, 100.0, 66.7],
            "core_pct": [50, 60, 40],
            "low_weight": [80.3, 96.4, 54.7],
            "high_weight": [86.3, 103.6, 78.7],
            "low_pct": [48.2, 28.9, 16.4],
            "high_pct": [51.8, 31.1, 23.6],
        },
        ["3.6% of its share", "3.6% of its share", "3.6% of all"],
    ),
}


@pytest.mark.parametrize("case", BANDS)
def test_bands_of_accuracy(case: str) -> None:
    given, capped, columns, rules = BANDS[case]
    entries = [
        {"weight": weight, "cores": cores, "capped": capped, "polarization": "horizontal"}
        for weight, cores in given
    ]
    answer = solved(6, entries)
    for name, expected in columns.items():
        assert column(answer, name, "bands") == pytest.approx(expected, abs=0.06), name
    assert column(answer, "rule", "bands") == rules
    assert column(answer, "high_cores", "bands")[0] == pytest.approx(3.108)
    assert not any(one.name == "vertical_bands" for one in answer.assumptions)


def test_vertical_bands_follow_weakest_core() -> None:
    answer = solved(10, [{"weight": 270}, {"weight": 700, "cores": 8}, {"weight": 30}])
    assert column(answer, "core_pct", "bands") == pytest.approx([70, 100, 30])
    assert column(answer, "rule", "bands")[2] == "3.6% of all"
    assert "vertical_bands" in [one.name for one in answer.assumptions]


def test_limits_of_zvm_for_partition_of_two_types() -> None:
    entries = [
        {"name": "V", "type": "IFL", "cores": 30, "weight": 500, "zvm": "7.1 VM66265", "smt": "SMT-2"},
        {"name": "V", "type": "CP", "cores": 4, "weight": 500, "zvm": "7.1 VM66265", "smt": "SMT-2"},
    ]
    answer = models.solve("partitions", {"processors": {"CP": 4, "IFL": 40}, "partition": entries})
    assert column(answer, "name") == ["V CP", "V IFL"]
    assert column(answer, "smt", "zvm") == ["non-SMT", "SMT-1", "SMT-2"]
    assert column(answer, "chosen", "zvm") == [False, False, True]
    assert column(answer, "processors", "zvm") == [34, 34, 64]
    assert column(answer, "defined", "zvm") == [34, 34, 34]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"cores": 81}, "V has 81 cores, but z/VM 7.4 supports only 80 with non-SMT"),
        ({"cores": 41, "smt": "SMT-2"}, "V has 41 cores, but z/VM 7.4 supports only 40 with SMT-2"),
        (
            {"cores": 36, "smt": "SMT-1", "zvm": 6.4},
            "V has 36 cores, but z/VM 6.4 uses only the first 32 with SMT-1",
        ),
        (
            {"mode": "other", "smt": "SMT-1"},
            "V: z/VM does not support SMT-1 for these types of cores in mode other",
        ),
        ({"zvm": "7.1 VM66265"}, "on the z14 only"),
        ({"cores": 80}, None),
        ({"cores": 40, "smt": "SMT-2"}, None),
    ],
)
def test_unsupported_zvm_settings_are_noted(change: dict[str, Any], says: str | None) -> None:
    one = {"name": "V", "type": "IFL", "cores": 4, "weight": 100, "zvm": "7.4", **change}
    answer = models.solve("partitions", {"processors": {"IFL": 100}, "partition": [one]})
    said = [note for note in answer.notes if "z/VM" in note]
    assert (says is None and not said) or any(says is not None and says in note for note in said)


def test_physlog_includes_prsm_time() -> None:
    """ "z/VM 6.4 Performance", FCX302: the mean of the machine of 86 IFLs."""
    line = {"type": "IFL", "lgclc": 3240.9, "ovrhd": 244.65, "lpmgt": 1804.8}
    answer = models.solve("partitions", machine(physlog=[line]))
    assert column(answer, "total", "physlog") == pytest.approx([5290.4], abs=0.06)
    assert column(answer, "t_l", "physlog") == pytest.approx([1.632], abs=0.0006)
    assert answer.figure("used_ifl") == pytest.approx(86 - 18.048)
    # The entitlement from weights is of all physical cores.
    assert column(answer, "entitlement")[0] == pytest.approx(6.88)


def test_partition_types_are_solved_separately() -> None:
    entries = [
        {"name": "A", "weight": 10, "cores": 2},
        {"name": "A", "type": "ZIIP", "weight": 30, "cores": 2},
        {"name": "B", "type": "ZIIP", "weight": 90, "cores": 2},
    ]
    answer = models.solve("partitions", {"processors": {"CP": 4, "ZIIP": 2}, "partition": entries})
    assert column(answer, "name") == ["A CP", "A ZIIP", "B"]
    assert column(answer, "allocation") == pytest.approx([2, 0.5, 1.5])
    assert answer.figure("idle_cp") == pytest.approx(2)
    assert answer.figure("idle_ziip") == pytest.approx(0)
    assert any("2.00 cores are idle while A CP would use more" in note for note in answer.notes)


def test_no_core_at_all() -> None:
    answer = solved(0, [{"weight": 1}, {"weight": 999, "polarization": "horizontal", "demand": 0}])
    assert column(answer, "allocation") == [0, 0]
    assert column(answer, "bound_by") == ["no core", "no core"]
    assert "P0" in answer_text.render(answer)


def test_all_dedicated() -> None:
    answer = solved(4, [{"dedicated": True, "demand": 3.5}])
    assert column(answer, "allocation") == [3.5]
    assert column(answer, "unmet") == [0]
    assert not answer.assumptions
    assert "4" in answer_text.render(answer)


def test_partitions_list_only_used_assumptions() -> None:
    def assumed(*entries: dict[str, Any], **more: Any) -> list[str]:
        return sorted(one.name for one in solved(10, list(entries), **more).assumptions)

    whole = ({"weight": 300}, {"weight": 700, "cores": 8})
    assert assumed(*whole) == ["crowded_from", "integer_entitlement", "run_time_longest", "vertical_bands"]
    assert "integer_entitlement" not in assumed(*whole, integer_entitlement="all high")
    assert "integer_entitlement" not in assumed({"weight": 301}, {"weight": 699})
    horizontal = (
        {"weight": 300, "polarization": "horizontal"},
        {"weight": 700, "polarization": "horizontal"},
    )
    assert "integer_entitlement" not in assumed(*horizontal)


def test_nearly_equal_weights() -> None:
    assert any("weights 500 and 505" in one for one in solved(4, [{"weight": 505}, {"weight": 500}]).notes)
    assert not any("apart" in one for one in solved(4, [{"weight": 511}, {"weight": 500}]).notes)
    assert not any("apart" in one for one in solved(4, [{"weight": 500}, {"weight": 500}]).notes)
    assert not any("apart" in one for one in solved(4, [{"weight": 98}, {"weight": 100}]).notes)


def test_matching_partitions_have_no_notes() -> None:
    """Logical cores equal the physical cores, the entitlement and the cap."""
    assert solved(4, [{"weight": 500}]).notes == []
    assert solved(4, [{"weight": 500, "demand": 1, "unparked": 4}]).notes == []
    assert solved(8, [{"weight": 500, "absolute_cap": 4}, {"weight": 500, "demand": 4}]).notes == []
    assert solved(1, [{"weight": 1, "cores": 1}]).notes == []
    # Many logical cores, none vertical-high.
    flat = [{"weight": 100 + at * 50, "cores": 2, "polarization": "horizontal"} for at in range(10)]
    assert solved(2, flat).notes == []
    one = {"name": "V", "type": "IFL", "cores": 4, "weight": 1, "zvm": "7.4", "mode": "Linux-only"}
    assert models.solve("partitions", {"processors": {"IFL": 4}, "partition": [one]}).notes == []


def test_excess_logical_cores_are_noted() -> None:
    answer = solved(3, [{"weight": 500}])
    assert "CP: P0 has more logical cores than the machine has shared physical ones" in answer.notes


def test_note_names_at_most_five() -> None:
    def named(count: int) -> str:
        entries = [{"weight": 100, "absolute_cap": 1.5} for _ in range(count)]
        return next(note for note in solved(20, entries).notes if "idle" in note)

    assert "while P0, P1, P2, P3, P4 would use more" in named(5)
    assert "while P0, P1, P2, P3, P4, ... would use more" in named(6)


def test_physical_cores() -> None:
    answer = solved(
        12, [{"weight": 100, "cores": 8}, {"weight": 300, "cores": 7}, {"dedicated": True, "cores": 2}]
    )
    table = answer.table("machine")
    row = dict(zip([one.key for one in table.columns], table.rows[0], strict=True))
    assert (row["physical"], row["dedicated"], row["shared"], row["logical"]) == (12, 2, 10, 15)
    assert row["over"] == pytest.approx(1.5)
    # 2.5 of 10 cores: two high, one medium of half a core, which has 20 of the weight of 40 per core.
    assert by_name(answer.table("bands"))["P0"]["weight_each"] == pytest.approx(20)


def test_sweep_lists_allocations() -> None:
    scenario = {
        "processors": {"CP": 10},
        "partition": [{"name": "A", "cores": 10, "weight": 100}, {"name": "B", "cores": 10, "weight": 100}],
    }
    answer = sweeps.solve("partitions", scenario, "partition.A.weight=100:300:100")
    assert answer.table("sweep").column("allocation_A") == pytest.approx([5, 20 / 3, 7.5])
    assert answer.table("sweep").column("high_cp") == [8, 8, 9]


def test_any_partition_scenario_is_solved() -> None:
    chance = draws(2964)
    for _ in range(150):
        entries: list[dict[str, Any]] = []
        for at in range(chance.randint(1, 6)):
            one: dict[str, Any] = {"name": f"P{at}", "cores": chance.randint(1, 6)}
            if chance.random() < 0.15:
                entries.append({**one, "dedicated": True})
                continue
            one |= {"weight": chance.choice([1, 100, 100, 999]), "capped": chance.random() < 0.3}
            one["polarization"] = chance.choice(["vertical", "horizontal"])
            for key, value in (
                ("demand", chance.choice([0.0, 0.5, 30.0])),
                ("absolute_cap", chance.choice([0.1, 2.5])),
                ("defined_capacity", 50.0),
                ("group", "H"),
                ("capacity_group", "Z"),
                ("zvm", "6.4"),
            ):
                if chance.random() < 0.3:
                    one[key] = value
            entries.append(one)
        dedicated = sum(one["cores"] for one in entries if "dedicated" in one)
        scenario = {
            "processors": {"CP": dedicated + chance.choice([0, 1, 4, 12])},
            "partition": entries,
            "group": [
                {"name": "H", "absolute_cap": chance.choice([0, 1.5])},
                {"name": "Z", "capacity": chance.choice([0, 80])},
            ],
            "msu_per_core": 40,
            "integer_entitlement": chance.choice(prsm.INTEGER_RULES),
        }
        answer = models.solve("partitions", scenario)
        idle = answer.figure("idle_cp")
        assert idle is not None
        assert idle >= -1e-9
        rows = by_name(answer.table("partitions"))
        for one in entries:
            row = rows[one["name"]]
            assert row["bound_by"] != "weight" or idle == pytest.approx(0, abs=1e-6), scenario
        assert answer_text.render(answer).endswith("\n")


def test_partitions_example_is_valid() -> None:
    answer = models.solve("partitions", tomllib.loads(example("partitions")))
    rows = by_name(answer.table("partitions"))
    assert rows["TEST"]["bound_by"] == "group NONPROD"
    assert rows["ZVM5"]["allocation"] == 20
    assert answer.figure("used_ifl") == pytest.approx(86)
    text = answer_text.render(answer)
    for heading in (
        "Polarity of logical cores",
        "Physical cores",
        "Limits of z/VM",
        "Entitled and used (cores)",
    ):
        assert heading in text


P = {"name": "A", "cores": 4, "weight": 100}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"partition": [{"name": "A", "cores": 1}]}, "partition.A is shared but has no weight"),
        ({"partition": [{**P, "dedicated": True}]}, "partition.A is dedicated but has a weight"),
        (
            {"partition": [{"name": "A", "cores": 1, "dedicated": True, "absolute_cap": 1}]},
            "partition.A.absolute_cap is given, but its cores are dedicated",
        ),
        (
            {"partition": [{"name": "A", "cores": 1, "dedicated": True, "capped": True}]},
            "partition.A.capped is true, but its cores are dedicated",
        ),
        ({"partition": [{"name": "A", "cores": 9, "dedicated": True}]}, "9 CP cores are dedicated"),
        ({"partition": [P, P]}, "partition A is given twice with type CP"),
        ({"partition": [{**P, "unparked": 5}]}, "partition.A.unparked exceeds its cores"),
        (
            {"partition": [{**P, "unparked": 2, "polarization": "horizontal"}]},
            "partition.A.unparked is given, but the partition is horizontal",
        ),
        (
            {"partition": [{**P, "group": "G"}]},
            "partition.A.group is G, but there is no such group of type CP",
        ),
        (
            {"partition": [{**P, "capacity_group": "G"}], "group": [{"name": "G", "absolute_cap": 1}]},
            "partition.A.capacity_group is G, but there is no such group",
        ),
        ({"group": [{"name": "G"}]}, "group.G needs exactly one limit"),
        ({"group": [{"name": "G", "absolute_cap": 1}] * 2}, "group G is given twice with type CP"),
        (
            {"group": [{"name": "G", "type": "IFL", "capacity": 5}]},
            "group.G has a group capacity, which z/OS supports for CPs only",
        ),
        ({"group": [{"name": "G", "capacity": 0}]}, "G has a limit in MSU"),
        ({"partition": [{**P, "defined_capacity": 5}]}, "A has a limit in MSU"),
        (
            {"partition": [{**P, "type": "IFL", "defined_capacity": 5}], "processors": {"IFL": 1}},
            "partition.A.defined_capacity is given, but z/OS supports it for CPs only",
        ),
        ({"partition": [{**P, "type": "IFL"}]}, "processors has no IFL"),
        ({"processors": {"CPU": 4, "CP": 1}}, "processors.CPU is not a processor type"),
        ({"partition": [{**P, "smt": "SMT-2"}]}, "partition.A.smt needs a release of z/VM"),
        (
            {"partition": [{**P, "zvm": "7.4", "smt": "SMT-2", "polarization": "horizontal"}]},
            "partition.A.smt is SMT-2, but the partition is horizontal",
        ),
        (
            {
                "partition": [{**P, "zvm": "7.4"}, {**P, "type": "IFL", "zvm": "7.3"}],
                "processors": {"CP": 4, "IFL": 1},
            },
            "partition.A.zvm differs between its types",
        ),
        (
            {
                "partition": [
                    {**P, "zvm": "7.4", "mode": "Linux-only"},
                    {**P, "type": "IFL", "zvm": "7.4", "mode": "Linux-only"},
                ],
                "processors": {"CP": 4, "IFL": 1},
            },
            "partition.A.mode is Linux-only, but the partition has cores of several types",
        ),
        ({"partition": [{**P, "zvm": "7.2"}]}, 'partition[1].zvm is "7.2"; expected one of "6.4", "7.1"'),
        ({"physlog": [{"lgclc": 1, "ovrhd": 1, "lpmgt": 1}] * 2}, "physlog has two lines for CP"),
        (
            {"partition": [{**P, "weight": 1000}]},
            "partition[1].weight is 1000; expected an integer from 1",
        ),
        ({"partition": []}, "partition is a list of 0"),
    ],
)
def test_invalid_partitions_scenario_is_rejected_with_fix(change: dict[str, Any], says: str) -> None:
    scenario = {"processors": {"CP": 4}, "partition": [P], **change}
    with pytest.raises(ScenarioError) as caught:
        models.solve("partitions", scenario, file="s.toml")
    assert says in str(caught.value)
    assert str(caught.value).startswith("s.toml: ")
    assert caught.value.cure
