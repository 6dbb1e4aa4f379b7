"""Tests of what-ifs on partitions and cores of a measured interval, computed by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from reports.fake_session import FakeSession
from zlens.errors import QueryError, ScenarioError
from zlens.models.partitions import measurement as partitions
from zlens.plan import planning
from zlens.rendering.answer import Answer, Value, by_name

END = datetime(2024, 5, 14, 9, 0, tzinfo=UTC)
HEAD = {"system": "VM1", "source": "zvm-monitor", "interval_end": END, "seconds": 60.0}


def partition(name: str, weight: float | None, cores: float, used: float, **more: Any) -> dict[str, Any]:
    """Return a partition that used this many cores."""
    own = {"partition": name, "cpu_type": "IFL", "weight": weight, "logical_cpus": cores, "dedicated": False}
    return {**HEAD, **own, "capped": False, "total_s": 60 * used} | more


def machine(kind: str = "IFL", physical: float = 10) -> dict[str, Any]:
    own = {"cpu_type": kind, "physical": physical, "dedicated": 0.0}
    return {**HEAD, **own, "lgclc_pct": 0.0, "ovrhd_pct": 0.0, "lpmgt_pct": 0.0}


#: Weights 3 to 1 on ten cores: 7.5 and 2.5 cores.
TWO = [partition("A", 750, 8, 8.0), partition("B", 250, 6, 1.5)]


def session(rows: list[dict[str, Any]], *pools: dict[str, Any], lpar: str | None = "A") -> FakeSession:
    system = {"system": "VM1", "source": "zvm-monitor", "utc_offset_s": 0, "lpar": lpar}
    return FakeSession({"system": [system], "partition": rows, "cec": list(pools or [machine()])})


def ask(*settings: str, rows: list[dict[str, Any]] | None = None) -> Answer:
    return planning.plan(session(TWO if rows is None else rows), settings)


def values(answer: Answer, table: str, key: str) -> dict[Value, Value]:
    return {name: row[key] for name, row in by_name(answer.table(table)).items()}


def refused(*settings: str, rows: list[dict[str, Any]] | None = None) -> str:
    with pytest.raises((ScenarioError, QueryError)) as caught:
        ask(*settings, rows=rows)
    return str(caught.value)


def test_one_more_logical_core() -> None:
    """A used its 8 logical cores while 0.5 of ten were idle: with a ninth it could get 8.5."""
    answer = ask("logical_cores=+1")
    assert answer.table("changes").rows == [("logical_cores=+1", "logical cores of A", "cores", 8, 9, 1)]
    row = by_name(answer.table("could"))["A"]
    assert (row["before"], row["after"]) == (pytest.approx(8), pytest.approx(8.5))
    assert (row["held_before"], row["held_after"]) == ("cores", "weight")
    assert answer.figure("could_ifl") == pytest.approx(0.5)
    assert set(values(answer, "entitled", "difference").values()) == {0.0}, "weights stay"


def test_one_more_physical_core() -> None:
    """Eleven cores by weight: 8.25 and 2.75; A has only 8 logical cores and cannot get more."""
    answer = ask("physical_cores=+1")
    after = values(answer, "entitled", "after")
    assert [after[name] for name in "AB"] == pytest.approx([8.25, 2.75])
    assert answer.figure("could_ifl") == pytest.approx(0)
    pool = by_name(answer.table("machine"))["IFL"]
    assert (pool["physical_before"], pool["physical_after"]) == (10, 11)
    assert (pool["idle_before"], pool["idle_after"]) == (pytest.approx(0.5), pytest.approx(1.5))


def test_core_settings_by_difference_and_number() -> None:
    assert ask("physical_cores=+3").table("changes").rows[0][3:] == (10, 13, 3)
    assert ask("physical_cores.IFL=-2").table("changes").rows[0][3:] == (10, 8, -2)
    assert ask("partition.B.logical_cores=2").table("changes").rows[0][1:] == (
        *("logical cores of B", "cores", 6, 2),
        -4,
    )


def test_fewer_cores_than_used() -> None:
    """A has 6 logical cores left and would get 2 less than it used."""
    answer = ask("logical_cores=-2")
    row = by_name(answer.table("expected"))["A"]
    assert (row["used"], row["before"], row["after"], row["difference"]) == pytest.approx((8, 8, 6, -2))
    assert any("only the demand of A changes" in note for note in answer.notes)


def test_another_weight() -> None:
    """Weights 500 and 500: 5 and 5 cores."""
    answer = ask("weight=500", "partition.B.weight=500")
    rows = by_name(answer.table("entitled"))
    assert (rows["A"]["weight_before"], rows["A"]["weight_after"]) == (750, 500)
    assert [rows[name]["after"] for name in "AB"] == pytest.approx([5, 5])
    assert [rows[name]["difference"] for name in "AB"] == pytest.approx([-2.5, 2.5])
    could = values(answer, "could", "after")
    assert could["B"] == pytest.approx(5), "B would be held by its weight of a half"


def test_weight_and_core_settings_combine() -> None:
    """750 to 150 on eleven cores: A with 9 logical cores gets 9 of its 9.17 if B uses 1.5."""
    answer = ask("partition.B.weight=150", "logical_cores=+1", "physical_cores=+1")
    assert values(answer, "entitled", "after")["A"] == pytest.approx(11 * 750 / 900)
    assert values(answer, "could", "after")["A"] == pytest.approx(9)


@pytest.mark.parametrize(
    ("value", "weights", "cores"),
    [
        ("2", (375, 375), (4, 4)),
        ("3", (250, 250, 250), (3, 3, 2)),
        ("500,250", (500, 250), (5, 3)),
        ("600:5,150:3", (600, 150), (5, 3)),
        ("740,10", (740, 10), (7, 1)),
    ],
)
def test_split_preserves_entitlement(value: str, weights: tuple[int, ...], cores: tuple[int, ...]) -> None:
    """Parts of 750 of 1,000 on ten cores: 7.5 in total, each by its weight; B is unchanged."""
    answer = ask(f"split={value}")
    rows = by_name(answer.table("entitled"))
    parts = [f"A-{n}" for n in range(1, len(weights) + 1)]
    assert [rows[part]["weight_after"] for part in parts] == list(weights)
    assert [rows[part]["after"] for part in parts] == pytest.approx([one / 100 for one in weights])
    assert rows["A"]["after"] == pytest.approx(7.5)
    assert rows["A"]["difference"] == pytest.approx(0)
    assert rows["B"]["after"] == pytest.approx(2.5)
    assert [row[0] for row in answer.table("entitled").rows] == ["A", *parts, "B"]
    changed = answer.table("changes").rows[1]
    assert changed[3:5] == (8, " + ".join(map(str, cores)))


def test_split_divides_use_by_weight_as_assumption() -> None:
    """8 used cores, 2 to 1: 5.33 and 2.67, which 5 and 3 logical cores limit to 5 and 2.67."""
    answer = ask("split=500,250")
    after = values(answer, "expected", "after")
    assert after["A-1"] == pytest.approx(5)
    assert after["A-2"] == pytest.approx(8 / 3)
    assert after["A"] == pytest.approx(5 + 8 / 3)
    assert [one.name for one in answer.assumptions if one.source == "zlens" and one.name == "use_of_parts"]
    assert values(answer, "could", "after")["A"] is None, (
        "that all parts want all at once is another question"
    )


def test_uneven_split_weights_are_noted() -> None:
    rows = [partition("A", 375, 6, 5.7), partition("B", 625, 6, 1.0)]
    answer = ask("split=2", rows=rows)
    assert answer.table("changes").rows[0][4] == "188 + 187"
    assert any("as equal as possible" in note for note in answer.notes)
    more = ask("split=300,300", rows=rows)
    assert any("sum to 600, not 375" in note for note in more.notes)
    assert values(more, "entitled", "after")["A"] == pytest.approx(10 * 600 / 1225)


def test_split_after_another_weight() -> None:
    """The parts divide the new weight for any order of --set."""
    answer = ask("split=2", "weight=500")
    assert values(answer, "entitled", "weight_after")["A-1"] == 250
    assert values(answer, "entitled", "after")["A"] == pytest.approx(10 * 500 / 750)


def test_vertical_lows_removed() -> None:
    """7.5 on 8 cores: 7 high, 1 medium, 0 low. 2.5 on 6: 2 high, 1 medium; 3 low ones are removed."""
    answer = ask("vertical_lows=removed")
    assert answer.table("changes").rows == [
        ("vertical_lows=removed", "logical cores of B", "cores", 6, 3, -3)
    ]
    row = by_name(answer.table("polarity"))["B"]
    assert [row[f"{key}_{when}"] for when in ("before", "after") for key in ("high", "medium", "low")] == [
        *(2, 1, 3),
        *(2, 1, 0),
    ]
    assert values(answer, "entitled", "difference")["B"] == pytest.approx(0)
    again = ask("partition.A.vertical_lows=removed")
    assert any("no vertical-low cores to remove" in note for note in again.notes)
    assert "No setting changes anything: before and after are the same" in again.notes
    assert all(table.key != "changes" for table in again.tables)


def test_used_vertical_lows_are_noted() -> None:
    """B used 4 cores; 3 are left."""
    rows = [partition("A", 750, 8, 5.0), partition("B", 250, 6, 4.0)]
    answer = ask("vertical_lows=removed", rows=rows)
    assert values(answer, "expected", "difference")["B"] == pytest.approx(-1)
    assert any(
        "B used 4.00 cores, but without its vertical-lows only 3 are left" in note for note in answer.notes
    )


def test_vertical_lows_follow_requested_weights() -> None:
    """500 to 500: A is entitled to 5 high of its 8 cores; 3 low ones are removed. B has 5 of 6 left."""
    answer = ask("vertical_lows=removed", "weight=500", "partition.B.weight=500")
    assert [row[4] for row in answer.table("changes").rows] == [500, 500, 5, 5]


def test_horizontal_partition_has_no_vertical_lows() -> None:
    rows = [TWO[0], {**TWO[1], "vh": 0, "vm": 0, "vl": 0}]
    assert any("no vertical-low" in note for note in ask("vertical_lows=removed", rows=rows).notes)
    answer = ask("vertical_lows=removed", "partition.B.polarization=horizontal")
    assert any("no vertical-low" in note for note in answer.notes)
    assert any("polarization=horizontal applies before and after" in note for note in answer.notes)


def test_given_cap_applies_before_and_after() -> None:
    """B could get 2.5 of ten and 3 of twelve cores by weight, but its cap is 2."""
    answer = ask("partition.B.absolute_cap=2", "physical_cores=12")
    row = by_name(answer.table("could"))["B"]
    assert (row["before"], row["after"], row["held_before"]) == (2, 2, "absolute cap")
    capped = ask("partition.A.capped=true", "physical_cores=+0")
    assert values(capped, "expected", "before")["A"] == pytest.approx(7.5)


def test_machine_plan_base_equals_solve() -> None:
    answer = ask("weight=500")
    given = by_name(partitions.compare(session(TWO), "VM1", END).table("compared"))
    for name in "AB":
        assert values(answer, "entitled", "before")[name] == given[name]["entitlement"]
        assert values(answer, "could", "before")[name] == given[name]["could_get"]


def test_every_plan_table_states_provenance() -> None:
    answer = ask("weight=500")
    kinds = {(row[0], row[1]): row[2] for row in answer.table("kinds").rows}
    assert kinds["Entitled", "solved"] == "Before, After, Difference"
    assert kinds["Entitled", "measured"] == "Weight before, Weight after where not set"
    assert kinds["Entitled", "assumed"] == "Weight after where set"
    assert kinds["Expected", "measured"] == "Used"
    assert kinds["Settings", "assumed"] == "After, Difference"
    listed = {row[0] for row in answer.table("kinds").rows}
    assert listed == {table.title.partition(":")[0] for table in answer.tables if table.key != "kinds"}
    assert any(note.startswith("A partition's demand is its use") for note in answer.notes)
    assert any("Expected before equals Used for all" in note for note in answer.notes)


def test_expected_use_differing_from_measured_is_noted() -> None:
    answer = ask("weight=500", rows=[{**TWO[0], "capped": True}, TWO[1]])
    assert any("Expected before differs from Used: A" in note for note in answer.notes)


def test_plan_with_dedicated_cores() -> None:
    """Two of ten are dedicated: one more leaves seven shared."""
    rows = [*TWO, partition("D", None, 2, 0.5, dedicated=True)]
    answer = ask("partition.D.logical_cores=+1", rows=rows)
    after = values(answer, "entitled", "after")
    assert [after[name] for name in "ABD"] == pytest.approx([5.25, 1.75, 3])
    assert "has no weight" in refused("partition.D.weight=5", rows=rows)
    assert "2 IFL cores are dedicated" in refused("physical_cores=1", rows=rows)
    split = ask("partition.D.split=2", rows=rows)
    assert values(split, "entitled", "after")["D"] == pytest.approx(2)


def test_partition_of_two_types() -> None:
    rows = [*TWO, partition("A", 100, 2, 1.0, cpu_type="CP")]
    given = session(rows, machine(), machine("CP", 2))
    with pytest.raises(ScenarioError, match=r"partition\.A\.CP\.weight=5"):
        planning.plan(given, ["weight=5"])
    answer = planning.plan(given, ["partition.A.IFL.weight=250"])
    assert values(answer, "entitled", "after")["A IFL"] == pytest.approx(5)
    split = planning.plan(given, ["split=2"])
    assert [row[1] for row in split.table("changes").rows] == [
        "weight of A IFL",
        "logical cores of A IFL",
        "weight of A CP",
        "logical cores of A CP",
    ]
    with pytest.raises(ScenarioError, match=r"the type is missing.*physical_cores\.CP=\+1"):
        planning.plan(given, ["physical_cores=+1"])


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("wieght=3", "no what-if is called wieght; expected one of logical_cores"),
        ("wieght=3", "did you mean weight?"),
        ("weight", "has no value; expected KEY=VALUE"),
        ("weight=", "has no value"),
        ("weight=1000", "weight is 1000; expected an integer from 1 to 999"),
        ("weight=heavy", 'weight is "heavy"; expected an integer from 1 to 999'),
        ("logical_cores=-8", "it is 8 and would become 0"),
        ("logical_cores=1.5", 'logical_cores is "1.5"'),
        ("partition.X.weight=3", "no partition X with cores and a weight; expected A, B"),
        ("partition.B.CP.weight=3", "B has no cores of type CP; expected IFL"),
        ("physical_cores.CP=+1", "no cores of type CP; expected IFL; write physical_cores.IFL=+1"),
        ("physical_cores.XX=+1", "no what-if is called physical_cores.XX"),
        ("split=1", "split is 1; expected an integer from 2 to 8"),
        ("split=9", "split is 9; expected an integer from 2 to 8"),
        ("split=a,b", 'split is "a,b"; expected 2 equal parts'),
        ("split=5:2,5", 'split is "5:2,5"'),
        ("vertical_lows=kept", 'expected one of "removed"'),
        ("partition.A.capped=maybe", 'expected one of "true", "false"'),
        ("partition.A.absolute_cap=0", "expected a number above 0"),
    ],
)
def test_machine_plan_errors(setting: str, words: str) -> None:
    assert words in refused(setting)


def test_repeated_settings_are_rejected() -> None:
    assert "weight is given twice" in refused("weight=5", "weight=6")
    assert "the weight of A is already changed" in refused("weight=5", "partition.A.weight=6")
    assert "A is already split" in refused("split=2", "partition.A.split=3")


def test_lowercase_names_and_unknown_own_partition() -> None:
    assert ask("partition.b.weight=3").table("changes").rows[0][1] == "weight of B"
    with pytest.raises(ScenarioError, match=r"does not show which partition VM1 runs in.*A, B"):
        planning.plan(session(TWO, lpar=None), ["weight=3"])


def test_no_partition_data_names_records() -> None:
    empty = FakeSession({"load": [{**HEAD, "busy_pct": 50.0}]})
    with pytest.raises(QueryError, match=r"no data for table partition; expected .*D0R16.*SMF 70.*RMF"):
        planning.plan(empty, ["weight=3"])
    unweighted = session([partition("A", None, 8, 1.0)])
    with pytest.raises(ScenarioError, match=r"has no partitions.*D0R16"):
        planning.plan(unweighted, ["physical_cores=+1"])


def test_available_settings_of_input() -> None:
    answer = planning.list_settings(session(TWO))
    rows = by_name(answer.table("whatifs"))
    assert rows["partition.A.weight"]["now"] == "750"
    assert rows["physical_cores.IFL"]["now"] == "10"
    assert rows["partition.A.capped"]["now"] is None
    assert not any(str(key).startswith("user.") for key in rows)
    assert any(note.startswith("user.NAME.relative") and "D4R3" in note for note in answer.notes)
    assert "Partitions: A, B; the partition of VM1 is A" in answer.notes


def test_every_machine_example_has_answer() -> None:
    given = session(TWO)
    for row in planning.list_settings(given).table("whatifs").rows:
        setting = str(row[1]).removeprefix("--set ")
        assert planning.plan(given, [setting]).tables, setting
