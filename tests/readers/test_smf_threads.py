"""Tests of SMF 113 and 70-1 under PROCVIEW CORE: core, type, polarity and parked time of threads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from smf113_builder import SECOND, START_US, dump
from smf113_builder import record as counted

import zlens
from smf70_builder import HIGH, LOW, MEDIUM, Core, Cpu, Logical, Lpar, Record, encoded, record

QUARTER_S = 900.0
Z14 = {
    "MACHTYPE": "3906",
    "MACHSEQCODE": "0000000000012F17",
    "CTRVERSION1": 3,
    "CTRVERSION2": 5,
    "speed": 5200,
}


def interval(low: int = LOW, parked_s: float = 720.0, name: str = "ZOSA") -> Record:
    """Return CP cores 0 and 1 with a thread each, zIIP core 2 with two; the second CP is mostly parked."""
    logical = [
        Logical("CP", 0, 800, 790, polarity=HIGH, own_weight=50),
        Logical("CP", 1, 100, 99, polarity=low, own_weight=0),
        Logical("IIP", 2, 500, 495, polarity=MEDIUM, own_weight=25),
    ]
    cpus = [Cpu(0, 0, 90.0), Cpu(2, 0, 60.0, parked_s), Cpu(4, 2, 300.0), Cpu(5, 2, 350.0)]
    cores = [Core(0, 1, 1.0, 800), Core(1, 1, 1.0, 100), Core(2, 2, 0.9, 500)]
    return record(
        QUARTER_S,
        [Lpar(name, 1, logical, vertical=True, fields={"MTID": 1})],
        cpus,
        own=1,
        physical={"CP": 4, "IIP": 2},
        cores=cores,
        control={"MOD": "3906"},
    )


def rmf(*records: Record) -> list[bytes]:
    return [
        piece
        for k, content in enumerate(records, 1)
        for piece in encoded("SYSA", content, START_US + round(k * QUARTER_S * SECOND), QUARTER_S)
    ]


def counters(*ends: float, length: float = QUARTER_S, core: bool = False, **fields: Any) -> list[bytes]:
    """Return counter records of every thread; with `core` they name it, as since multithreading."""
    return [
        counted(
            1,
            cpu,
            end,
            (6_000_000_000, 3_000_000_000),
            start=end - length,
            short_data=None if core else 76,
            **{**Z14, **({"COREID": cpu // 2} if core else {}), **fields},
        )
        for end in ends
        for cpu in (0, 2, 4, 5)
    ]


@pytest.mark.parametrize("core", [False, True])
def test_threads_inherit_core_type_and_polarity(core: bool, tmp_path: Path) -> None:
    with zlens.open([dump(tmp_path / "a.smf", counters(900, core=core) + rmf(interval()))]) as session:
        found = session.sql(
            "SELECT cpu_id, core_id, cpu_type, polarity, parked_pct, generation FROM cpumf ORDER BY cpu_id"
        )
        assert found.rows == [
            (0, 0, "CP", "Vh", 0.0, "z14"),
            (2, 1, "CP", "Vl", 80.0, "z14"),
            (4, 2, "ZIIP", "Vm", 0.0, "z14"),
            (5, 2, "ZIIP", "Vm", 0.0, "z14"),
        ]


def test_partition_has_threads_of_each_type(tmp_path: Path) -> None:
    """SMF70MTID is of the partition; only its zIIPs have processors with a second thread."""
    with zlens.open([dump(tmp_path / "a.smf", rmf(interval()))]) as session:
        found = session.sql("SELECT cpu_type, threads FROM partition ORDER BY 1").rows
    assert found == [("CP", None), ("ZIIP", 2)]


def test_thread_counters_by_polarity(tmp_path: Path) -> None:
    with zlens.open([dump(tmp_path / "a.smf", counters(900) + rmf(interval()))]) as session:
        found = session.sql(
            "SELECT cpu_type, polarity, processors, parked_pct, cpi FROM cpumf_polarity ORDER BY 1, 2"
        )
        assert found.rows == [
            ("CP", "Vh", 1, 0.0, 2.0),
            ("CP", "Vl", 1, 80.0, 2.0),
            ("ZIIP", "Vm", 2, 0.0, 2.0),
        ]
        printed = session.report("cpumfpol")
        assert "CP   Vl     1  80.0" in printed
        assert "ZIIP Vm     2" in printed
        details = [problem.detail for problem in session._core.all_problems()]
        assert details == [
            "type of processor 4, 5: CP in the records of the counters, ZIIP in those of smf; shown as ZIIP"
        ]


def test_ten_minute_counters_with_quarter_hours(tmp_path: Path) -> None:
    """SMFINTVAL=10 and RMF quarter hours: the second ten minutes overlap two quarters."""
    question = "SELECT polarity, parked_pct FROM cpumf WHERE cpu_id = 2 ORDER BY interval_end"
    ten = counters(600, 1200, 1800, length=600)
    path = dump(tmp_path / "a.smf", ten + rmf(interval(parked_s=0.0), interval(parked_s=450.0)))
    with zlens.open([path]) as session:
        assert session.sql(question).rows == [("Vl", 0.0), ("Vl", pytest.approx(25)), ("Vl", 50.0)]
        assert {problem.kind for problem in session._core.all_problems()} == {"section", "time"}
        printed = session.report("cpumfpol")
        assert "* Counter intervals and polarity records do not end at the same times" in printed
        assert "withheld" not in printed
        assert "withheld" not in session.report("cpumf")
    with zlens.open([dump(tmp_path / "b.smf", ten + rmf(interval(), interval(HIGH)))]) as session:
        assert [row[0] for row in session.sql(question).rows] == ["Vl", None, "Vh"]


def test_moved_smf_system(tmp_path: Path) -> None:
    """The name occurs in another partition, and on another machine."""
    path = dump(tmp_path / "a.smf", rmf(interval(), interval(), interval(name="ZOSB")))
    with zlens.open([path]) as session:
        details = [problem.detail for problem in session._core.all_problems()]
        assert details == [
            "records of this system name 2 partitions: ZOSA from 2011-01-09 22:35 UTC, ZOSB from "
            "2011-01-09 23:05 UTC; it moved, or several systems have this name: --from and --to take them "
            "apart"
        ]
    moved = counters(900, core=True) + counters(1800, core=True, MACHSEQCODE="000000000009F8E7")
    with zlens.open([dump(tmp_path / "b.smf", moved)]) as session:
        [detail] = [problem.detail for problem in session._core.all_problems()]
        assert detail.startswith("records of this system name 2 machines: 0000000000012F17 from ")


def test_lost_counters(tmp_path: Path) -> None:
    records = counters(900, core=True) + counters(1800, core=True, LOSTCTRDATA=True)[:2]
    with zlens.open([dump(tmp_path / "a.smf", records)]) as session:
        details = [(problem.kind, problem.detail) for problem in session._core.all_problems()]
        assert details == [
            (
                "gap",
                "counters were lost, as their records say, in 2 of 6 samples, first of processor 0, "
                "2011-01-09 22:50:00 UTC: their values may be too low",
            )
        ]
