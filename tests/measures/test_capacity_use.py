"""Tests of the measure `capacity`: its parts add up, and what no record accounts for is a part of its own."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import pytest

import zlens


def test_capacity_steps_when_a_processor_is_varied(demo_files: list[Path]) -> None:
    """The demo varies CPU 3 off at 09:07:20 and on at 09:13:40, local time."""
    query = "SELECT interval_end, online_s / seconds FROM capacity ORDER BY interval_end"
    with zlens.open(demo_files[0]) as session:
        online = [(f"{end.astimezone(UTC):%H:%M}", count) for end, count in session.sql(query).rows]
    fewer = [f"08:{minute:02d}" for minute in range(8, 15)]
    assert [minute for minute, count in online if count == pytest.approx(3)] == fewer
    assert all(count == pytest.approx(4) for minute, count in online if minute not in fewer)


def test_samples_of_all_guests_leave_nothing_unattributed(sim_file: Path) -> None:
    """The simulator records a sample of every guest; BATCH1 logs off, which ends its record early."""
    query = (
        "SELECT unattributed_s / busy_s, cp_s + known_s + unattributed_s + idle_s - online_s FROM capacity"
    )
    with zlens.open(sim_file) as session:
        for unattributed, rest in session.sql(query).rows:
            assert unattributed == pytest.approx(0, abs=1e-9)
            assert rest == pytest.approx(0, abs=1e-6)


def test_work_without_samples_is_not_attributed(demo_files: list[Path]) -> None:
    """Records at transaction ends cover a quarter of busy: the rest is a part, not missing."""
    query = "SELECT sum(known_s), sum(cp_s), sum(busy_s), sum(unattributed_s) FROM capacity"
    with zlens.open(demo_files[0]) as session:
        [(known, own, busy, unattributed)] = session.sql(query).rows
        [(guests,)] = session.sql("SELECT sum(cpu_s) FROM guest").rows
        processors = "SELECT sum(system_pct / 100 * online_pct / 100 * seconds) FROM cpu"
        [(system,)] = session.sql(processors).rows
    assert known == pytest.approx(guests)
    assert own == pytest.approx(system, rel=1e-3)
    assert unattributed == pytest.approx(busy - own - known)
    assert unattributed > 0.5 * busy


def test_uncaptured_time_of_zos_is_not_attributed(demo_files: list[Path]) -> None:
    """All work is on CPs: known time is that of the service classes, without report classes."""
    with zlens.open(demo_files[2]) as session:
        parts = session.sql(
            "SELECT interval_end, busy_s, known_s, unattributed_s, cp_s FROM capacity ORDER BY interval_end"
        ).rows
        classes = dict(
            session.sql(
                "SELECT interval_end, sum(cp_s) FROM workload WHERE class_kind = 'service' GROUP BY ALL"
            ).rows
        )
    assert len(parts) == 4
    for end, busy, known, unattributed, own in parts:
        assert known == pytest.approx(classes[end])
        assert unattributed == pytest.approx(busy - classes[end])
        assert own is None
