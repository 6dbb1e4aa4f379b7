"""Tests of the demo's first machine: records of its z/VM system, and z/OS records derived from them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import zlens
from zlens import demo
from zlens.api import Session
from zlens.demo import machine
from zlens.demo.machine import MINUTE, SECOND, MachineMinute

#: Seconds after the start at which the scenario varies its processor off and on again.
OFF_S, ON_S, VARIED = 2240, 2620, 3


@pytest.fixture(scope="module")
def session(demo_folder: Path) -> Iterator[Session]:
    with zlens.open(demo_folder / demo.MONWRITE_NAME) as opened:
        yield opened


@pytest.fixture(scope="module")
def minutes(session: Session) -> list[MachineMinute]:
    return list(machine.minutes(session._core))


def test_hour_of_minutes(minutes: list[MachineMinute]) -> None:
    assert [minute.number for minute in minutes] == [*range(61)]
    assert [minute.end_us for minute in minutes] == [machine.START_US + n * MINUTE for n in range(61)]
    for minute in minutes:
        assert [(use.name, use.kind, len(use.total_us)) for use in minute.uses] == [
            ("ZLDEMO", "IFL", 4), ("ZLTEST", "IFL", 2), ("ZLZOS", "CP", 3),
        ]  # fmt: skip
        assert [kind for kind, _ in minute.physical] == ["IFL"] * 4 + ["CP"] * 3


def test_varied_processor_is_offline_in_between(minutes: list[MachineMinute]) -> None:
    for before, after in pairwise(minutes):
        begin = before.number * 60
        gone = max(0, min(begin + 60, ON_S) - max(begin, OFF_S))
        for use, previous in zip(after.uses, before.uses, strict=True):
            online = [b - a for a, b in zip(previous.online_us, use.online_us, strict=True)]
            if use.name == machine.SYSTEM:
                assert online.pop(VARIED) == pytest.approx(MINUTE - gone * SECOND, abs=2)
            assert online == [MINUTE] * len(online)


def test_partitions_fit_into_machine(minutes: list[MachineMinute]) -> None:
    for before, after in pairwise(minutes):
        for kind, count in machine.PHYSICAL.items():
            taken = after.management_us(kind) - before.management_us(kind)
            for use, then in zip(after.uses, before.uses, strict=True):
                steps = [b - a for a, b in zip(then.total_us, use.total_us, strict=True)]
                own = [b - a for a, b in zip(then.effective_us, use.effective_us, strict=True)]
                assert all(0 <= part <= whole <= MINUTE for part, whole in zip(own, steps, strict=True))
                taken += sum(steps) if use.kind == kind else 0
            assert 0 < taken <= count * MINUTE


def test_losing_processor_under_load_saturates_rest(session: Session) -> None:
    """Load rises toward nine, a guest logs on, a processor is varied off, and the other three saturate."""
    rows = session.sql("SELECT busy_pct, online FROM load ORDER BY interval_end").rows
    busy = [row[0] for row in rows]
    off, on = OFF_S // 60, ON_S // 60
    assert max(busy[:28]) < 60
    assert all(value > 95 for value in busy[off + 1 : on])
    assert busy.index(max(busy)) in range(off + 1, on)
    assert max(busy[on + 1 :]) < 90
    assert [row[1] for row in rows] == [4] * off + [3] * (on - off + 1) + [4] * (59 - on)


def test_seeds(session: Session, tmp_path: Path) -> None:
    scenario = tomllib.loads(machine.SCENARIO.read_text("utf-8"))
    zlens.simulate(scenario, tmp_path / "other", seed=531)
    with zlens.open(tmp_path / "other") as opened:
        [[first]], [[other]] = (one.sql("SELECT sum(busy_pct) FROM load").rows for one in (session, opened))
    assert first != other
    assert first == pytest.approx(other, rel=0.01)
