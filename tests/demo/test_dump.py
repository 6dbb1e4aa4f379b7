"""Tests of the demo's SMF dump: consistent counters, agreement with other files, both record subtypes."""

from __future__ import annotations

from pathlib import Path

import pytest

import zlens
from zlens import demo
from zlens.api import Session
from zlens.catalog import cpumf
from zlens.demo import machine, smf
from zlens.demo.smf_rmf import QuarterHourWriter
from zlens.inputs.options import parse_zone


@pytest.fixture(scope="module")
def session(dump_session: Session) -> Session:
    return dump_session


def test_hour_of_three_processors(session: Session) -> None:
    answer = session.sql(
        "select cpu_id, count(*), min(seconds), max(seconds), count(flag) from smf113 "
        "group by all order by all"
    )
    assert answer.rows == [(cpu, 60, 60.0, 60.0, 0) for cpu in range(3)]
    (info,) = session.systems
    assert (info.system, info.machine, info.release, info.utc_offset_s, info.nominal_s, info.synthetic) == (
        machine.ZOS_SYSTEM, "2097-D3E01", "1.11", machine.ZONE_S, 60, True,
    )  # fmt: skip


def test_both_subtypes_agree(session: Session) -> None:
    counts = dict(session.sql("select name, count from inventory").rows)
    others = {"SMF 70.1": 4, "SMF 71.1": 4, "SMF 73.1": 4, "SMF 75.1": 16, "SMF 78.3": 4}
    others |= {"SMF 74.1": 4, "SMF 74.4": 4, "SMF 74.5": 8}
    others |= {"SMF 72.3": 24, "SMF 30.2": 40, "SMF 30.4": 8, "SMF 30.5": 8, "SMF 30.6": 8}
    others |= {"SMF 99.6": 4, "SMF 99.12": 60, "SMF 99.14": 5}
    assert counts == {
        "SMF 2": 1, "SMF 3": 1, "SMF 113.1": 180, "SMF 113.2": 3 * smf.BOTH_MINUTES, **others,
    }  # fmt: skip
    assert session.sql("select distinct subtype from smf113").rows == [(1,)]
    assert session._core.all_problems() == []


def test_demo_counters_are_consistent(session: Session) -> None:
    sizes = cpumf.sizes(smf.VERSION1, smf.VERSION2)
    assert {name: size for name, _, size in smf.SETS} == {k: v for k, v in sizes.items() if v is not None}
    broken = session.sql(
        "select count(*) from smf113 where c33_d > c1_d or c32_d > c0_d or c3_d + c5_d > c0_d "
        "or c128_d + c129_d + c130_d + c131_d + c132_d + c133_d + c134_d + c135_d != c2_d + c4_d "
        "or c0_d > seconds * 1e6 * cpsp"
    )
    assert broken.rows == [(0,)]
    ranges = session.sql(
        "select min(cpi), max(cpi), min(l1mp), max(l1mp), min(problem_state_pct), max(problem_state_pct), "
        "min(l15p + l2lp + l2rp + memp), max(abs(cpi - est_instr_cmplx_cpi - est_finite_cpi)) from cpumf"
    ).rows[0]
    assert 3 < ranges[0] < ranges[1] < 7
    assert 2.5 < ranges[2] < ranges[3] < 4.5
    assert 40 < ranges[4] < ranges[5] < 60
    assert ranges[6] == pytest.approx(100)
    assert ranges[7] == pytest.approx(0, abs=1e-9)


def test_tlb_entries_have_misses_in_progress(session: Session) -> None:
    """Each installed entry (counters 138 and 139 of the z10) has a miss in progress (145 and 146)."""
    rows = session.sql("select count(*), count_if(c145_d > c138_d and c146_d > c139_d) from smf113").rows
    assert rows == [(180, 180)]


def test_demo_cycles_equal_dispatch_time(demo_folder: Path) -> None:
    """The RMF report of the same system truncates times to the millisecond."""
    options = zlens.Options(tz=parse_zone(demo.ZONE), every_s=900)
    with zlens.open([demo_folder / demo.SMF_NAME, demo_folder / demo.RMF_NAME], options=options) as both:
        rows = both.sql(
            "select p.effective_s, c.used from partition as p join ("
            "select i.bucket_end as interval_end, sum(s.c0_d / s.cpsp / 1e6) as used from smf113 as s "
            "join _interval as i using (system, source, interval_end) group by all"
            f") as c using (interval_end) where p.partition = '{machine.ZOS_PARTITION}'"
        ).rows
    assert len(rows) == 4
    for dispatched, used in rows:
        assert dispatched == pytest.approx(used, abs=0.0011)


@pytest.mark.long
def test_counters_do_not_describe_partitions(
    demo_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A system without partition data, though first by name, does not hide another system's partitions."""
    monkeypatch.setattr(QuarterHourWriter, "add_minute", lambda *_: [])
    demo.write(tmp_path)
    first = tmp_path / demo.SMF_NAME
    data = first.read_bytes()
    first.write_bytes(data.replace(machine.ZOS_SYSTEM.encode("cp037"), "AAAA".encode("cp037")))
    query = "select count(*), min(observer) from partition"
    with zlens.open(demo_folder / demo.MONWRITE_NAME) as alone:
        expected = alone.sql(query).rows
    with zlens.open([demo_folder / demo.MONWRITE_NAME, first]) as both:
        assert both.sql(query).rows == expected
