"""CPU MF counters of SMF 113 beside SMF 70-1: core, type, polarity and parked time of threads."""

from __future__ import annotations

from typing import Any

import pytest

import fakes
from counter_rows import COLUMNS, row, values
from smf70_made import HIGH, LOW, MEDIUM, Core, Cpu, Logical, Lpar, Record, SmfFake, record, tables
from zlens.readers import Interval, SystemInfo
from zlens.session import Session

QUARTER_S = 900.0
BASIC = {"B0": 6e10, "B1": 3e10, "B2": 1e8, "B3": 4e8, "B4": 2e8, "B5": 6e8, "P32": 1e9, "P33": 3e8}


def interval(low: int = LOW, parked_s: float = 720.0, name: str = "ZOSA") -> Record:
    """Cores 0 and 1 are CPs with a thread each, core 2 is a zIIP with two; the second CP is mostly parked."""
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
    )


def opened(records: list[Record], counters: list[tuple[Any, ...]]) -> Session:
    ends = [
        Interval(fakes.START_US + round((k + 1) * QUARTER_S * 1e6), QUARTER_S, None, 1)
        for k in range(len(records))
    ]
    info = SystemInfo("SYSA", "smf", machine_type="3906", serial="12F17")
    known = {one.end_us for one in ends}
    stamps = {each[5]: each[6] for each in counters}
    info.intervals = sorted(
        [*ends, *(Interval(at, s, None, 1) for at, s in stamps.items() if at not in known)],
        key=lambda one: one.end_us,
    )
    made = [fakes.FakeTable("smf113", COLUMNS, counters), *tables("SYSA", records, ends)]
    return fakes.session([SmfFake([info], made)])


def counted(*minutes: int, seconds: float = QUARTER_S, core: bool = False) -> list[tuple[Any, ...]]:
    """What every thread counted; `core`: as subtype 1 tells it, which names the core."""
    return [
        row(
            BASIC,
            generation="z14",
            minute=at,
            seconds=seconds,
            cpu_id=cpu,
            cpsp=5000,
            **({"core_id": cpu // 2} if core else {}),
        )
        for at in minutes
        for cpu in (0, 2, 4, 5)
    ]


@pytest.mark.parametrize("core", [False, True])
def test_threads_take_core_type_polarity_and_parked_time(core: bool) -> None:
    with opened([interval()], counted(15, core=core)) as session:
        found = values(session, "cpu_id, core_id, cpu_type, polarity, parked_pct")
        assert [tuple(each.values()) for each in found] == [
            (0, 0, "CP", "Vh", 0.0),
            (2, 1, "CP", "Vl", 80.0),
            (4, 2, "ZIIP", "Vm", 0.0),
            (5, 2, "ZIIP", "Vm", 0.0),
        ]


def test_by_polarity() -> None:
    with opened([interval()], counted(15)) as session:
        found = values(session, "cpu_type, polarity, processors, parked_pct, cpi", "cpumf_polarity")
        assert [tuple(each.values()) for each in found] == [
            ("CP", "Vh", 1, 0.0, 2.0),
            ("CP", "Vl", 1, 80.0, 2.0),
            ("ZIIP", "Vm", 2, 0.0, 2.0),
        ]
        printed = session.report("cpumfpol")
        assert "CP   Vl     1  80.0" in printed
        assert "ZIIP Vm     2" in printed


def test_counters_of_ten_minutes_beside_quarters_of_an_hour() -> None:
    """SMFINTVAL=10 where RMF keeps to the quarter: the second ten minutes lie in two of them."""
    records = [interval(parked_s=0.0), interval(parked_s=450.0)]
    with opened(records, counted(10, 20, 30, seconds=600.0)) as session:
        found = values(session, "polarity, parked_pct", "cpumf WHERE cpu_id = 2")
        assert [tuple(each.values()) for each in found] == [
            ("Vl", 0.0),
            ("Vl", pytest.approx(25)),
            ("Vl", 50.0),
        ]
        kinds = {problem.kind for problem in session.all_problems()}
        assert kinds == {"section", "time"}
    with opened([interval(), interval(HIGH)], counted(10, 20, 30, seconds=600.0)) as session:
        found = values(session, "polarity", "cpumf WHERE cpu_id = 2")
        assert [each["polarity"] for each in found] == ["Vl", None, "Vh"]


def test_a_system_that_moved_to_another_partition() -> None:
    with opened([interval(), interval(), interval(name="ZOSB")], []) as session:
        details = [problem.detail for problem in session.all_problems() if problem.kind == "changed"]
        assert details == [
            "records of this system tell of 2 partitions: ZOSA from 2023-11-14 22:29 UTC, ZOSB from "
            "2023-11-14 22:59 UTC; it moved, or several systems have this name: --from and --to take them "
            "apart"
        ]
    with opened([interval(), interval()], counted(15, 30, core=True)) as session:
        assert [problem.kind for problem in session.all_problems()] == ["section"]
