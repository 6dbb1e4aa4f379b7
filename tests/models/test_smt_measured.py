"""Tests of multithreading of a measured interval: solved compared with recorded values.

Publication "SMT": IBM, "z/VM and simultaneous multithreading", 2015 and 2020: z/OS RMF CPU Activity of four
zIIP cores with MT=2; SMTMET reports per core and per core type, of a busy and an idle system.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import zlens
from measures.test_rmf_threads import HEADS, PRINTED, written
from measures.test_smf70 import ZIIP_S, four_ziips
from reports.fake_session import FakeSession
from smf70_builder import session as smf70
from zlens.cli import main
from zlens.errors import ScenarioError
from zlens.models import MEASURED, interval_choice
from zlens.models.smt import measurement as smt
from zlens.models.smt.switch import switch_bounds
from zlens.rendering.answer import Answer, by_name

END = datetime(2024, 5, 14, 9, 0, tzinfo=UTC)
HEAD = {"system": "VM1", "source": "zvm-monitor", "interval_end": END, "seconds": 60.0}

Row = dict[str, Any]


def core(number: int, busy: float | None, **more: Any) -> Row:
    own = {
        "core_id": number,
        "cpu_type": "IFL",
        "threads": 2,
        "core_busy_pct": busy,
        "entitlement_pct": 100.0,
    }
    return {**HEAD, **own, **more}


def threads(number: int, *busy: float | None, kind: str = "IFL") -> list[Row]:
    return [
        {
            **HEAD,
            "cpu_id": 2 * number + n,
            "core_id": number,
            "thread_id": n,
            "cpu_type": kind,
            "busy_pct": one,
        }
        for n, one in enumerate(busy)
    ]


def of_type(**more: Any) -> Row:
    return {**HEAD, "cpu_type": "IFL", "threads": 2, **more}


def session(cores: list[Row], cpu: list[Row], types: list[Row], **more: list[Row]) -> FakeSession:
    own = {"system": "VM1", "source": "zvm-monitor"}
    return FakeSession({"system": [own], "core": cores, "cpu": cpu, "core_type": types, **more})


def types(answer: Answer, kind: str = "IFL") -> dict[str, tuple[Any, ...]]:
    """Return the solved value, recorded value and error of each number of a type."""
    return {str(row[1]): row[3:6] for row in answer.table("types").rows if row[0] == kind}


#: A core 80% busy, threads 60% and 40%: density 1.25. Max CF 150%: CF 112.5%, productivity 75%.
ONE = {"cores": [core(0, 80.0, thread_density=1.2, productivity_pct=77.0, mt_utilization_pct=61.6)]}
CPU = threads(0, 60.0, 40.0)
TYPE = of_type(thread_density=1.2, capacity_factor_pct=112.0, max_capacity_factor_pct=150.0)


def test_solved_smt_next_to_recorded() -> None:
    answer = smt.compare(session(ONE["cores"], CPU, [TYPE]), "VM1", END)
    row = by_name(answer.table("compared"))["0"]
    assert (row["density"], row["density_said"]) == pytest.approx((1.25, 1.2))
    assert row["density_error"] == pytest.approx(-0.05)
    assert row["factor_pct"] == pytest.approx(112.5)
    assert row["productivity_pct"] == pytest.approx(75.0)
    assert row["productivity_error"] == pytest.approx(2.0)
    assert row["utilization_pct"] == pytest.approx(60.0)
    assert row["utilization_error"] == pytest.approx(1.6)
    # 0.77 = (1 + 0.25 (m - 1)) / m gives 0.75 / 0.52.
    assert row["maximum_pct"] == pytest.approx(100 * 0.75 / 0.52)
    assert row["maximum_said_pct"] == pytest.approx(150.0)
    assert answer.figure("productivity") == pytest.approx(2.0)
    assert answer.figure("density") == pytest.approx(0.05)
    assert answer.figure("left_ifl") == pytest.approx(40.0)
    found = types(answer)
    assert found["CF"] == pytest.approx((112.5, 112.0, -0.5))
    # 1 + 0.12 / 0.2.
    assert found["max CF"] == pytest.approx((160.0, 150.0, -10.0))
    assert found["used"] == (pytest.approx(60.0), None, None)
    assert any(
        "does not report productivity, MT utilization, used, left of the type" in n for n in answer.notes
    )


def test_published_rmf_report(tmp_path: Path) -> None:
    """SMT: MT % PROD of each core, MAX CF 1.473, CF 1.283, AVG TD 1.600; 245.62% used, 154.38% left."""
    with zlens.open([written(tmp_path, HEADS, PRINTED)]) as opened:
        system = interval_choice.choose_system(opened._core, smt.TABLE, None)
        end = interval_choice.choose_interval(opened._core, system, None, smt.busy())
        blind = smt.compare(opened._core, system, end)
        answer = smt.compare(opened._core, system, end, ["max_capacity_factor=147.3"])
    rows = by_name(answer.table("compared"))
    printed = {"4": (87.30, 68.29), "5": (85.64, 50.92), "6": (88.38, 71.38), "7": (86.43, 55.03)}
    for name, (productivity, utilization) in printed.items():
        assert rows[name]["productivity_said_pct"] == pytest.approx(productivity, abs=0.005)
        assert rows[name]["productivity_pct"] == pytest.approx(productivity, abs=0.1)
        assert rows[name]["utilization_pct"] == pytest.approx(utilization, abs=0.1)
        assert rows[name]["maximum_pct"] == pytest.approx(147.3, abs=1.0)
    found = types(answer, "ZIIP")
    assert found["thread density"][0] == pytest.approx(1.600, abs=0.001)
    assert found["CF"][0] == pytest.approx(128.3, abs=0.1)
    assert found["used"][:2] == pytest.approx((245.62, 245.62), abs=0.3)
    assert answer.figure("left_ziip") == pytest.approx(154.38, abs=0.3)
    # Values missing in the XML of RMF are not assumed; a note names the reason.
    row = by_name(blind.table("compared"))["4"]
    assert (row["factor_pct"], row["productivity_pct"], row["utilization_pct"]) == (None, None, None)
    assert row["density"] == pytest.approx(125.64 / 78.23)
    assert row["maximum_said_pct"] is None
    assert any("4, 5, 6, 7: the system recorded no largest capacity factor" in note for note in blind.notes)
    assert any(note == "changed, and assumed: max_capacity_factor=147.3" for note in answer.notes)


def test_published_cores_in_records_of_smf_70() -> None:
    """The same four cores with MAX CF, CF and AVG TD in the record: all values can be compared."""
    with smf70({"SYSA": [four_ziips()]}, ZIIP_S) as session:
        system = interval_choice.choose_system(session._core, smt.TABLE, None)
        answer = smt.compare(
            session._core, system, interval_choice.choose_interval(session._core, system, None, smt.busy())
        )
        back = switch_bounds(
            session._core, system, interval_choice.choose_interval(session._core, system, None, smt.busy()), 1
        )
    for row in by_name(answer.table("compared")).values():
        assert row["productivity_error"] == pytest.approx(0, abs=0.11)
        assert row["utilization_error"] == pytest.approx(0, abs=0.11)
    found = types(answer, "ZIIP")
    for number, printed, near in (
        ("thread density", 1.600, 0.001),
        ("CF", 128.3, 0.1),
        ("max CF", 147.3, 0.2),
        ("productivity", 86.94, 0.3),
        ("MT utilization", 61.41, 0.1),
        ("used", 245.62, 0.3),
        ("left", 154.38, 0.3),
    ):
        assert found[number][0] == pytest.approx(printed, abs=near), number
        assert found[number][1] == pytest.approx(printed, abs=near), number
    # 4.5123 busy threads with density 1.6 and CF 1.283 are 3.618 of 4 cores of work.
    (line,) = back.table("changes").rows
    assert line[5] == pytest.approx(4 / (4.5123 / 1.6 * 1.283), rel=0.002)
    assert any("no virtual CPUs" in note for note in back.notes)


def test_published_smtmet_reports() -> None:
    """SMT, 21:32:32: productivity and utilization of four cores from density and MAX CF, 169.6."""
    printed = [
        (96.86, 1.86, 94.1, 91.2),
        (95.16, 1.83, 93.3, 88.8),
        (95.28, 1.82, 92.7, 88.3),
        (96.42, 1.86, 94.0, 90.7),
    ]
    cores = [
        core(n, busy, thread_density=density, productivity_pct=productivity, mt_utilization_pct=used)
        for n, (busy, density, productivity, used) in enumerate(printed)
    ]
    kind = of_type(
        thread_density=1.84,
        capacity_factor_pct=158.7,
        max_capacity_factor_pct=169.6,
        productivity_pct=93.4,
        mt_utilization_pct=89.7,
    )
    answer = smt.compare(session(cores, [], [kind]), "VM1", END)
    for row in by_name(answer.table("compared")).values():
        # Density is printed to 0.01, which is 0.2 points of productivity.
        assert row["productivity_error"] == pytest.approx(0, abs=0.35)
        assert row["utilization_error"] == pytest.approx(0, abs=0.35)
        assert (row["density"], row["density_error"]) == (None, None), "what is only recorded is not solved"
    found = types(answer)
    assert found["CF"][0] == pytest.approx(158.7, abs=0.5)
    assert found["max CF"][0] == pytest.approx(169.6, abs=0.5)
    assert found["MT utilization"][0] == pytest.approx(89.7, abs=0.3)
    assert found["thread density"][0] is None
    assert any(
        "0, 1, 2, 3: the data does not report how busy its two threads were" in n for n in answer.notes
    )
    assert any("is the recorded value, not solved" in note for note in answer.notes)


def test_idle_system() -> None:
    """SMT: z/VM computes no productivity of nearly idle cores; solved values are not reliable."""
    cores = [core(0, 0.02, thread_density=1.24), core(1, 0.0)]
    answer = smt.compare(session(cores, [], [of_type(max_capacity_factor_pct=173.7)]), "VM1", END)
    rows = by_name(answer.table("compared"))
    assert rows["0"]["productivity_said_pct"] is None
    assert rows["1"]["utilization_pct"] == 0.0
    assert rows["1"]["productivity_pct"] is None
    assert any(note.startswith("0: productivity was not recorded") for note in answer.notes)
    assert any("nearly idle" in note and "103% printed" in note for note in answer.notes)


def test_productivity_is_not_compared_with_itself() -> None:
    """Without threads and density, density is solved from recorded productivity, which is not compared."""
    cores = [core(0, 80.0, productivity_pct=75.0, mt_utilization_pct=60.0)]
    answer = smt.compare(session(cores, [], [of_type(max_capacity_factor_pct=150.0)]), "VM1", END)
    row = by_name(answer.table("compared"))["0"]
    assert row["factor_pct"] == pytest.approx(112.5)
    assert row["productivity_pct"] is None
    assert row["utilization_error"] is None
    assert row["maximum_pct"] is None
    assert "productivity" not in types(answer)


def test_unsolvable_cores_are_named() -> None:
    cores = [
        core(0, 80.0),
        core(1, None),
        core(2, 80.0, cpu_type=None),
        core(3, 80.0, entitlement_pct=None),
        core(4, 50.0),
    ]
    cpu = [*CPU, *threads(3, 60.0, 40.0), *threads(4, 90.0, 90.0)]
    answer = smt.compare(session(cores, cpu, [TYPE]), "VM1", END)
    assert list(by_name(answer.table("compared"))) == ["0", "3"]
    for begin in (
        "core 1: left out: the data does not report how busy",
        "core 2: left out: the data does not report a type",
        "core 3: the data does not report its entitlement",
        "core 4: its threads were busy 3.60 times",
        "core 4: left out: neither density nor productivity",
    ):
        assert any(note.startswith(begin) for note in answer.notes), begin
    assert "left" not in types(answer), "a share that is assumed leaves nothing to tell"
    nothing = smt.compare(session([core(1, None)], [], []), "VM1", END)
    assert nothing.tables == []
    assert nothing.notes[-1] == "the data reports no threads of cores in this interval"


def test_one_thread() -> None:
    """A core with one thread has density 1 and productivity 100%, for any MVS busy."""
    answer = smt.compare(session([core(0, 80.0, threads=1)], threads(0, 95.0), []), "VM1", END)
    row = by_name(answer.table("compared"))["0"]
    assert [row[key] for key in ("density", "factor_pct", "productivity_pct", "utilization_pct")] == (
        pytest.approx([1.0, 100.0, 100.0, 80.0])
    )


def test_times_of_guests() -> None:
    """Density 1.25, CF 112.5%: 100 s on threads are 90 s MT-1, 80 s prorated, next to recorded times."""
    head = {**HEAD, "basis": "sample", "cpu_type": "IFL"}
    guests = [
        {**head, "userid": "A", "vcpu": 0, "cpu_s": 60.0, "mt1_s": 56.7, "prorated_s": 48.0},
        {**head, "userid": "A", "vcpu": 1, "cpu_s": 40.0, "mt1_s": 37.8, "prorated_s": 32.0},
        {**head, "userid": "B", "vcpu": 0, "cpu_s": 50.0},
        {**head, "userid": "D", "vcpu": 0, "cpu_s": 2.0, "mt1_s": 1.0, "prorated_s": 1.0},
        {**head, "userid": "D", "vcpu": 1, "cpu_s": 2.0},
        {**head, "userid": "C", "vcpu": 0, "cpu_s": 5.0, "basis": "logoff"},
    ]
    answer = smt.compare(session(ONE["cores"], CPU, [TYPE], guest_cpu=guests), "VM1", END)
    rows = by_name(answer.table("times"))
    assert list(rows) == ["all guests", "A", "B", "D"]
    assert (rows["A"]["raw"], rows["A"]["mt1"], rows["A"]["prorated"]) == pytest.approx((100, 90, 80))
    assert rows["A"]["mt1_error"] == pytest.approx(5.0)
    assert rows["A"]["prorated_error"] == pytest.approx(0.0)
    assert rows["B"]["mt1_said"] is None
    assert (rows["D"]["mt1_said"], rows["D"]["prorated_said"]) == (None, None)
    assert rows["all guests"]["raw"] == pytest.approx(154)
    assert rows["all guests"]["mt1_said"] is None, "a sum without all its addends is no sum"


def test_setting_changes_smt_measured_scenario() -> None:
    given = session(ONE["cores"], CPU, [TYPE])
    answer = smt.compare(given, "VM1", END, ["core.0.share=70", "max_capacity_factor=200"])
    assert answer.figure("left_ifl") == pytest.approx(70 - 80 * 1.25 / 2)
    assert by_name(answer.table("compared"))["0"]["maximum_said_pct"] == 150.0, "what was recorded stays"
    with pytest.raises(
        ScenarioError, match='max_capacity_factor is "much"; expected a number from 50 to 400'
    ):
        smt.compare(given, "VM1", END, ["max_capacity_factor=much"])


def test_busiest_interval_of_cores() -> None:
    later = {"interval_end": END + timedelta(seconds=60)}
    cores = [
        *ONE["cores"],
        core(1, 50.0),
        core(0, 90.0, **later),
        core(1, 45.0, **later),
        core(2, 99.0, flag="gap", **later),
    ]
    assert (
        interval_choice.choose_interval(session(cores, [], []), "VM1", None, smt.busy())
        == later["interval_end"]
    )


def test_measured_smt_uses_one_source() -> None:
    other = [
        {**row, "source": "zz-other"}
        for row in [core(0, 10.0, thread_density=1.9), core(7, 10.0, thread_density=1.9)]
    ]
    answer = smt.compare(session([*ONE["cores"], *other], CPU, [TYPE]), "VM1", END)
    assert list(by_name(answer.table("compared"))) == ["0"]


def test_solve_smt_from_input(sim_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Values solved from the demo's records equal the recorded ones, except for rounding.

    Productivity is recorded in steps of 1/1024; if two threads run nearly always, one step changes the solved
    maximum by some percent.
    """
    assert "smt" in MEASURED
    assert main(["solve", "smt", "--from", str(sim_file), "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["tables"]["compared"]["rows"]
    assert len(rows) == 6
    for row in rows:
        assert row["productivity_error"] == pytest.approx(0, abs=100 / 1024)
        alone, productivity = 2 - row["density"], row["productivity_said_pct"] / 100
        step = row["maximum_pct"] - 100 * alone / (productivity + 1 / 1024 - (row["density"] - 1))
        assert 0 < step < 5
        assert row["maximum_pct"] == pytest.approx(row["maximum_said_pct"], abs=step)
