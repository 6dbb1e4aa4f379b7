"""Tests of shares of a measured interval: scenario, and expected compared with observed use."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from reports.fake_session import FakeSession
from zlens.cli import main
from zlens.errors import QueryError, ScenarioError
from zlens.inputs.options import parse_time_spec
from zlens.models import interval_choice
from zlens.models.shares import measurement as shares
from zlens.rendering.answer import Answer, by_name

END = datetime(2024, 5, 14, 9, 0, tzinfo=UTC)
HEAD = {"system": "VM1", "source": "zvm-monitor", "interval_end": END, "seconds": 60.0}


def virtual(userid: str, used: float, waited: float | None, idle: float = 0.0, **more: Any) -> dict[str, Any]:
    """Return a virtual CPU that waited for a processor in this percent of its samples."""
    states = {"dormant_pct": idle, "test_idle_pct": 0.0, "cpu_wait_pct": waited, "limit_wait_pct": 0.0}
    if waited is None:
        states = {}
    return {**HEAD, "userid": userid, "vcpu": 0, "basis": "sample", "cpu_type": "IFL", "cpu_pct": used} | (
        states | more
    )


def session(
    virtuals: list[dict[str, Any]], relative: dict[str, float | None], processors: int = 3, **cpu: Any
) -> FakeSession:
    users = [
        {
            **HEAD,
            "userid": userid,
            "basis": "sample",
            "share_kind": "relative" if share else "absolute",
            "share": share,
        }
        for userid, share in relative.items()
    ]
    return FakeSession(
        {
            "system": [{"system": "VM1", "source": "zvm-monitor", "utc_offset_s": 7200}],
            "load": [
                {**HEAD, "busy_pct": 90.0},
                {**HEAD, "interval_end": END + timedelta(seconds=60), "busy_pct": 10.0},
                {**HEAD, "interval_end": END + timedelta(seconds=120), "busy_pct": 99.0, "flag": "gap"},
            ],
            "cpu": [{**HEAD, "cpu_id": n, "cpu_type": "IFL", **cpu} for n in range(processors)],
            "guest": users,
            "guest_cpu": virtuals,
        }
    )


def four_hungry(observed: list[float]) -> FakeSession:
    names = ["A", "B", "C", "D"]
    rows = [virtual(name, used, 25.0) for name, used in zip(names, observed, strict=True)]
    return session(rows, dict.fromkeys(names, 100.0))


def test_controls_in_names_of_guests_are_replaced() -> None:
    given = session([virtual("A\x07", 50.0, 25.0), virtual("B", 50.0, 25.0)], {"A\x07": 100.0, "B": 100.0})
    rows = by_name(shares.compare(given, "VM1", END).table("compared"))
    assert list(rows) == ["A\N{REPLACEMENT CHARACTER}", "B"]


def test_vm65288_excess_distribution() -> None:
    """VM65288: four equal guests on three processors should have 75% each; they had 100 and 50."""
    answer = shares.compare(four_hungry([100.0, 100.0, 50.0, 50.0]), "VM1", END)
    rows = by_name(answer.table("compared"))
    assert [rows[name]["expected"] for name in "ABCD"] == pytest.approx([75] * 4)
    assert [rows[name]["error"] for name in "ABCD"] == pytest.approx([25, 25, -25, -25])
    assert answer.figure("worst") == pytest.approx(25)
    assert answer.figure("rms") == pytest.approx(25)
    assert answer.figure("misplaced") == pytest.approx(100 * 100 / 2 / 300)
    fair = shares.compare(four_hungry([75.0] * 4), "VM1", END)
    assert fair.figure("worst") == pytest.approx(0)


def test_demand_is_use_plus_wait() -> None:
    rows = [virtual("A", 40.0, 5.0), virtual("B", 90.0, 60.0)]
    answer = shares.compare(session(rows, {"A": 100, "B": 100}, processors=1), "VM1", END)
    found = by_name(answer.table("compared"))
    assert (found["A"]["waited"], found["B"]["waited"]) == (5, 60)
    assert found["A"]["expected"] == pytest.approx(45)
    assert found["B"]["expected"] == pytest.approx(55)
    assert found["A"]["bound_by"] == "demand"


def test_demand_is_not_invented() -> None:
    """Running 46.7% and CPU wait 14.2% of four virtual CPUs allow at most 243, despite idle time."""
    rows = [virtual("A", 46.7, 14.2, vcpu=n) for n in range(4)]
    answer = shares.compare(session(rows, {"A": 100}, processors=12), "VM1", END)
    row = by_name(answer.table("compared"))["A"]
    assert row["expected"] == pytest.approx(4 * (46.7 + 14.2))
    assert any("10.13 of the 12.00 processors for guests were idle" in note for note in answer.notes)
    assert answer.figure("misplaced") == 0, "nobody got what was another's"


def test_limit_wait_is_demand() -> None:
    rows = [virtual("A", 10.0, 0.0, limit_wait_pct=50.0)]
    found = by_name(shares.compare(session(rows, {"A": 100}), "VM1", END).table("compared"))
    assert (found["A"]["waited"], found["A"]["expected"]) == (50, pytest.approx(60))


@contextmanager
def role_rows(given: FakeSession, role: str, rows: str) -> Iterator[None]:
    """Add rows to a role that all sessions share, and remove them afterwards."""
    ((empty,),) = given.connection.execute(
        "SELECT sql FROM duckdb_views() WHERE schema_name = 'role' AND view_name = $1", [role]
    ).fetchall()
    given.connection.execute(f"CREATE OR REPLACE VIEW role.{role} AS {rows}")
    try:
        yield
    finally:
        given.connection.execute(f"DROP VIEW role.{role}")
        given.connection.execute(empty)


def test_cpu_pools_limit_their_guests() -> None:
    rows = [virtual("A", 40.0, 60.0), virtual("B", 30.0, 60.0)]
    given = session(rows, {"A": 100, "B": 100})
    given.connection.execute("ALTER TABLE guest ADD COLUMN IF NOT EXISTS cpu_pool VARCHAR")
    given.connection.execute("UPDATE guest SET cpu_pool = 'WEB' WHERE userid = 'A'")
    pools = (
        "SELECT 'VM1' AS system, 'zvm-monitor' AS source, TIMESTAMP '2024-05-14 08:00:00' AS tod, pool, "
        "'IFL' AS cpu_type, 'CAPACITY' AS limit_kind, 0.5 AS limit_amount "
        "FROM (VALUES ('WEB'), ('IDLE')) t(pool)"
    )
    with role_rows(given, "cpu_pool_configuration", pools):
        answer = shares.compare(given, "VM1", END)
    found = by_name(answer.table("compared"))
    assert (found["A"]["expected"], found["A"]["bound_by"]) == (pytest.approx(50), "pool WEB")
    assert found["B"]["expected"] == pytest.approx(90)
    assert any("CPU pools IDLE: the data does not list" in note for note in answer.notes)


def test_unknown_share_limit_is_noted() -> None:
    """UCONF reports that a share is limited; the unit of VMDMXSHR is not published."""
    given = session([virtual("A", 40.0, 60.0), virtual("B", 30.0, 60.0)], {"A": 100, "B": 100})
    limits = (
        "SELECT 'VM1' AS system, userid, max_share, TIMESTAMP '2024-05-14 08:00:00' AS tod "
        "FROM (VALUES ('A', 0), ('B', 1600), ('OTHER', 1600)) t(userid, max_share)"
    )
    with role_rows(given, "guest_configuration", limits):
        notes = shares.compare(given, "VM1", END).notes
    assert any("the share of B is limited" in note and "user.B.limit=hard" in note for note in notes)
    assert "CPU pools are not in this data; add them with settings" in notes


def test_cp_and_parked_time_is_subtracted() -> None:
    rows = [virtual(name, 50.0, 50.0) for name in "AB"]
    measured = session(rows, {"A": 100, "B": 100}, 2, system_pct=10.0, parked_pct=30.0)
    found = shares.measured(measured, "VM1", END)
    assert found.scenario["processors"] == {"IFL": pytest.approx(2 * (0.7 - 0.1))}


def test_use_of_unknown_share_is_subtracted_and_noted() -> None:
    rows = [virtual("A", 50.0, 50.0), virtual("ABS", 80.0, 50.0)]
    answer = shares.compare(session(rows, {"A": 100, "ABS": None}, processors=2), "VM1", END)
    assert list(by_name(answer.table("compared"))) == ["A"]
    assert any("share of 1 guests (ABS)" in note for note in answer.notes)
    assert any("1.20 IFL" in note for note in answer.notes)


def test_demand_without_state_samples_is_use() -> None:
    answer = shares.compare(session([virtual("A", 50.0, None)], {"A": 100}), "VM1", END)
    assert by_name(answer.table("compared"))["A"]["expected"] == pytest.approx(50)
    assert any("1 virtual CPUs have no samples" in note for note in answer.notes)


def test_unknown_processor_type_is_not_guessed() -> None:
    """With one type of processor the guest has that type; with two it is left out and named."""
    rows = [virtual("A", 50.0, 50.0, cpu_type=None), virtual("B", 40.0, 0.0)]
    one = session(rows, {"A": 100, "B": 100}, parked_pct=0.0)
    found = by_name(shares.compare(one, "VM1", END).table("compared"))
    assert found["A"]["type"] == "IFL"
    two = session(rows, {"A": 100, "B": 100}, parked_pct=0.0)
    two.connection.execute("UPDATE cpu SET cpu_type = 'CP' WHERE cpu_id = 0")
    answer = shares.compare(two, "VM1", END)
    assert list(by_name(answer.table("compared"))) == ["B"]
    assert any("left out" in note and "A" in note for note in answer.notes)
    assert not any("parked" in note and "unknown" in note for note in answer.notes)


def test_guest_with_two_types_has_two_entries() -> None:
    """A guest with two types has one name and two types; settings name the type."""
    rows = [
        virtual("A", 40.0, 60.0, cpu_type="CP"),
        virtual("A", 30.0, 70.0, vcpu=1),
        virtual("B", 20.0, 80.0),
    ]
    two = session(rows, {"A": 100, "B": 100}, processors=2, parked_pct=0.0)
    two.connection.execute("UPDATE cpu SET cpu_type = 'CP' WHERE cpu_id = 0")
    table = shares.compare(two, "VM1", END).table("compared")
    found = {row[:2]: dict(zip((c.key for c in table.columns), row, strict=True)) for row in table.rows}
    assert set(found) == {("A", "CP"), ("A", "IFL"), ("B", "IFL")}
    assert [found["A", kind]["observed"] for kind in ("CP", "IFL")] == [40, 30]
    assert [found["A", kind]["expected"] for kind in ("CP", "IFL")] == pytest.approx([100, 50])
    changed = shares.compare(two, "VM1", END, ["user.A.IFL.relative=300"]).table("compared")
    assert {row[:2]: row[4] for row in changed.rows}["A", "IFL"] == pytest.approx(75)


def test_unknown_parking_is_noted() -> None:
    answer = shares.compare(session([virtual("A", 50.0, 50.0)], {"A": 100}), "VM1", END)
    assert any("parked processors are unknown" in note for note in answer.notes)


def test_no_guest_with_share() -> None:
    answer = shares.compare(session([virtual("A", 50.0, 50.0)], {"A": None}), "VM1", END)
    assert answer.tables == []
    assert "no guest with a relative share" in answer.notes[0]


def test_setting_changes_shares_measured_scenario() -> None:
    """The same interval is solved with more share for one guest."""
    given = four_hungry([75.0] * 4)
    answer = shares.compare(given, "VM1", END, ["user.A.relative=10000"])
    rows = by_name(answer.table("compared"))
    assert rows["A"]["expected"] == pytest.approx(100)
    assert rows["B"]["expected"] == pytest.approx(200 / 3)
    assert any("changed: user.A.relative=10000" in note for note in answer.notes)
    with pytest.raises(ScenarioError, match="hungry_above"):
        shares.compare(given, "VM1", END, ["hungry_above=high"])


def chosen(at: str | None) -> datetime:
    return interval_choice.choose_interval(
        four_hungry([75.0] * 4), "VM1", parse_time_spec(at) if at else None
    )


def test_measured_shares_select_interval() -> None:
    assert chosen(None) == END, "the busiest that is whole"
    assert chosen("11:00:30") == END + timedelta(seconds=60), "in the zone of the system"
    assert chosen("2024-05-14 09:00:00Z") == END
    with pytest.raises(QueryError, match=r"no complete interval at 2024-05-14 11:01:30 \(UTC\+02:00\)"):
        chosen("11:01:30")


def test_measured_shares_select_system() -> None:
    given = four_hungry([75.0] * 4)
    assert interval_choice.choose_system(given, "guest", None) == "VM1"
    with pytest.raises(QueryError, match="there is no system VM2 in the input; expected one of VM1"):
        interval_choice.choose_system(given, "guest", "VM2")


def test_solve_shares_from_input(sim_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "shares", "--from", str(sim_file), "--format", "json"]) == 0
    compared = json.loads(capsys.readouterr().out)["tables"]["compared"]["rows"]
    assert {row["name"] for row in compared} >= {"LINUX01", "LINUX02"}
    assert all(row["error"] == pytest.approx(row["observed"] - row["expected"]) for row in compared)
    assert main(["solve", "queueing", "--from", str(sim_file)]) == 2
    assert "queueing scenarios cannot be built" in capsys.readouterr().err


def test_answer_without_tables_prints() -> None:
    from zlens.rendering import answer_text

    assert answer_text.render(Answer("shares", "VM1", [], notes=["nothing"])) == "VM1\n\nNote: nothing\n"
