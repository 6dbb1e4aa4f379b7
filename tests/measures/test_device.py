"""Tests of the measure device: uses of a device, and which of its fields are counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import zlens
from monwrite_builder import MINUTE_US, SIM_CONFIG, START_US, configuration, interval, sim_record, write


def write_samples(path: Path, areas: list[tuple[int, str]], samples: list[dict[int, dict[str, Any]]]) -> Path:
    """Write areas of CP on devices, and D6R3 of the devices for each sample."""
    devices = [
        sim_record(
            "D1R8", START_US - 1_400, {"MTRPAG_RDEVDEV": device, "MTRPAG_CALTYPE": kind, "MTRPAG_CALSTART": n}
        )
        for n, (device, kind) in enumerate(areas)
    ]
    groups = [configuration(START_US, SIM_CONFIG, more=devices)]
    for n, one in enumerate(samples):
        end = START_US + n * MINUTE_US
        records = [
            sim_record("D6R3", end - 100, {"IODDEV_RDEVDEV": device} | values)
            for device, values in one.items()
        ]
        groups.append(interval(end, records))
    return write(path, groups)


def test_device_use(tmp_path: Path) -> None:
    areas = [(1, "spol"), (1, "page"), (2, "spol")]
    links = {device: {"IODDEV_RDEVLCNT": 5 * (device in (1, 3))} for device in (1, 2, 3, 4)}
    with zlens.open([write_samples(tmp_path / "a", areas, [links] * 3)]) as session:
        rows = session.sql("SELECT device, use, count(*) FROM device GROUP BY ALL ORDER BY ALL").rows
    assert rows == [("0001", "paging", 2), ("0002", "spool", 2), ("0003", "minidisk", 2), ("0004", None, 2)]


def test_counters_of_sixteen_bits_are_not_looked_at(tmp_path: Path) -> None:
    """They wrap within a minute at 2,000 operations a second; the 32-bit counters do not."""
    samples = [
        {
            1: {
                "IODDEV_SCGSSCH": 120_000 * n,
                "IODDEV_SCMSSCH": 120_000 * n % 2**16,
                "IODDEV_SCGCOUNT": 120_000 * n,
            }
        }
        for n in range(4)
    ]
    with zlens.open([write_samples(tmp_path / "a", [], samples)]) as session:
        assert session.sql("SELECT rate, measured_rate FROM device").rows == [(2000.0, 2000.0)] * 3


def test_times_are_of_operations_measured(tmp_path: Path) -> None:
    """Of 600 operations 500 were measured, so their pending time is divided by 500."""
    samples = [
        {
            1: {
                "IODDEV_SCGSSCH": 600 * n,
                "IODDEV_SCGCOUNT": 500 * n,
                "IODDEV_SCMFPTIM": round(500 * n / 0.128),
            }
        }
        for n in range(2)
    ]
    with zlens.open([write_samples(tmp_path / "a", [], samples)]) as session:
        ((pend, rate, alone),) = session.sql("SELECT pend_s, rate, disc_s FROM device").rows
    assert (round(pend, 6), rate, alone) == (0.001, 10.0, 0.0)


def test_device_counter_wrap_and_reset(tmp_path: Path) -> None:
    near = 2**32 - 600
    samples = [{1: {"IODDEV_SCGSSCH": value}} for value in (near, 0, 600, 60, 120)]
    with zlens.open([write_samples(tmp_path / "a", [], samples)]) as session:
        rates = [rate for (rate,) in session.sql("SELECT rate FROM device ORDER BY interval_end").rows]
    assert rates[:2] == [10.0, 10.0]
    assert rates[2] is None, "a step back that is no wrap tells of nothing"
    assert rates[3] == 1.0
