"""Tests of bounds after switching SMT on or off for a measured interval, with runs published by IBM.

Publication "SMT": IBM, "z/VM and simultaneous multithreading", 2015 and 2020: single processor serialization
application, with and without SMT-2.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from reports.fake_session import FakeSession
from zlens.errors import QueryError, ScenarioError
from zlens.models.smt.switch import switch_bounds
from zlens.rendering.answer import Answer, by_name

END = datetime(2024, 5, 14, 9, 0, tzinfo=UTC)
HEAD = {"system": "VM1", "source": "zvm-monitor", "interval_end": END, "seconds": 60.0}

Row = dict[str, Any]


def processors(cores: int, threads: int, busy: float, kind: str = "IFL", **more: Any) -> list[Row]:
    """Return processors of cores, all equally busy."""
    return [
        {**HEAD, "cpu_id": n, "core_id": n // threads, "thread_id": n % threads, "cpu_type": kind}
        | {"busy_pct": busy, **more}
        for n in range(cores * threads)
    ]


def guest(name: str, *used: float | None, kind: str | None = "IFL") -> list[Row]:
    """Return a guest whose virtual CPUs used these percentages."""
    head = {**HEAD, "userid": name, "basis": "sample", "cpu_type": kind}
    return [{**head, "vcpu": n, "cpu_pct": one} for n, one in enumerate(used)]


def core_type(threads: int, **more: Any) -> Row:
    return {**HEAD, "cpu_type": "IFL", "threads": threads, **more}


def session(cpu: list[Row], guests: list[Row] = [], types: list[Row] = [], **system: Any) -> FakeSession:  # noqa: B006
    own = {"system": "VM1", "source": "zvm-monitor", **system}
    return FakeSession({"system": [own], "cpu": cpu, "guest_cpu": guests, "core_type": types})


def clients_and_servers(client: float, all_used: float) -> list[Row]:
    """Return three clients and twelve servers, each with one virtual CPU; servers use the rest."""
    server = (all_used - 3 * client) / 12
    names = [(f"CLIENT{n}", client) for n in range(3)] + [(f"SERVER{n}", server) for n in range(12)]
    return [row for name, used in names for row in guest(name, used)]


#: SMT: without SMT 95.8% of three processors, clients 70.5% each; with SMT 61.1% of six, clients 95.4%.
OFF = session(processors(3, 1, 95.8), clients_and_servers(70.5, 287.4), [core_type(1)])
ON = session(
    processors(3, 2, 61.1),
    clients_and_servers(95.4, 366.6),
    [
        core_type(
            2,
            thread_density=1.28,
            capacity_factor_pct=104.0,
            max_capacity_factor_pct=115.0,
            core_busy_pct=95.5,
        )
    ],
)


def change(answer: Answer, kind: str = "IFL") -> Row:
    return by_name(answer.table("changes"))[kind]


def bounds(answer: Answer) -> dict[str, Row]:
    names = [column.key for column in answer.table("bounds").columns]
    return {str(row[1]): dict(zip(names, row, strict=True)) for row in answer.table("bounds").rows}


def numbers(answer: Answer) -> dict[str, tuple[Any, Any]]:
    """Return the value of each number and its provenance."""
    return {str(row[1]): (row[2], row[4]) for row in answer.table("numbers").rows}


def test_smt_on_for_published_serialization_workload() -> None:
    """With the capacity factors of the run with SMT-2: 1.05, but 0.649 was measured."""
    answer = switch_bounds(OFF, "VM1", END, 2, ["max_capacity_factor=115"])
    row = change(answer)
    assert row["most_now"] == pytest.approx(3 / 2.874)
    assert row["most_then"] == pytest.approx((3 + 0.15 * (2.874 / 0.705 - 3)) / 2.874)
    assert row["ratio"] == pytest.approx(1.05, abs=0.005)
    assert str(row["held_by"]).startswith("virtual CPUs of CLIENT")
    assert row["density"] == pytest.approx(2.874 / 0.705 / 3)
    assert bounds(answer)["processors"]["most_then"] == pytest.approx(3 * 1.15 / 2.874)
    assert "serialization of CLIENT0" not in bounds(answer), (
        "one virtual CPU says nothing beyond its own bound"
    )
    assert row["predicted"] is None, "no point value without path factors"
    assert not any(figure.key.startswith("predicted") for figure in answer.figures)
    assert any("measured 0.649" in note or "0.649 was measured" in note for note in answer.notes)
    assert numbers(answer)["max CF"] == (pytest.approx(115), "assumed")
    assert numbers(answer)["threads busy"] == (pytest.approx(2.874), "measured")


def test_point_value_with_calibrated_path_factors() -> None:
    """SMT: 1.60 times the CPU time that slower threads explain; 0.649 was measured."""
    there = switch_bounds(OFF, "VM1", END, 2, ["max_capacity_factor=115", "path=1.6"])
    assert change(there)["predicted"] == pytest.approx(0.649, rel=0.02)
    assert there.figure("predicted_ifl") == change(there)["predicted"]
    back = switch_bounds(ON, "VM1", END, 1, [f"path={1 / 1.6}"])
    assert change(back)["predicted"] == pytest.approx(1 / 0.649, rel=0.02)
    assert any(one.name == "smt_bound_reached" for one in back.assumptions)
    unknown = switch_bounds(OFF, "VM1", END, 2, ["path=1.6"])
    assert change(unknown)["predicted"] is None
    assert any("no point value without the largest capacity factor" in note for note in unknown.notes)


def test_smt_off_for_published_serialization_workload() -> None:
    """The bound is 1.01, 1 / 0.649 was measured: a note reports that bounds can be too low."""
    answer = switch_bounds(ON, "VM1", END, 1)
    row = change(answer)
    work = 6 * 0.611 / (1.28 / 1.04)
    assert (row["threads_now"], row["threads_then"]) == (2, 1)
    assert row["most_then"] == pytest.approx(3 / work)
    assert row["most_then"] == pytest.approx(1.01, abs=0.005)
    assert row["held_by"] == "processors"
    assert row["most_now"] == pytest.approx((3 + 0.15 * (3.666 / 0.954 - 3)) / work)
    assert row["density"] is None
    assert bounds(answer)["virtual CPUs of CLIENT0"]["most_then"] == pytest.approx(1.28 / 1.04 / 0.954)
    assert any("the bounds are too low" in note for note in answer.notes)
    assert numbers(answer)["density"] == (pytest.approx(1.28), "measured")
    assert numbers(answer)["work"] == (pytest.approx(work), "solved")


def test_published_ranges_each_way() -> None:
    """SMT: nine workloads 0.65 to 1.38; z/VM 6.4 Performance: 10% to 40%, 25% on average."""
    there = by_name(switch_bounds(OFF, "VM1", END, 2).table("published"))
    back = by_name(switch_bounds(ON, "VM1", END, 1).table("published"))
    z14, nine = "throughput of a core (capacity statement)", "external throughput of nine measured workloads"
    assert [there[z14][key] for key in ("low", "high", "mean")] == pytest.approx([1.10, 1.40, 1.25])
    assert [there[nine][key] for key in ("low", "high")] == pytest.approx([0.65, 1.38])
    assert [back[nine][key] for key in ("low", "high")] == pytest.approx([1 / 1.38, 1 / 0.65])
    assert back[z14]["mean"] is None, "the mean of the inverse is not published"
    assert not any("relocation" in str(name) for name in there)


def test_unknown_factors_give_widest_bounds() -> None:
    """On: two threads do twice the work of one. Off: second threads added nothing, all were active."""
    there = switch_bounds(OFF, "VM1", END, 2)
    assert bounds(there)["processors"]["most_then"] == pytest.approx(6 / 2.874)
    assert numbers(there)["max CF"] == (pytest.approx(200), "assumed")
    assert any("bounds assume 200%" in note for note in there.notes)
    blind = session(processors(3, 2, 61.1), [], [core_type(2)])
    back = switch_bounds(blind, "VM1", END, 1)
    assert change(back)["most_then"] == pytest.approx(3 / (3.666 / 2))
    assert numbers(back)["density"] == (2.0, "assumed")
    assert numbers(back)["CF"] == (pytest.approx(100), "assumed")


def test_solved_density_and_factor() -> None:
    """Threads 3.666 busy on cores 2.4 busy: 1.5275; 1 + 0.5275 x 0.5."""
    known = core_type(2, core_busy_pct=80.0, max_capacity_factor_pct=150.0)
    answer = switch_bounds(session(processors(3, 2, 61.1), [], [known]), "VM1", END, 1)
    density = 3.666 / 2.4
    assert numbers(answer)["density"] == (pytest.approx(density), "solved")
    assert numbers(answer)["CF"] == (pytest.approx(100 + 50 * (density - 1)), "solved")


def test_explicit_factor_overrides_recorded_one() -> None:
    """The given factor is assumed. Threads busier than two on a core count as two."""
    known = core_type(2, core_busy_pct=50.0, max_capacity_factor_pct=150.0)
    answer = switch_bounds(
        session(processors(3, 2, 61.1), [], [known]), "VM1", END, 1, ["max_capacity_factor=120"]
    )
    assert numbers(answer)["max CF"] == (pytest.approx(120), "assumed")
    assert numbers(answer)["density"] == (pytest.approx(2.0), "solved")
    assert numbers(answer)["CF"] == (pytest.approx(120), "solved")


def test_switch_ignores_offline_and_foreign_rows() -> None:
    """Offline processors, guests without samples and another source of the system are ignored."""
    cpu = processors(3, 1, 50.0)
    cpu += [{**row, "cpu_id": 9, "core_id": 9, "online_pct": 0.0} for row in cpu[:1]]
    cpu += [{**row, "source": "zz-other", "core_id": 20} for row in cpu[:1]]
    guests = [*guest("A", 50.0), *({**row, "basis": "logoff"} for row in guest("B", 10.0))]
    other = core_type(2, source="zz-other")
    answer = switch_bounds(session(cpu, guests, [core_type(1), other]), "VM1", END, 2)
    assert change(answer)["cores"] == 3
    assert change(answer)["threads_now"] == 1
    assert set(bounds(answer)) == {"processors", "virtual CPUs of A"}


def test_busiest_virtual_cpu() -> None:
    """Two virtual CPUs use 90% and 10%: the bound is 2, or 1 / 0.9 if work of one cannot move."""
    answer = switch_bounds(
        session(processors(2, 1, 60.0), guest("DB", 90, 10), [core_type(1)]), "VM1", END, 2
    )
    row, found = change(answer), bounds(answer)
    assert found["virtual CPUs of DB"]["most_then"] == pytest.approx(2 / 1.0)
    assert found["serialization of DB"]["most_now"] == pytest.approx(1 / 0.9)
    assert found["serialization of DB"]["most_then"] == pytest.approx(1 / 0.9)
    assert "assumed" in str(found["serialization of DB"]["how"])
    assert row["most_then"] == pytest.approx(2.0), "what is assumed holds nothing"
    assert row["serial"] == pytest.approx(1 / 0.9)
    # 2 / 1.2 now; then 2 from virtual CPUs, 2 x 1.5 / 1.32 from processors with a path of 1.1.
    given = session(processors(2, 1, 60.0), guest("DB", 90, 10), [core_type(1)])
    point = switch_bounds(given, "VM1", END, 2, ["path=1.1", "max_capacity_factor=150"])
    work = (2 + (2.4 - 2) * 0.5) / 1.2 / 1.1
    assert change(point)["predicted"] == pytest.approx(work * 1.2 / 2), "nor the point value"


def test_explicit_serialization_is_bound() -> None:
    """A guest with fully serialized work used 1.0 processor, which is its bound."""
    given = session(processors(2, 1, 60.0), guest("DB", 50, 50), [core_type(1)])
    answer = switch_bounds(given, "VM1", END, 2, ["guest.DB.serial=100"])
    assert change(answer)["most_then"] == pytest.approx(1.0)
    assert change(answer)["held_by"] == "serialization of DB"
    two = switch_bounds(given, "VM1", END, 2, ["guest.DB.serial=100", "guest.DB.serial_at_once=2"])
    assert change(two)["most_then"] == pytest.approx(2.0)


def test_types_without_smt() -> None:
    cpu = [*processors(2, 1, 50.0), *processors(1, 1, 50.0, "CP")]
    answer = switch_bounds(session(cpu, [], [core_type(1)]), "VM1", END, 2)
    assert list(by_name(answer.table("changes"))) == ["IFL"]
    assert any(note.startswith("CP left out: its cores support one thread only") for note in answer.notes)
    zos = session([{**row, "source": "smf"} for row in processors(2, 1, 50.0, "ZIIP")])
    assert list(by_name(switch_bounds(zos, "VM1", END, 2).table("changes"))) == ["ZIIP"]
    ifl = session([{**row, "source": "smf"} for row in processors(2, 1, 50.0)])
    assert switch_bounds(ifl, "VM1", END, 2).tables == []


def test_switch_to_current_mode_is_noted() -> None:
    answer = switch_bounds(ON, "VM1", END, 2)
    assert answer.tables == []
    assert any("has 2 threads on each core already" in note for note in answer.notes)


def test_switch_with_missing_data() -> None:
    """One thread is assumed if none are reported; without busy nothing is computed."""
    answer = switch_bounds(session(processors(3, 1, 50.0), guest("A", None, 50.0)), "VM1", END, 2)
    assert numbers(answer)["threads"] == (1, "assumed")
    assert any("no bound of them: A" in note for note in answer.notes)
    blind = processors(3, 1, 50.0)
    del blind[0]["busy_pct"]
    dark = switch_bounds(session(blind), "VM1", END, 2)
    assert dark.tables == []
    assert any("does not report how busy" in note for note in dark.notes)
    level = switch_bounds(session(processors(3, 1, 50.0), mt_ifl=1), "VM1", END, 2)
    assert numbers(level)["threads"] == (1, "measured")


def test_zos_threads_use_mvs_busy() -> None:
    """SMT: RMF prints LPAR busy of the core and MVS busy of each thread."""
    rows = processors(1, 2, 78.23, "ZIIP", source="rmf-xml")
    rows = [{**row, "mvs_busy_pct": busy} for row, busy in zip(rows, (67.24, 58.40), strict=True)]
    answer = switch_bounds(session(rows), "VM1", END, 1)
    assert numbers(answer)["threads busy"] == (pytest.approx(1.2564), "measured")


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("max_capacity_factor=90", "from 100 to 200"),
        ("path=0", "number"),
        ("guest.DB.serial=much", "number"),
        ("guest.DB.serial_at_once=0.5", "an integer"),
        ("weight=3", "guest.NAME.path"),
    ],
)
def test_invalid_switch_settings_are_rejected(setting: str, expected: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        switch_bounds(OFF, "VM1", END, 2, [setting])
    assert expected in str(caught.value.expected)


def test_unknown_switch_guest_is_error() -> None:
    with pytest.raises(QueryError, match="no guest NOBODY"):
        switch_bounds(OFF, "VM1", END, 2, ["guest.NOBODY.path=1.2"])
    with pytest.raises(QueryError, match="3 threads"):
        switch_bounds(OFF, "VM1", END, 3)


def test_transactions_and_entitlement() -> None:
    given = FakeSession(
        {
            "system": [{"system": "VM1"}],
            "cpu": processors(3, 1, 50.0),
            "core_type": [core_type(1, entitlement_pct=200.0)],
            "load": [{**HEAD, "etr": 100.0}],
        }
    )
    notes = switch_bounds(given, "VM1", END, 2).notes
    assert any("100.0 transactions/s measured; at most 400.0/s" in note for note in notes)
    assert any("entitled to 2.00 of its 3 cores" in note for note in notes)
