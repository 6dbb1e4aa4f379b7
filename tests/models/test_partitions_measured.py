"""Tests of partitions of a measured interval: scenario, and expected compared with observed use."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from reports.fake_session import FakeSession
from samples import needs, sample
from zlens.cli import main
from zlens.models import interval_choice
from zlens.models.partitions import measurement as partitions
from zlens.rendering.answer import by_name

SAMPLE = sample("rmf/rmf-monitor3-cpc.xml")
END = datetime(2024, 5, 14, 9, 0, tzinfo=UTC)
HEAD = {"system": "VM1", "source": "zvm-monitor", "interval_end": END, "seconds": 60.0}


def partition(
    name: str, weight: float | None, cores: float, used: float | None, **more: Any
) -> dict[str, Any]:
    """Return a partition that used this many cores."""
    own = {"partition": name, "cpu_type": "IFL", "weight": weight, "logical_cpus": cores, "dedicated": False}
    return {**HEAD, **own, "capped": False, "total_s": None if used is None else 60 * used} | more


def machine(kind: str = "IFL", physical: float = 10, **more: Any) -> dict[str, Any]:
    own = {"cpu_type": kind, "physical": physical, "dedicated": 0.0}
    return {**HEAD, **own, "lgclc_pct": 500.0, "ovrhd_pct": 5.0, "lpmgt_pct": 0.0} | more


def session(rows: list[dict[str, Any]], *pools: dict[str, Any]) -> FakeSession:
    system = {"system": "VM1", "source": "zvm-monitor", "utc_offset_s": 0}
    return FakeSession({"system": [system], "partition": rows, "cec": list(pools or [machine()])})


TWO = [partition("A", 750, 8, 8.0), partition("B", 250, 6, 1.5)]


def test_entitlement_use_and_attainable_share() -> None:
    """Weights 3 to 1 on ten cores: 7.5 and 2.5; B leaves 1, A uses all its 8 logical cores."""
    answer = partitions.compare(session(TWO), "VM1", END)
    rows = by_name(answer.table("compared"))
    assert [rows[name]["entitlement"] for name in "AB"] == pytest.approx([7.5, 2.5])
    assert [rows[name]["observed"] for name in "AB"] == pytest.approx([8, 1.5])
    assert [rows[name]["expected"] for name in "AB"] == pytest.approx([8, 1.5])
    assert [rows[name]["beyond"] for name in "AB"] == pytest.approx([0.5, -1.0])
    assert [rows[name]["could_get"] for name in "AB"] == pytest.approx([8, 2.5])
    assert [rows[name]["held_by"] for name in "AB"] == ["cores", "weight"]
    assert answer.figure("worst") == pytest.approx(0)
    assert "Partitions as VM1 saw them, interval that ended 2024-05-14 09:00:00 (UTC)" in answer.title


def test_use_above_model_shows_as_error() -> None:
    """Initial capping limits A to its 7.5 cores; it used 8."""
    answer = partitions.compare(session([{**TWO[0], "capped": True}, TWO[1]]), "VM1", END)
    row = by_name(answer.table("compared"))["A"]
    assert row["expected"] == pytest.approx(7.5)
    assert row["error"] == pytest.approx(0.5)
    assert row["held_by"] == "initial cap"
    assert answer.figure("worst") == pytest.approx(0.5)


def test_demand_equal_to_use_is_noted() -> None:
    """A zero error confirms nothing if demand equals use; given demand or unknown use has no note."""
    answer = partitions.compare(session(TWO), "VM1", END)
    (note,) = [note for note in answer.notes if "no demand beyond their use" in note]
    assert note.startswith("2 of 2 partitions")
    assert "no error (2 of 2) shows only" in note
    assert "is no confirmation" in note
    capped = partitions.compare(session([{**TWO[0], "capped": True}, TWO[1]]), "VM1", END)
    assert any("no error (1 of 2)" in note for note in capped.notes)
    settings = ["partition.A.demand=10", "partition.B.demand=6"]
    full_answer = partitions.compare(session(TWO), "VM1", END, settings)
    assert not any("no demand beyond their use" in note for note in full_answer.notes)
    unknown = partitions.compare(session([partition("A", 750, 8, None)]), "VM1", END)
    assert not any("no demand beyond their use" in note for note in unknown.notes)


def test_solved_and_measured_polarity() -> None:
    """7.5 cores are 7 high and 1 medium; 2.5 cores are 2 high and 1 medium."""
    rows = [{**TWO[0], "vh": 7, "vm": 1, "vl": 0}, {**TWO[1], "vh": 1, "vm": 2, "vl": 3}]
    answer = partitions.compare(session(rows), "VM1", END)
    found = by_name(answer.table("polarity"))
    assert [found["A"][key] for key in ("high", "medium", "low", "vh", "vm", "vl", "same")] == [
        *(7, 1, 0, 7, 1, 0),
        "yes",
    ]
    assert [found["B"][key] for key in ("high", "medium", "low", "vh", "vm", "vl", "same")] == [
        *(2, 1, 3, 1, 2, 3),
        "no",
    ]
    assert any(note.startswith("B: polarity differs") for note in answer.notes)
    assert not any("vertical is assumed" in note for note in answer.notes)


def test_horizontal_and_unknown_polarity() -> None:
    rows = [{**TWO[0], "vh": 0, "vm": 0, "vl": 0}, TWO[1]]
    answer = partitions.compare(session(rows), "VM1", END)
    found = by_name(answer.table("polarity"))
    assert list(found) == ["B"]
    assert found["B"]["same"] is None
    assert any("vertical is assumed" in note for note in answer.notes)
    both = [{**row, "vh": 0, "vm": 0, "vl": 0} for row in TWO]
    level = partitions.compare(session(both), "VM1", END)
    assert [table.key for table in level.tables] == ["compared", "machine"]


def test_prsm_time_is_subtracted() -> None:
    """PR/SM uses half a core of ten: partitions can get at most 9.5."""
    answer = partitions.compare(session(TWO, machine(lpmgt_pct=50.0)), "VM1", END)
    assert by_name(answer.table("compared"))["B"]["could_get"] == pytest.approx(0.25 * 9.5)
    silent = partitions.compare(session(TWO, machine(lpmgt_pct=None)), "VM1", END)
    assert by_name(silent.table("compared"))["B"]["could_get"] == pytest.approx(2.5)
    assert any("does not report PR/SM's own use" in note for note in silent.notes)


def test_measured_dedicated_cores() -> None:
    """2 of 10 cores are dedicated, weights share the others. RMF reports no weight for them."""
    own = partition("D", None, 2, 0.5, dedicated=True)
    answer = partitions.compare(session([*TWO, own], machine(dedicated=2.0)), "VM1", END)
    rows = by_name(answer.table("compared"))
    assert [rows[name]["entitlement"] for name in "ABD"] == pytest.approx([6, 2, 2])
    assert rows["D"]["expected"] == pytest.approx(0.5)
    assert rows["D"]["could_get"] == pytest.approx(2)


def test_partition_with_two_types() -> None:
    rows = [*TWO, partition("A", 100, 2, 1.0, cpu_type="CP")]
    answer = partitions.compare(session(rows, machine(), machine("CP", 2)), "VM1", END)
    found = by_name(answer.table("compared"))
    assert set(found) == {"A IFL", "A CP", "B"}
    assert found["A CP"]["observed"] == pytest.approx(1)
    assert found["A IFL"]["observed"] == pytest.approx(8)
    assert found["A CP"]["could_get"] == pytest.approx(2)


def test_rows_without_cores_are_ignored() -> None:
    rows = [
        *TWO,
        partition("*PHYSICAL*", None, 1, 0.1),
        {**HEAD, "partition": "OFF", "status": "Deactivated"},
    ]
    answer = partitions.compare(session(rows), "VM1", END)
    assert set(by_name(answer.table("compared"))) == {"A", "B"}
    assert not any("PHYSICAL" in note or "OFF" in note for note in answer.notes)


def test_unknown_partition_data_is_noted() -> None:
    rows = [
        partition("A", 750, 7.6, None, capped=None, msu_defined=100.0),
        partition("B", 250.5, 6, 1.5, cap_text="N Y Y"),
        partition("C", None, 6, 1.5),
        partition("Z", 100, 2, 1.0, cpu_type="ZIIP"),
    ]
    answer = partitions.compare(session(rows), "VM1", END)
    found = by_name(answer.table("compared"))
    assert set(found) == {"A", "B"}
    assert found["A"]["cores"] == 8
    assert found["A"]["observed"] is None
    assert found["A"]["error"] is None
    for begin in (
        "A: the number of logical cores changed",
        "A: the data does not report its use",
        "A: the data does not report whether it is capped",
        "A: has a defined capacity",
        "B: the weight changed",
        "B: has an absolute cap",
        "B: is in a group",
        "C: left out: the data reports no weight",
        "Z: left out: the data does not report how many ZIIP cores",
    ):
        assert any(note.startswith(begin) for note in answer.notes), begin


def test_absolute_cap_of_input_is_used() -> None:
    rows = [partition("A", 750, 8, 8.0, cap_text="N Y N", absolute_cap=6.5), TWO[1]]
    answer = partitions.compare(session(rows), "VM1", END)
    row = by_name(answer.table("compared"))["A"]
    assert (row["expected"], row["held_by"]) == (pytest.approx(6.5), "absolute cap")
    assert not any("of unknown value" in note for note in answer.notes)


def test_used_from_percentages() -> None:
    """RMF Monitor III only reports percent of the logical cores."""
    rows = [partition("A", 750, 8, None, total_pct=50.0), partition("B", 250, 6, None, effective_pct=25.0)]
    found = by_name(partitions.compare(session(rows), "VM1", END).table("compared"))
    assert [found[name]["observed"] for name in "AB"] == pytest.approx([4, 1.5])


def test_partitions_without_weights_are_not_solved() -> None:
    answer = partitions.compare(session([partition("A", None, 8, 1.0)]), "VM1", END)
    assert answer.tables == []
    assert "no partition with cores and a weight in this interval" in answer.notes[-1]


def test_measured_partitions_use_one_source() -> None:
    other = [{**row, "source": "a-rmf"} for row in [*TWO, partition("C", 250, 6, 1.0)]]
    given = session([*TWO, *other], machine(), machine(source="a-rmf", physical=20))
    answer = partitions.compare(given, "VM1", END)
    assert by_name(answer.table("compared"))["A"]["entitlement"] == pytest.approx(12)
    assert answer.notes[0] == "Partitions are read from a-rmf; zvm-monitor reports them, too"


def test_controls_in_names_of_partitions_are_replaced() -> None:
    """The scenario takes printable names; the system finds its own partition by the replaced one."""
    name = "A\x1b[31m"
    own = own_processors(6)
    own.connection.execute("UPDATE system SET lpar = ?", [name])
    own.connection.execute("UPDATE partition SET partition = ? WHERE partition = 'A'", [name])
    rows = by_name(partitions.compare(own, "VM1", END).table("compared"))
    assert list(rows) == ["A\N{REPLACEMENT CHARACTER}[31m", "B"]
    assert [row["cores"] for row in rows.values()] == [6, 6]


def own_processors(count: int, *offline: int) -> FakeSession:
    """Return TWO with the processors that the system in A reports."""
    system = {"system": "VM1", "source": "zvm-monitor", "utc_offset_s": 0, "lpar": "A"}
    cpus: list[dict[str, Any]] = [
        {**HEAD, "cpu_id": cpu, "cpu_type": "IFL", "online_pct": 0.0 if cpu in offline else 100.0}
        for cpu in range(count)
    ]
    rows = [partition("A", 750, 8, 6.0), TWO[1]]
    return FakeSession({"system": [system], "partition": rows, "cec": [machine()], "cpu": cpus})


def test_offline_cores_of_own_partition_do_not_count() -> None:
    """Of 8 defined cores, 6 are online: these limit A, not its weight; B is not affected."""
    for given in (own_processors(6), own_processors(8, 3, 7)):
        answer = partitions.compare(given, "VM1", END)
        rows = by_name(answer.table("compared"))
        assert [rows[name]["cores"] for name in "AB"] == [6, 6]
        assert rows["A"]["could_get"] == pytest.approx(6)
        assert rows["A"]["held_by"] == "cores"
        assert "A: 6 of 8 logical cores of type IFL were online, and only these count" in answer.notes
    # A core that went offline within the interval was used, but has no row.
    rows = by_name(partitions.compare(own_processors(5), "VM1", END).table("compared"))
    assert (rows["A"]["cores"], rows["A"]["error"]) == (6, pytest.approx(0))


def test_setting_changes_partitions_measured_scenario() -> None:
    answer = partitions.compare(session(TWO), "VM1", END, ["partition.B.weight=750"])
    rows = by_name(answer.table("compared"))
    assert [rows[name]["entitlement"] for name in "AB"] == pytest.approx([5, 5])
    assert rows["A"]["observed"] == pytest.approx(8), "what was measured stays"
    assert "changed: partition.B.weight=750" in answer.notes


def test_busiest_interval_of_machine() -> None:
    """Without `load`, the total use of the partitions selects the interval."""
    later = END + timedelta(seconds=60)
    rows = [{**row, "interval_end": later, "total_s": 300.0} for row in TWO]
    gap = [{**row, "interval_end": later + timedelta(seconds=60), "flag": "gap"} for row in TWO]
    given = session([*TWO, *rows, *gap])
    assert interval_choice.choose_interval(given, "VM1", None, partitions.busy()) == later


@needs(SAMPLE)
def test_measured_real_machine(capsys: pytest.CaptureFixture[str]) -> None:
    """A z15 with RMF Monitor III, without `load`: four partitions report the expected polarity."""
    assert main(["solve", "partitions", "--from", str(SAMPLE), "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["tables"]["polarity"]["rows"]
    same_by_name = {row["name"]: row["same"] for row in rows if row["same"] is not None}
    assert same_by_name == dict.fromkeys(("QCK2", "TRNG", "VIDVLP", "VIRPT"), "yes")


def test_solve_partitions_from_input(sim_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "partitions", "--from", str(sim_file), "--format", "json"]) == 0
    tables = json.loads(capsys.readouterr().out)["tables"]
    compared = {row["name"]: row for row in tables["compared"]["rows"]}
    assert {name: row["entitlement"] for name, row in compared.items()} == pytest.approx(
        {"ZLSIM": 4.5, "ZLSIM2": 4.8, "ZLTOOL": 2.7}
    )
    assert compared["ZLTOOL"]["held_by"] == "initial cap"
    own = next(row for row in tables["polarity"]["rows"] if row["name"] == "ZLSIM")
    assert own["same"] == "yes"
