"""Tests of the measure job from the bytes of SMF 30: times, instructions, invalid values."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

import zlens
from readers import smf113_builder
from smf30_builder import (
    COUNTS,
    INTERVAL,
    IO,
    JOB,
    LAST,
    MILLION,
    STEP,
    STORAGE,
    SYSTEM,
    TIMES,
    record,
)
from zlens.errors import QueryError
from zlens.inputs.options import parse_time_spec


def job_rows(path: Path, select: str, records: list[bytes], **options: Any) -> list[tuple[Any, ...]]:
    with zlens.open([smf113_builder.dump(path / "a", records)], options=zlens.Options(**options)) as session:
        return session.sql(f"SELECT {select} FROM job ORDER BY interval_end, kind").rows


def test_times_and_instructions(tmp_path: Path) -> None:
    found = job_rows(
        tmp_path,
        "round(cp_s, 2), tcb_s, srb_s, preemptable_s, enclave_s, initiator_s, io_interrupt_s, "
        "ziip_s, ziip_cp_s, ziip_on_cp_s",
        [record(INTERVAL)],
    )
    assert found == [(11.4, 10.0, 1.0, 1.5, 2.5, 0.15, 0.2, 4.0, 8.0, 0.8)]
    found = job_rows(
        tmp_path,
        "task_instructions, srb_instructions, enclave_instructions, ziip_instructions, "
        "ziip_on_cp_instructions, cp_instructions, round(cp_mips, 3), ziip_mips, counts",
        [record(INTERVAL)],
    )
    millions = (6000, 1000, 990, 2600, 500, 8490)
    assert found == [(*(n * MILLION for n in millions), round(8490 / 11, 3), 650.0, None)]


def test_account_number_of_ibms_example(tmp_path: Path) -> None:
    """IBM, z/OS Using the Subsystem Interface, SSS2ACCT: the fields of (X3600,42,,ANDY) as in type 30."""
    fields = [{"ACT": text} for text in ("X3600", "42", "", "ANDY")]
    written = record(JOB, more={"accounting": fields})
    coded = bytes((5, *"X3600".encode("cp037"), 2, *"42".encode("cp037"), 0, 4, *"ANDY".encode("cp037")))
    assert coded in written
    unnamed = record(JOB, 60, more={"accounting": [{"ACT": ""}, {"ACT": "D1"}]})
    path = smf113_builder.dump(tmp_path / "a", [written, unnamed, record(JOB, 120)])
    with zlens.open([path]) as session:
        accounts = session.sql("SELECT account, round(cp_s, 2) FROM job ORDER BY interval_end").rows
        texts = session.sql("SELECT section_no, smf30acl, smf30act FROM smf30_accounting ORDER BY ALL").rows
        assert session.sql("SELECT kind FROM problem WHERE kind <> 'time'").rows == []
    assert accounts == [("X3600", 11.4), (None, 11.4), (None, 11.4)]
    assert texts == [(0, 0, ""), (0, 5, "X3600"), (1, 2, "42"), (1, 2, "D1"), (2, 0, ""), (3, 4, "ANDY")]


@pytest.mark.parametrize(
    ("place", "value", "detail", "left"),
    [
        (70, 9, "9 accounting sections from offset 760 on do not lie in the record of 1081 bytes; 3 do", 3),
        (64, 4_000_000, "2 accounting sections from offset 4000000 on do not lie in the record", 0),
        (68, 0, "", 0),
    ],
)
def test_accounting_fields_beyond_their_record(
    place: int, value: int, detail: str, left: int, tmp_path: Path
) -> None:
    """Fields are read as far as they lie in the record; the length in the triplet is not that of one."""
    written = bytearray(record(JOB, more={"accounting": [{"ACT": "X3600"}, {"ACT": "42"}]}))
    # What follows them looks like the longest field there is.
    start = int.from_bytes(written[64:68]) + 9
    written[start:] = b"\xff" * (len(written) - start) if place == 70 else written[start:]
    size = 4 if place == 64 else 2
    written[place : place + size] = value.to_bytes(size)
    path = smf113_builder.dump(tmp_path / "a", [bytes(written)])
    with zlens.open([path]) as session:
        count = session.sql("SELECT count(*) FROM smf30_accounting").rows
        details = [text for (text,) in session.sql("SELECT detail FROM problem WHERE kind = 'section'").rows]
    assert count == [(left,)]
    assert [detail in text for text in details] == ([True] if detail else [])


def test_smf30_record_kinds_are_separate_rows(tmp_path: Path) -> None:
    """The start of a job and a continuation record with data sets have no resource use."""
    start = record(1, cas=None, counts=None)
    more = record(STEP, 30, cas=None, counts=None)
    records = [
        start,
        record(INTERVAL),
        record(LAST, 30),
        record(STEP, 30),
        more,
        record(JOB, 31),
        record(SYSTEM, 60),
    ]
    found = job_rows(
        tmp_path, "kind, seconds, job, job_id, step, program, service_class, work_type, job_class", records
    )
    names = ("PAYROLL", "JOB00042", "STEP1", "IEFBR14", "BATCHHI", "JES2", "A")
    assert [row[:2] for row in found] == [
        ("interval", 60.0),
        ("last interval", 60.0),
        # The record has the time of its writing, not the end time of the step.
        ("step", 61.0),
        ("job", None),
        ("system interval", 60.0),
    ]
    assert {row[2:] for row in found} == {names}


def test_interval_records_determine_zone(tmp_path: Path) -> None:
    """Ends of steps have only local times."""
    (interval, step) = job_rows(tmp_path, "interval_end, begun", [record(INTERVAL), record(STEP, 30)])
    utc = dt.datetime(2023, 11, 14, 22, 14, tzinfo=dt.UTC)
    assert interval == (utc, utc - dt.timedelta(minutes=1))
    assert step == (utc + dt.timedelta(seconds=31), utc - dt.timedelta(seconds=30))
    assert job_rows(tmp_path, "interval_end, round(cp_s, 2)", [record(STEP, 30)]) == [(None, 11.4)], (
        "nothing tells the zone"
    )
    given = job_rows(tmp_path, "interval_end", [record(STEP, 30)], tz=dt.timezone(dt.timedelta(hours=1)))
    assert given == [(utc + dt.timedelta(seconds=31),)]


def test_repeated_smf30_records_count_once(tmp_path: Path) -> None:
    records = [record(INTERVAL), record(STEP, 30), record(JOB, 31)]
    assert len(job_rows(tmp_path, "kind", records * 2)) == 3
    other = record(INTERVAL, cas=TIMES | {"CPT": 1001})
    assert len(job_rows(tmp_path, "kind", [*records, other])) == 4


def test_invalid_smf30_fields_are_null(tmp_path: Path) -> None:
    select = "tcb_s, srb_s, cp_s, ziip_s, ziip_on_cp_s"
    flags = {"TFL": ["CPT"], "T32": ["ON_ZIIP"]}
    assert job_rows(tmp_path, select, [record(INTERVAL, cas=TIMES | flags)]) == [(None, 1.0, None, None, 0.8)]
    for flag in ("ENC", "DET"):
        assert job_rows(tmp_path, "tcb_s, enclave_s", [record(INTERVAL, cas=TIMES | {"TFL": [flag]})]) == [
            (10.0, None)
        ]
    select = "counts, task_instructions IS NULL, enclave_instructions IS NULL, ziip_instructions IS NULL"
    for flag, found in (
        ("DISRUPTED", ("disrupted", True, True, True)),
        ("LIMITED", ("enclaves incomplete", False, True, True)),
    ):
        assert job_rows(tmp_path, select, [record(INTERVAL, counts=COUNTS | {"INSTFLGS1": [flag]})]) == [
            found
        ]


def test_levels_without_ziips_and_counts(tmp_path: Path) -> None:
    records = [record(INTERVAL, counts=None, lengths={"cas": 116})]
    assert job_rows(
        tmp_path, "round(cp_s, 2), ziip_s, ziip_on_cp_s, task_instructions, cp_mips", records
    ) == [(11.4, None, None, None, None)]


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        ({}, ["interval", "step", "interval"]),
        ({"start": parse_time_spec("23:14:10")}, ["step", "interval"]),
        ({"end": parse_time_spec("23:14:10")}, ["interval"]),
        ({"every_s": 3600}, ["interval", "step", "interval"]),
    ],
)
def test_jobs_of_selected_times(tmp_path: Path, options: dict[str, Any], kinds: list[str]) -> None:
    """Times of day are local. Jobs are not sums of an interval: --every does not change them."""
    records = [record(INTERVAL), record(STEP, 30), record(INTERVAL, 60)]
    assert [row[0] for row in job_rows(tmp_path, "kind", records, **options)] == kinds
    with pytest.raises(QueryError, match="no interval lies in the selected times"):
        job_rows(tmp_path, "kind", records, start=parse_time_spec("23:50"))


IO_COLUMNS = "io_blocks, device_connect_s, dasd_starts, dasd_connect_s, dasd_disconnect_s, dasd_pending_s"
PAGE_COLUMNS = "page_ins, page_outs, vio_page_ins, vio_page_outs, hiperspace_page_ins, hiperspace_page_outs, "


def test_io_and_paging_of_address_spaces(tmp_path: Path) -> None:
    """Times are in units of 128 microseconds; z/OS Data Gatherer's mapping of SMF 30 has the units."""
    records = [record(INTERVAL, more={"io_activity": [IO], "storage": [STORAGE]})]
    (found,) = job_rows(tmp_path, IO_COLUMNS, records)
    assert found == pytest.approx((5_000_000_000, 32.0, 300, 0.512, 0.192, 0.064))
    columns = PAGE_COLUMNS + "common_page_ins, lpa_page_ins, block_pages_in, block_pages_out"
    assert job_rows(tmp_path, columns, records) == [(12, 34, 1, 2, 3, 4, 5, 6, 70, 80)]
    assert job_rows(tmp_path, "frames_64_most, slots_64_most, memlimit_bytes", records) == [
        (25_600, 90, 2**31)
    ]


def test_flagged_io_and_paging_are_null(tmp_path: Path) -> None:
    def found(columns: str, **sections: dict[str, Any]) -> tuple[Any, ...]:
        more = {name: [values] for name, values in sections.items()}
        return job_rows(tmp_path, columns, [record(STEP, more=more)], tz=dt.UTC)[0]

    columns = "io_blocks, device_connect_s, dasd_starts, dasd_connect_s"
    assert found(columns, io_activity=IO | {"DCF": ["MFL"]}) == (5_000_000_000, None, 300, 0.512)
    assert found(columns, io_activity=IO | {"DCF": ["IIN"]}) == (5_000_000_000, 32.0, None, None)
    doubtful = found(columns, io_activity=IO, completion={"STI": ["EXF"]})
    assert doubtful == (None, 32.0, 300, 0.512)
    assert found("page_ins, block_pages_out", storage=STORAGE | {"SFL": ["SIN"]}) == (None, None)
    assert found("io_blocks, page_ins, dasd_starts") == (None, None, None), "sections are missing"


def test_block_counts_of_four_bytes(tmp_path: Path) -> None:
    """A section of 64 bytes ends before SMF30TEX; SMF30TEP is not valid if it overflowed."""
    for flags, blocks in ((0, 4000), (["TEF"], None)):
        more = {"io_activity": [IO | {"DCF": flags}]}
        records = [record(INTERVAL, more=more, lengths={"io_activity": 64})]
        assert job_rows(tmp_path, "io_blocks", records) == [(blocks,)]
