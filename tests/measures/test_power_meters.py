"""Tests of power meters against each other, over the time that both measured, by planted amounts."""

from __future__ import annotations

from pathlib import Path

import pytest

import power_builder as power
from zlens.cli import main

PAIRS = (
    "SELECT machine, partition, source, second_source, sum(common_s), "
    "sum(first_w * common_s) / sum(common_s), sum(difference_w * common_s) / sum(common_s) "
    "FROM power_comparison GROUP BY ALL ORDER BY ALL"
)


def test_planted_difference_of_two_meters(tmp_path: Path) -> None:
    """SMF has 100 W more than D0R25, over the ten minutes that both measured."""
    inputs = [power.monitor(tmp_path), power.smf(tmp_path, power.MACHINE_W + 100)]
    assert power.rows(inputs, PAIRS) == [
        ("9175-12F17", None, "smf", "zvm-monitor", 600.0, power.MACHINE_W + 100, pytest.approx(100))
    ]


def test_meters_are_compared_over_common_time(tmp_path: Path) -> None:
    """The HMC is read after two, four and five minutes; a reading is of the time since the one before."""
    machine = power.MACHINE_W
    watts = {120: (machine, {"ZVM1": 1.0}), 240: (machine + 30, {"ZVM1": power.PARTITION_W + 15})}
    watts[300] = (machine, {"ZVM1": power.PARTITION_W})
    inputs = [power.monitor(tmp_path), power.scrapes(tmp_path, watts)]
    assert power.rows(inputs, PAIRS) == [
        ("9175-12F17", "ZVM1", "hmc", "zvm-monitor", 180.0, power.PARTITION_W + 10, pytest.approx(10)),
        ("9175-12F17", None, "hmc", "zvm-monitor", 180.0, machine + 20, pytest.approx(20)),
    ]


def test_reading_after_long_time_covers_none(tmp_path: Path) -> None:
    """Two minutes after readings of every half minute, it says nothing of the time since."""
    watts = {second: (1000.0, {}) for second in (0, 30, 60, 90, 210, 240)}
    query = "SELECT epoch(interval_end), seconds, energy_j FROM power_meter ORDER BY ALL"
    found = power.rows([power.scrapes(tmp_path, watts)], query)
    start = power.START.timestamp()
    assert found == [(start + second, 30.0, 30_000.0) for second in (30, 60, 90, 240)]


def test_hmc_with_strange_partitions_is_another_machine(tmp_path: Path) -> None:
    watts = {second: (1000.0, {"OTHER": 5.0}) for second in (60, 120)}
    inputs = [power.monitor(tmp_path), power.scrapes(tmp_path, watts)]
    assert power.rows(inputs, "SELECT DISTINCT machine FROM power_meter ORDER BY ALL") == [
        ("9175-12F17",),
        ("BOX",),
    ]
    assert power.rows(inputs, PAIRS) == []


def test_report_names_missing_meters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = [power.monitor(tmp_path), power.smf(tmp_path, power.MACHINE_W + 100)]
    assert main(["report", "meters", *map(str, inputs)]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "D0R25 ZVM1 4908.0 1 20 its partition and the machine, from z17 on" in lines
    assert "SMF 70-1 SYSA 5008.0 1 2 its partition and the machine, from z17 on" in lines
    (hmc,) = (line for line in lines if line.startswith("HMC"))
    assert hmc.startswith("HMC missing")
    assert hmc.endswith("scrapes of zhmc-prometheus-exporter")
    (zpwr,) = (line for line in lines if line.startswith("zpwr"))
    assert zpwr.endswith("stream of JSON of zpwr on Linux in a partition")
    assert "(machine) smf SYSA zvm-monitor ZVM1 600 5008.0 4908.0 100.0 2.04" in lines
