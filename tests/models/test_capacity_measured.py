"""Tests of the capability of the processors of a measured interval."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from reports.fake_session import FakeSession
from zlens.cli import main
from zlens.errors import QueryError
from zlens.models.capacity import measurement as capacity
from zlens.rendering.answer import by_name

END = datetime(2024, 5, 14, 9, 0, tzinfo=UTC)
HEAD = {"system": "VM1", "source": "zvm-monitor", "interval_end": END, "seconds": 60.0}
#: A curve from /proc/sysinfo: factors of 0.9 for two processors, 0.8 for three.
STATED = {2: 58982.4, 3: 52428.8}


class Session(FakeSession):
    """A session that has data for roles with rows."""

    def has_data(self, view: str) -> bool:
        return bool(self.sql(f"SELECT count(*) FROM {view}").rows[0][0])


def session(linux_machine: str | None = None, cores: int = 0, **cpu: Any) -> Session:
    """Return three half busy processors; linux_machine adds a Linux system with a curve."""
    systems: list[dict[str, Any]] = [{"system": "VM1", "machine": "1234-A", "machine_type": "1234"}]
    if linux_machine:
        systems.append({"system": "LNX", "machine": linux_machine, "machine_type": "1234"})
    rows = [{**HEAD, "cpu_id": n, "cpu_type": "IFL", "busy_pct": 50.0, **cpu} for n in range(3)]
    own = [{**HEAD, "core_id": n, "cpu_type": "IFL", "core_busy_pct": 80.0} for n in range(cores)]
    found = Session({"system": systems, "cpu": rows, "core": own})
    if linux_machine:
        stated = " UNION ALL ".join(
            f"SELECT 'LNX' AS system, TIMESTAMP '2024-05-14' AS tod, {n} AS cpus, {value}::DOUBLE "
            "AS adjustment"
            for n, value in STATED.items()
        )
        found.connection.execute(f"CREATE OR REPLACE VIEW role.linux_caf AS {stated}")
    return found


def test_sysinfo_of_same_machine_states_curve() -> None:
    answer = capacity.compare(session("1234-A", parked_pct=20.0), "VM1", END)
    row = by_name(answer.table("measured"))["IFL"]
    assert (row["online"], row["parked"], row["used"]) == pytest.approx((3, 0.6, 1.5))
    assert row["factor"] == pytest.approx(0.8)
    assert row["capability"] == pytest.approx(2.4)
    assert row["used_capability"] == pytest.approx(1.2)
    assert answer.figure("capability") == pytest.approx(2.4)
    assert answer.figure("used") == pytest.approx(1.2)
    assert any("LNX" in note and "/proc/sysinfo" in note for note in answer.notes)
    assert "LNX" in answer.table("sizes").title


def test_sysinfo_of_other_machine_is_ignored() -> None:
    with pytest.raises(QueryError, match="no curve is known for machine 1234") as caught:
        capacity.compare(session("1234-B"), "VM1", END)
    assert "machine=NAME" in str(caught.value.cure)
    assert "z14-m05" in str(caught.value.expected)


def test_machine_is_selected_by_name() -> None:
    """Three processors of a z14 have the factor of the catalog."""
    from zlens.catalog import capacity_curves
    from zlens.models.capacity import scaling

    answer = capacity.compare(session(), "VM1", END, ["machine=z14-m05"])
    curve = capacity_curves.capacity_curves()["z14-m05"].curve
    assert answer.figure("factor") == scaling.factor(curve, 3, capacity_curves.complete_curves()).value
    assert "changed: machine=z14-m05" in answer.notes


def test_capacity_counts_cores_with_threads() -> None:
    """Three threads of two cores have the factor of two cores."""
    answer = capacity.compare(session("1234-A", cores=2), "VM1", END)
    row = by_name(answer.table("measured"))["IFL"]
    assert (row["online"], row["used"]) == pytest.approx((2, 1.6))
    assert row["factor"] == pytest.approx(0.9)
    assert "2 cores (multithreading" in answer.notes[0]


def test_unknown_busy_gives_null_use() -> None:
    answer = capacity.compare(session("1234-A", busy_pct=None), "VM1", END)
    assert answer.figure("used") is None
    assert answer.figure("capability") == pytest.approx(2.4)


def test_setting_changes_measured_scenario() -> None:
    answer = capacity.compare(session("1234-A"), "VM1", END, ["sizes=[1, 2, 3]"])
    assert answer.table("sizes").column("capability") == pytest.approx([1, 1.8, 2.4])


def test_parked_processors_and_smaller_number() -> None:
    """One of three was parked: the setting changes the figures, not the measured values."""
    answer = capacity.compare(session("1234-A", parked_pct=33.0), "VM1", END)
    assert any("processors=2" in note for note in answer.notes)
    smaller = capacity.compare(session("1234-A", parked_pct=33.0), "VM1", END, ["processors=2"])
    assert smaller.figure("factor") == pytest.approx(0.9)
    assert by_name(smaller.table("measured"))["IFL"]["capability"] == pytest.approx(2.4)
    awake = capacity.compare(session("1234-A", parked_pct=0.0), "VM1", END)
    assert not any("parked" in note for note in awake.notes)


def test_no_processor() -> None:
    answer = capacity.compare(session("1234-A", online_pct=0.0), "VM1", END)
    assert answer.tables == []
    assert "no online processor" in answer.notes[0]


def test_solve_capacity_from_input(sim_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The demo's machine has no known curve: the error suggests to name one."""
    assert main(["solve", "capacity", "--from", str(sim_file)]) == 2
    assert "--set machine=NAME" in capsys.readouterr().err
    arguments = [
        "solve",
        "capacity",
        "--from",
        str(sim_file),
        "--set",
        "machine=z15-lt1-400",
        "--format",
        "json",
    ]
    assert main(arguments) == 0
    rows = json.loads(capsys.readouterr().out)["tables"]["measured"]["rows"]
    assert [(row["type"], row["online"]) for row in rows] == [("IFL", 6)]
