"""Tests of the measure workload from SMF 72-3 bytes: hexadecimal numbers, flags, levels, other records."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import zlens
from iterations import draws
from readers import smf113_builder
from zlens.catalog import smf_sections, smf_writer

#: 2015-01-21 21:56:00 UTC
END_US = 1_421_877_360_000_000
ZONE_S = -5 * 3600
CLASS = {
    "MNSP": "PATPLEX", "MWNM": "WASWKLD", "MCNM": "WASTRANS", "MCPU": 10_000, "MSRB": 10_000, "MADJ": 1600,
    "NFFS": 256, "NFFI": 256, "MCF": 1024, "MCFS": 1508,
}  # fmt: skip
PERIOD = {
    "CPER": 1, "CADF": 0b1110_0000, "CRTX": 1, "CRGF": 128, "CRTF": 128, "CVAL": 500, "CPCT": 90, "CIMP": 2,
    "RTDM": 500, "CCPU": 35_457_430.0, "CSUP": 19_956_400.0, "CRCP": 5_502_452, "CTOU": 75, "CTOT": 25,
    "CTET": 5_502_452 * 1300 / 1024, "CTETX": 5_502_452 * 1300.0,
}  # fmt: skip
BOUNDS = [50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150, 200, 400, 0xFFFF_FFFF]
COUNTS = [5_000_000, 0, 0, 0, 0, 400_000, 100_000, 0, 0, 0, 0, 0, 0, 2_452]


def record(
    of: dict[str, Any] | None = None,
    *periods: dict[str, Any],
    end_us: int = END_US,
    lengths: dict[str, int] | None = None,
) -> bytes:
    """Return a record of one class with the fields that differ from those above."""
    return smf_writer.encode_record(
        smf_sections.layout("72"),
        3,
        system="SYSA",
        local_us=end_us + ZONE_S * 1_000_000,
        sections={
            "product": [{"MVS": "ZV020100", **smf_writer.interval(end_us, 614.053, ZONE_S)}],
            "wms": [CLASS | (of or {})],
            "scs": [PERIOD | one for one in periods or ({},)],
            "rts": [{f"TRDB_{n}": value for n, value in enumerate(row, 1)} for row in (BOUNDS, COUNTS)],
        },
        lengths=lengths,
    )


def test_published_workload_interval(tmp_path: Path) -> None:
    """IBM, z/VM and simultaneous multithreading (2015, 2020): CPU 3545.743 s, IIP 1995.640 s in 10.14.053."""
    with zlens.open([smf113_builder.dump(tmp_path / "a", [record()])]) as session:
        (row,) = session.sql(
            "SELECT class, class_kind, period, workload, policy, importance, goal_kind, goal, goal_percent, "
            "seconds, round(cpu_s, 3), round(ziip_s, 3), round(appl_cp_pct, 2), round(appl_ziip_pct, 2), "
            "round(ended_rate, 2), round(response_s, 6), velocity_pct, performance_index FROM workload"
        ).rows
        assert row[:9] == ("WASTRANS", "service", 1, "WASWKLD", "PATPLEX", 2, "percentile", 0.5, 90.0)
        assert row[9:] == (614.053, 3545.743, 1995.640, 252.44, 220.69, 8960.87, 0.0013, 75.0, 0.5)
        (within,) = session.sql("SELECT ended FROM workload_response WHERE bucket = 6").rows
        assert within == (400_000,)
        text = session.report("workload")
    assert "16:56:00 WASTRANS S 1" in text, "times are local: the record tells the zone"
    assert "252.44    0.00    0.00    0.00  220.69" in text
    assert "0.500 s FOR 90%" in text


def test_flags_of_report_class(tmp_path: Path) -> None:
    of = {"MSCF": ["MRCL", "MOVE"], "MFLG": ["HISF"]}
    path = smf113_builder.dump(tmp_path / "a", [record(of, {"CRS1": 128})])
    with zlens.open([path]) as session:
        found = session.sql(
            "SELECT class_kind, heterogeneous, goal_kind, appl_ziip_pct, cp_s > 0 FROM workload"
        ).rows
        assert found == [("report", True, None, None, True)]
        assert session.sql("SELECT * FROM workload_response").rows == []


def test_periods_have_own_distribution(tmp_path: Path) -> None:
    """The first of three periods has no distribution: its goal is not a response time."""
    periods: list[dict[str, Any]] = [
        {"CPER": 1, "CRTX": 0, "CRGF": 32, "CVAL": 40},
        {"CPER": 2, "CRTX": 1},
        {"CPER": 3, "CRTX": 7},
    ]
    with zlens.open([smf113_builder.dump(tmp_path / "a", [record(None, *periods)])]) as session:
        found = session.sql("SELECT period, performance_index, within_goal_pct IS NULL FROM workload").rows
        buckets = session.sql("SELECT DISTINCT period FROM workload_response").rows
    assert found == [(1, pytest.approx(40 / 75), True), (2, 0.5, False), (3, None, True)]
    assert buckets == [(2,)]


@pytest.mark.parametrize("lengths", [{"wms": 240, "scs": 532}, {"wms": 256, "scs": 616}])
def test_sections_of_older_levels(tmp_path: Path, lengths: dict[str, int]) -> None:
    """Before zIIPs all time is of CPs; before multithreading there is no factor."""
    with zlens.open([smf113_builder.dump(tmp_path / "a", [record(lengths=lengths)])]) as session:
        ((cp, ziip, appl, factor, response),) = session.sql(
            "SELECT round(cp_s, 3), round(ziip_s, 3), appl_ziip_pct, max_capacity_ziip, response_s "
            "FROM workload"
        ).rows
    assert factor == 1.0
    assert response == pytest.approx(0.0013), (
        "in units of 1024 microseconds; the other field is of newer levels"
    )
    if lengths["scs"] == 532:
        assert (cp, ziip, appl) == (3545.743, None, None)
    else:
        assert (cp, ziip) == (pytest.approx(3545.743 - 1995.640), 1995.640)
        assert appl == pytest.approx(100 * 1995.640 / 614.053)


def test_workload_with_counters_of_other_intervals(tmp_path: Path) -> None:
    """Records of counters may end at other times than RMF's; both are shown."""
    second = (END_US - smf113_builder.START_US) / 1e6
    records = [
        record(),
        record(end_us=END_US + 614_053_000),
        *(smf113_builder.record(1, 0, second + 7 + 300 * n, (100, 200), zone_s=ZONE_S) for n in range(3)),
    ]
    with zlens.open([smf113_builder.dump(tmp_path / "a", records)]) as session:
        assert session.sql("SELECT count(*) FROM cpumf").rows == [(3,)]
        assert session.sql("SELECT count(*), sum(seconds) FROM workload").rows == [(2, 2 * 614.053)]


def test_same_class_in_two_intervals_summed(tmp_path: Path) -> None:
    records = [record(end_us=END_US + n * 614_053_000) for n in range(2)]
    options = zlens.Options(every_s=3600)
    with zlens.open([smf113_builder.dump(tmp_path / "a", records)], options=options) as session:
        rows = session.sql(
            "SELECT round(cpu_s, 3), round(appl_ziip_pct, 2), performance_index, velocity_pct FROM workload"
        ).rows
    assert len(rows) in (1, 2)
    assert {row[1:] for row in rows} == {(220.69, 0.5, 75.0)}
    assert sum(row[0] for row in rows) == pytest.approx(2 * 3545.743)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_smf72_gives_rows_or_problems(tmp_path: Path, seed: int) -> None:
    """Whatever a record contains, the reports are printed: known values, and dots for the rest."""
    chance = draws(seed)
    path = smf113_builder.dump(tmp_path / "a", [record(end_us=END_US + n * 614_053_000) for n in range(6)])
    data = bytearray(path.read_bytes())
    for _ in range((5, 50, 500, 1500)[seed]):
        # Descriptor words stay intact: framing is not damaged here.
        at = chance.randrange(len(data))
        if at % (len(data) // 6) >= 24:
            data[at] = chance.choice((0, 0x80, 0xFF, chance.randrange(256)))
    path.write_bytes(data)
    with zlens.open([path]) as session:
        for report in ("workload", "workstate"):
            assert session.report(report)
        rows = session.sql("SELECT * FROM workload").rows
    finite = [value for row in rows for value in row if isinstance(value, float)]
    assert all(math.isfinite(value) for value in finite)
