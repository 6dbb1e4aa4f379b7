"""Tests that records of an old release give the same results as zlens' records, with fewer fields."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

import zlens
from zlens import models
from zlens.catalog import layouts, writer_plans
from zlens.errors import ScenarioError

#: Measures of both record formats.
MEASURES = {
    "cpu": "cpu_id, user_pct, system_pct, emulation_pct, wait_pct",
    "partition": "partition, cpu_type, effective_s, total_s",
    "device": "device, rate, pend_s, disc_s, conn_s, queued",
    "load": "busy_pct, page_rate, online",
}
SECONDS = {"seconds": 180, "interval": 60, "warmup": 5}
VARY = [
    {"at": 70, "do": "vary off", "partition": "ZVM1", "core": 5},
    {"at": 130, "do": "vary on", "partition": "ZVM1", "core": 5},
]


def example(**partition: Any) -> dict[str, Any]:
    values = tomllib.loads(models.find("system").example) | {"simulation": SECONDS}
    values["partition"][0] |= partition
    return values


def answers(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with zlens.open([path]) as session:
        assert session._core.all_problems() == []
        return {
            name: session.sql(f"SELECT interval_end, {columns} FROM {name} ORDER BY ALL").rows
            for name, columns in MEASURES.items()
        }


def test_both_record_formats_give_same_results(tmp_path: Path) -> None:
    zlens.simulate(example(), tmp_path / "own")
    zlens.simulate(example(records="5.3"), tmp_path / "old")
    assert answers(tmp_path / "old") == answers(tmp_path / "own")
    with zlens.open([tmp_path / "old"]) as session:
        assert [info.release for info in session.systems] == ["5.3"]
        assert session.sql("SELECT count(core_busy_pct) FROM core").rows == [(0,)]


def test_records_of_other_releases_are_omitted() -> None:
    plans = {one["record"]: one for one in writer_plans.writer_plan("5.3")}
    for name, plan in plans.items():
        old = [one for one in layouts.layouts(name) if (one.pack, one.release) == (layouts.BUILTIN, "5.3")]
        assert plan.get("absent", False) == (not old)
        if old:
            prefix = old[0].dsect.removeprefix("MR") + "_"
            fields = {field for field, place in plan["fields"].items() if not place.get("absent")}
            assert fields == {field.name.removeprefix(prefix) for field in old[0].fields}
    assert plans["D4R3"]["absent"]
    assert plans["D0R2"]["fields"]["ZLPARKTM"]["absent"]


def test_user_time_is_recorded_at_transaction_ends(tmp_path: Path) -> None:
    """The last record of a user, shortly before the end, has all its CPU time."""
    values = example(records="5.3", transaction_ends=True)
    values["user"][2] |= {"demand": 5, "load": {"burst": 20}}
    [done] = zlens.simulate(values, tmp_path / "m.data")
    used = done.summary["systems"]["ZVM1"]["users"]["BATCH"]["cpu_s"]
    with zlens.open([tmp_path / "m.data"]) as session:
        rows = session.sql(
            "SELECT tod, useate_vmdttime, useate_vmdvtime FROM d4r9 "
            "WHERE trim(useate_vmduser) = 'BATCH' ORDER BY tod"
        ).rows
    assert len(rows) > 20
    assert [row[1] for row in rows] == sorted(row[1] for row in rows)
    assert all(own <= total for _, total, own in rows)
    # Includes the five seconds of the warm-up.
    assert used * 0.9 < rows[-1][1] / 4096e6 < used * 1.1


def test_returning_processor_counts_from_zero(tmp_path: Path) -> None:
    zlens.simulate(example() | {"command": VARY}, tmp_path / "m.data")
    with zlens.open([tmp_path / "m.data"]) as session:
        rows = session.sql(
            "SELECT sytprp_pfxutime + sytprp_pfxtmsys + sytprp_pfxtotwt + sytprp_zlparktm FROM d0r2 "
            "WHERE sytprp_pfxcpuad = 5 ORDER BY tod"
        ).rows
        events = session.sql(
            "SELECT kind FROM event WHERE subject = 'CPU 5' AND NOT inferred ORDER BY time"
        ).rows
        online = session.sql("SELECT configured_cpus FROM role.own_partition ORDER BY interval_end").rows
    assert [kind for (kind,) in events] == ["vary off processor", "vary on processor"]
    # The second sample is missing; the third has the fifty seconds since the processor returned.
    assert len(rows) == 3
    assert rows[2][0] / 4096e6 == pytest.approx(50, abs=0.1)
    assert [count for (count,) in online] == [6, 5, 6]


def test_unknown_release_is_error() -> None:
    with pytest.raises(ScenarioError, match=r'records is "6\.2"; expected one of "5\.3"'):
        zlens.simulate(example(records="6.2"), "none")


def test_commands_are_recorded_as_events(tmp_path: Path) -> None:
    values = example(smt="SMT-2", polarization="vertical")
    values["command"] = [
        {"at": 70, "do": "set share", "partition": "ZVM1", "user": "BATCH", "relative": 50},
        {"at": 100, "do": "set multithread", "partition": "ZVM1", "type": "IFL", "threads": 1},
    ]
    zlens.simulate(values, tmp_path / "m.data")
    with zlens.open([tmp_path / "m.data"]) as session:
        assert session._core.all_problems() == []
        shares = session.sql("SELECT trim(sclshr_vmduser), sclshr_vmdrelsh FROM d2r9").rows
        threads = session.sql("SELECT prcsmt_zlmtstat, prcsmt_zlmtifl FROM d5r21").rows
        kinds = session.sql("SELECT kind FROM event WHERE NOT inferred ORDER BY time").rows
    assert shares == [("BATCH", 50)]
    assert threads == [(3, 1)]
    assert ("share changed",) in kinds


def test_cp_core_has_one_thread_among_others(tmp_path: Path) -> None:
    """With multithreading, addresses are two for each core; a CP core is measured, with one thread."""
    values = {
        "model": "system",
        "processors": {"CP": 2, "IFL": 2},
        "partition": [
            {"name": "ZVM1", "type": kind, "cores": 2, "weight": 5, "zvm": "7.4", "smt": "SMT-2"}
            for kind in ("CP", "IFL")
        ],
        "user": [
            {"name": "ONCP", "type": "CP", "absolute": 12.5, "quick_dispatch": True, "demand": 60},
            {"name": "ONIFL", "type": "IFL", "virtual_cpus": 4, "relative": 100, "demand": 100},
        ],
        "simulation": {"seconds": 120, "start": "2026-03-02T08:00:00Z"},
    }
    zlens.simulate(values, tmp_path / "m.data")
    with zlens.open([tmp_path / "m.data"]) as session:
        cpus = session.sql("SELECT DISTINCT cpu_id, core_id, thread_id FROM cpu ORDER BY ALL").rows
        cores = session.sql(
            "SELECT DISTINCT threads, thread_density, productivity_pct, max_capacity_factor_pct "
            "FROM core_type WHERE cpu_type = 'CP'"
        ).rows
        (mode,) = session.sql("SELECT mode FROM role.configuration").rows
        users = session.sql(
            "SELECT userid, relative_share, absolute_share, quick_dispatch FROM role.guest_configuration "
            "ORDER BY userid"
        ).rows
    assert cpus == [(0, 0, 0), (2, 1, 0), (4, 2, 0), (5, 2, 1), (6, 3, 0), (7, 3, 1)]
    assert cores == [(1, 1.0, 100.0, 100.0)]
    assert mode == ("z/VM",)
    assert users == [("ONCP", 0, 12.5, True), ("ONIFL", 100, 0, False)]
