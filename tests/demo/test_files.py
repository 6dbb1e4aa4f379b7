"""Tests of the demo files: reproducible, read without a problem, consistent with the simulated machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import zlens
from zlens import demo
from zlens.api import Session
from zlens.demo import machine
from zlens.inputs.options import parse_zone


@pytest.fixture(scope="module")
def session(demo_files: list[Path]) -> Iterator[Session]:
    options = zlens.Options(tz=parse_zone(demo.ZONE))
    with zlens.open(demo_files, options=options) as opened:
        yield opened


def one(session: Session, query: str) -> tuple[object, ...]:
    (row,) = session.sql(query).rows
    return row


@pytest.mark.long
def test_demo_files_are_reproducible(demo_files: list[Path], tmp_path: Path) -> None:
    for first, second in zip(demo_files, demo.write(tmp_path), strict=True):
        assert first.read_bytes() == second.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(p.name for p in demo_files)


def test_demo_files_are_marked_synthetic(demo_files: list[Path], session: Session) -> None:
    assert "no machine has run this" in demo_files[1].read_text(encoding="utf-8")
    assert one(session, "select bool_and(synthetic) from system") == (True,)


def test_demo_files_have_no_problems(session: Session) -> None:
    assert session._core.all_problems() == []


def test_one_machine_two_observers(session: Session) -> None:
    rows = session.sql("select system, source, machine from system order by system, source").rows
    assert rows == [
        (machine.SYSTEM, "zvm-monitor", "2097-D3E01"),
        ("ZLSIM", "zvm-monitor", "8561-D3E01"),
        (machine.ZOS_SYSTEM, "rmf-xml", "2097-D3E01"),
        (machine.ZOS_SYSTEM, "smf", "2097-D3E01"),
    ]


def test_demo_varied_processor_has_resets(session: Session) -> None:
    kinds = session.sql(
        f"select kind from event where system = '{machine.SYSTEM}' and subject = 'CPU 3' and inferred"
    ).rows
    assert len(kinds) >= 2
    minutes = session.sql(
        "select count(*) from cpu where cpu_id = 3 and system = 'ZLDEMO' and busy_pct is not null"
    ).rows
    assert minutes[0][0] < 56


def test_demo_busy_equals_own_partition(session: Session) -> None:
    """D0R2 and D0R16 are independent fields of the file that must agree."""
    rows = session.sql(
        "select c.interval_end, sum(c.user_pct + c.system_pct) * 0.6 as busy_s, any_value(p.effective_s) "
        "from cpu c join partition p using (interval_end) "
        f"where c.system = '{machine.SYSTEM}' and p.partition = '{machine.SYSTEM}' "
        "group by all having count(*) = 4 and bool_and(c.user_pct is not null)"
    ).rows
    assert len(rows) > 40
    for _, busy, dispatched in rows:
        assert busy == pytest.approx(dispatched, abs=0.01)
