"""Tests of simulated power: D0R25 of a z17, by the powers of its scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import zlens

POWER = {
    "core_idle": 20.0,
    "core_busy": 10.0,
    "storage": 0.25,
    "channel": 8.0,
    "unassigned": 700.0,
    "infrastructure": 4000.0,
    "reading": 10.0,
}
#: Ten IFLs: four of ZVM1, two of ZVM2, and four that no partition has.
MACHINE = 10 * 20 + 0.25 * 48 + 700 + 4000


def scenario(power: dict[str, Any] | None = POWER, **cp: Any) -> dict[str, Any]:
    def partition(name: str, cores: int, storage: int) -> dict[str, Any]:
        return {
            "name": name,
            "type": "IFL",
            "cores": cores,
            "dedicated": True,
            "zvm": "7.4",
            "storage": storage,
        }

    user = {"type": "IFL", "relative": 100, "virtual_cpus": 1, "storage": 1024}
    return {
        "model": "system",
        "processors": {"IFL": 10},
        "simulation": {"seconds": 300},
        "machine": {"type": "9175", **({} if power is None else {"power": power})},
        "cp": {"dispatch_user": 0, "dispatch_system": 0, **cp},
        "partition": [partition("ZVM1", 4, 32768), partition("ZVM2", 2, 16384)],
        "user": [
            {"name": "HALF", "partition": "ZVM1", "demand": 50, **user},
            {"name": "ALL", "partition": "ZVM2", **user},
        ],
    }


def rows(folder: Path, query: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    zlens.simulate(values, str(folder / "a.data"))
    with zlens.open([str(folder / "a-ZVM1.data")]) as session:
        assert not session.problems
        return [tuple(row) for row in session.sql(query).rows]


PARTITION = (
    "SELECT partition, processor_power_w, memory_power_w, io_power_w FROM partition_use ORDER BY interval_end"
)
ENVIRONMENT = (
    "SELECT power_w, partition_power_w, infrastructure_power_w, unassigned_power_w FROM environment "
    "ORDER BY interval_end"
)


def test_partition_power_is_idle_and_dynamic(tmp_path: Path) -> None:
    """Four cores at rest, and half of one that is dispatched; 32 GiB."""
    found = rows(tmp_path, PARTITION, scenario())
    assert len(found) == 5
    mean = sum(row[1] for row in found) / len(found)
    assert mean == pytest.approx(4 * 20 + 0.5 * 10, rel=2e-3)
    assert {(row[0], row[2], row[3]) for row in found} == {("ZVM1", 8.0, 0.0)}


def test_machine_power_includes_other_partitions(tmp_path: Path) -> None:
    """The partition of another system has one core that is always dispatched."""
    found = rows(tmp_path, ENVIRONMENT, scenario())
    assert sum(row[0] for row in found) / len(found) == pytest.approx(MACHINE + 15, rel=1e-4)
    for total, partitions, infrastructure, unassigned in found:
        assert (infrastructure, unassigned) == (4000.0, 700.0 + 4 * 20)
        assert total == pytest.approx(partitions + infrastructure + unassigned)


def test_shared_cores_have_idle_power_once(tmp_path: Path) -> None:
    """Two partitions with weights of 300 and 100 are entitled to three and one of four cores."""
    values = scenario()
    values["processors"] = {"IFL": 4}
    for partition, weight in zip(values["partition"], (300, 100), strict=True):
        partition.update(cores=4, dedicated=False, weight=weight)
    values["machine"]["power"] = {**POWER, "core_busy": 0.0}
    assert {row[1] for row in rows(tmp_path, PARTITION, values)} == {60.0}
    assert {row[3] for row in rows(tmp_path, ENVIRONMENT, values)} == {700.0}


def test_channel_paths_have_power(tmp_path: Path) -> None:
    values = scenario()
    values["control_unit"] = [{"name": "CU1", "partition": "ZVM1", "chpids": [0x50, 0x51]}]
    values["volume"] = [{"name": "VOL1", "control_unit": "CU1"}]
    assert {row[3] for row in rows(tmp_path, PARTITION, values)} == {16.0}


def test_machine_power_needs_performance_data(tmp_path: Path) -> None:
    """Without Global Performance Data, a partition sees only its own power."""
    values = scenario(global_performance_data=False)
    assert rows(tmp_path, ENVIRONMENT, values) == []
    assert len(rows(tmp_path, PARTITION, values)) == 5


def test_reading_may_be_rarer_than_intervals(tmp_path: Path) -> None:
    """Readings every two minutes: no watts in intervals without one."""
    query = "SELECT sytpow_powcount, sytpow_powcpu_d FROM d0r25 ORDER BY tod"
    values = scenario({**POWER, "reading": 120.0, "core_busy": 0.0})
    counts = rows(tmp_path, query, values)
    assert [count for count, _ in counts] == [0, 0, 1, 1, 2, 2]
    assert [power for _, power in counts] == [None, 0, 80_000, 0, 80_000, 0]
    assert [row[1] for row in rows(tmp_path, PARTITION, values)] == [None, 80.0, None, 80.0, None]


def test_power_is_recorded_on_request(tmp_path: Path) -> None:
    assert rows(tmp_path, PARTITION, scenario(None)) == []
