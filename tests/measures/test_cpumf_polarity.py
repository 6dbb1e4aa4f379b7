"""Tests of CPU MF with type, polarity and parked time from another record, joined by overlap of time."""

from __future__ import annotations

from typing import Any

import pytest

from fakes import HEADER, MINUTE_US, START_US, FakeSource, FakeTable, system
from smf113_rows import opened, row, values
from zlens.api import Session
from zlens.catalog.raw_columns import RawColumn
from zlens.explain.names import explain
from zlens.inputs.options import Options
from zlens.inputs.source import Interval

COLUMNS = (
    *HEADER,
    RawColumn("row_kind", "text"),
    RawColumn("cpu_number", "text"),
    RawColumn("cpu_type", "text"),
    RawColumn("priority", "text"),
    RawColumn("online_pct", "float"),
    RawColumn("parked_pct", "float"),
)
BASIC = {"B0": 6e9, "B1": 3e9, "B2": 1e7, "B3": 4e7, "B4": 2e7, "B5": 6e7, "P32": 1e9, "P33": 3e8}


def other_records(*rows: tuple[float, float, str, str, str | None, float | None]) -> FakeSource:
    """Return rows of RMF: end and length in minutes, processor, type, priority and parked share."""
    ends = sorted({(at, length) for at, length, *_ in rows})
    info = system("SYSA", known=[Interval(_us(at), length * 60) for at, length in ends])
    info.source = "rmf-xml"
    cpu_rows = [
        (
            "SYSA", "rmf-xml", "x", 0, _us(at), _us(at), length * 60, None,
            "processor", number, kind, priority, 100.0, parked,
        )
        for at, length, number, kind, priority, parked in rows
    ]  # fmt: skip
    return FakeSource([info], [FakeTable("rmf_cpu", COLUMNS, cpu_rows)])


def _us(minute: float) -> int:
    return START_US + round(minute * MINUTE_US)


def counted(*minutes: float, length: float = 10, cpu_id: int = 0, **facts: Any) -> list[tuple[Any, ...]]:
    return [
        row(BASIC, generation="z14", cpu_id=cpu_id, minute=at, seconds=length * 60, cpsp=5000, **facts)
        for at in minutes
    ]


def placed(session: Session) -> list[tuple[Any, ...]]:
    found = values(session, "polarity, parked_pct, cpu_type")
    return [tuple(each.values()) for each in found]


def test_polarity_joins_intervals_by_overlap() -> None:
    """RMF has quarters of an hour with 0 and 60% parked, the counters have ten minutes."""
    other = other_records((15, 15, "0", "CP", "LOW", 0.0), (30, 15, "0", "CP", "LOW", 60.0))
    session = opened(counted(10, 20, 30), others=[other])
    # Each quarter has half of the second ten minutes; a hundredth at both ends is ignored.
    assert placed(session) == [("Vl", 0.0, "CP"), ("Vl", pytest.approx(30), "CP"), ("Vl", 60.0, "CP")]


def test_several_records_in_counter_interval() -> None:
    rows = [(minute, 2, "0", "CP", "MED", 10.0 * minute) for minute in (2, 4, 6, 8, 10)]
    session = opened(counted(10), others=[other_records(*rows)])
    [(polarity, parked, _)] = placed(session)
    # 60 is the mean of 20 to 100; the first and last weigh 1.9 minutes of 2.
    shares = [(1.9, 20), (2, 40), (2, 60), (2, 80), (1.9, 100)]
    assert polarity == "Vm"
    assert parked == pytest.approx(sum(w * v for w, v in shares) / sum(w for w, _ in shares))


def test_changed_polarity_is_null() -> None:
    other = other_records((15, 15, "0", "CP", "HIGH", 0.0), (30, 15, "0", "CP", "MED", 0.0))
    assert [row[0] for row in placed(opened(counted(10, 20, 30), others=[other]))] == ["Vh", None, "Vm"]


def test_close_timestamps_are_one_interval_end() -> None:
    """RMF's interval ends two seconds after the counters; the polarity of the next one is ignored."""
    other = other_records((10.03, 10, "0", "CP", "HIGH", 0.0), (20.03, 10, "0", "CP", "LOW", 50.0))
    assert placed(opened(counted(10, 20), others=[other])) == [("Vh", 0.0, "CP"), ("Vl", 50.0, "CP")]
    other = other_records((9.97, 10, "0", "CP", "HIGH", 0.0), (19.97, 10, "0", "CP", "LOW", 50.0))
    found = placed(opened(counted(10, 20), others=[other]))
    assert found == [("Vh", pytest.approx(0), "CP"), ("Vl", 50.0, "CP")]


def test_polarity_needs_nine_tenths_overlap() -> None:
    inside, outside = (
        other_records((9.2, 9.2, "0", "CP", "LOW", 5.0)),
        other_records((8.5, 8.5, "0", "CP", "LOW", 5.0)),
    )
    assert placed(opened(counted(10), others=[inside])) == [("Vl", 5.0, "CP")]
    assert placed(opened(counted(10), others=[outside])) == [(None, None, "CP")]


def test_parked_share_is_null_if_part_is_null() -> None:
    other = other_records((5, 5, "0", "CP", "LOW", None), (10, 5, "0", "CP", "LOW", 40.0))
    assert placed(opened(counted(10), others=[other])) == [("Vl", None, "CP")]


def test_processor_type_is_from_other_record() -> None:
    """Before APAR OA30486 SMF 113 has class 0 for every processor (Burg, SHARE session 8882, 2011)."""
    other = other_records(
        (10, 10, "0", "CP", None, 0.0), (10, 10, "4", "IIP", None, 0.0), (10, 10, "5", "AAP", None, 0.0)
    )
    rows = (
        counted(10) + counted(10, cpu_id=4) + counted(10, cpu_id=5, cpu_type="ZCBP") + counted(10, cpu_id=6)
    )
    session = opened(rows, others=[other])
    assert [row[2] for row in placed(session)] == ["CP", "ZIIP", "ZCBP", "CP"]
    found = values(session, "cpu_type, processors", "cpumf_type")
    assert [tuple(each.values()) for each in found] == [("CP", 2), ("ZCBP", 1), ("ZIIP", 1)]


def test_sums_by_polarity() -> None:
    busy = {**BASIC, "B1": 1e9}
    other = other_records(*[
        (10, 10, f"{cpu}", "CP", priority, parked)
        for cpu, (priority, parked) in enumerate([("HIGH", 0.0), ("HIGH", 0.0), ("LOW", 90.0), ("LOW", 70.0)])
    ])  # fmt: skip
    rows = [
        row(busy if cpu == 1 else BASIC, generation="z14", cpu_id=cpu, minute=10, seconds=600.0, cpsp=5000)
        for cpu in range(5)
    ]
    session = opened(rows, others=[other])
    found = values(session, "polarity, processors, parked_pct, cpi, lpar_cpu_pct", "cpumf_polarity")
    assert [tuple(each.values()) for each in found] == [
        ("Vh", 2, 0.0, 3.0, pytest.approx(100 * 2 * 6e9 / 5e9 / 600)),
        ("Vl", 2, 80.0, 2.0, pytest.approx(100 * 2 * 6e9 / 5e9 / 600)),
        # The fifth processor has no polarity.
        (None, 1, None, 2.0, pytest.approx(100 * 6e9 / 5e9 / 600)),
    ]
    # The counts of the polarities add up to the counts of the type.
    [whole] = values(session, "cycles, instructions", "cpumf_type")
    [parts] = values(session, "sum(cycles) AS cycles, sum(instructions) AS instructions", "cpumf_polarity")
    assert whole == parts


def test_summed_over_longer_intervals() -> None:
    # The half hour starts 16 minutes after the first sample, at half past.
    other = other_records((31, 15, "0", "CP", "LOW", 0.0), (46, 15, "0", "CP", "LOW", 60.0))
    session = opened(counted(26, 36, 46), Options(every_s=1800), others=[other])
    [found] = values(session, "polarity, parked_pct, seconds, processors", "cpumf_polarity")
    assert tuple(found.values()) == ("Vl", pytest.approx(30), 1800, 1)


def details(session: Session) -> list[tuple[str, str]]:
    return [(problem.kind, problem.detail) for problem in session._core.all_problems()]


def test_unsynchronized_intervals_are_reported() -> None:
    other = other_records(*((7 + 15 * k, 15, "0", "CP", "HIGH", 0.0) for k in range(4)))
    [(kind, text)] = details(opened(counted(10, 20, 30, 40), others=[other]))
    assert kind == "time"
    # The third ten minutes are within one quarter of an hour.
    assert text.startswith("intervals of the counters do not end with those of rmf-xml (3 of 4 samples): ")
    assert text.endswith("SMFINTVAL=SYNC of HIS lets them end together")


@pytest.mark.parametrize("length", [5, 30])
def test_nested_intervals_are_not_reported(length: int) -> None:
    other = other_records(
        *((30 + 0.02 - k * length, length, "0", "CP", "HIGH", 0.0) for k in range(30 // length))
    )
    session = opened(counted(10, 20, 30), others=[other])
    assert [row[0] for row in placed(session)] == ["Vh"] * 3
    assert details(session) == []


def test_differing_processor_types_are_reported() -> None:
    other = other_records(
        (10, 10, "0", "CP", None, 0.0), (10, 10, "4", "IIP", None, 0.0), (10, 10, "A", "IIP", None, 0.0)
    )
    session = opened(counted(10) + counted(10, cpu_id=4) + counted(10, cpu_id=10), others=[other])
    assert details(session) == [
        (
            "section",
            "type of processor 4, 10: CP in the records of the counters, ZIIP in those of rmf-xml; "
            "shown as ZIIP",
        )
    ]


def test_cycles_above_capacity_are_reported() -> None:
    rows = [
        row(
            {**BASIC, "B0": busy * 5e9 * 600},
            generation="z14",
            cpu_id=cpu,
            minute=10,
            seconds=600.0,
            cpsp=5000,
        )
        for cpu, busy in enumerate((1.0, 1.005, 1.2))
    ]
    [(kind, text)] = details(opened(rows))
    assert kind == "section"
    assert text == (
        "more cycles than the processor's speed in the record allows, in 1 of 3 samples, first of "
        "processor 2, 2023-11-14 22:24:00 UTC: 3600000000000 against 3000000000000"
    )


def test_polarity_of_same_name_on_two_machines() -> None:
    rows = counted(10, 20, serial="00000000000A1B2C") + counted(30, serial="00000000000D3E4F")
    [(kind, text)] = details(opened(rows))
    assert kind == "changed"
    assert text.startswith(
        "records of this system name 2 machines: 00000000000A1B2C from 2023-11-14 22:24 UTC, "
        "00000000000D3E4F from 2023-11-14 22:44 UTC; "
    )
    assert details(opened(counted(10, 20, serial="00000000000A1B2C"))) == []


@pytest.mark.parametrize("column", ["cpumf.polarity", "cpumf_polarity.polarity", "cpumf.parked_pct"])
def test_explain_leads_to_fields(column: str) -> None:
    """The lineage leads through the measure that locates a processor."""
    text = explain(column)
    assert "D0R2: SYTPRP_ZL" in text
    assert "rmf_cpu: " in text
    assert "smf70_cpu: " in text
