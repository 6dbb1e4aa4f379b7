"""The measure job and its report, from the bytes of SMF 30: times, instructions, what is not valid."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

import zlens
from readers import smf_made
from zlens.catalog import smf_sections, smf_write
from zlens.options import parse_moment

#: 2023-11-14 22:14:00 UTC
END_US = 1_700_000_040_000_000
ZONE_S = 3600
MILLION = 1_000_000
INTERVAL, LAST, STEP, JOB, SYSTEM = 2, 3, 4, 5, 6

TIMES = {
    "CPT": 1000, "CPS": 100, "ICU": 10, "ISB": 5, "IIP": 20, "RCT": 3, "HPT": 2,
    "ASR": 150, "ENC": 200, "DET": 50, "TIME_ON_ZIIP": 400, "TIME_ZIIP_ON_CP": 80,
}  # fmt: skip
COUNTS = {
    "INST_CP_TASK": 6_000 * MILLION,
    "INST_CP_NONPREEMPTSRB": 700 * MILLION, "INST_CP_PREEMPTSRB": 300 * MILLION,
    "INST_OFFLOAD": 2_000 * MILLION, "INST_OFFLOADONCP": 400 * MILLION,
    "INST_CP_ENCLAVE": 900 * MILLION, "INST_CP_DEPENC": 90 * MILLION,
    "INST_OFFLOAD_ENCLAVE": 500 * MILLION, "INST_OFFLOAD_DEPENC": 100 * MILLION,
    "INST_OFFLOADONCP_ENCLAVE": 60 * MILLION, "INST_OFFLOADONCP_DEPENC": 40 * MILLION,
}  # fmt: skip


def record(
    subtype: int,
    second: float = 0,
    *,
    job: str = "PAYROLL",
    cas: dict[str, Any] | None = TIMES,
    counts: dict[str, Any] | None = COUNTS,
    lengths: dict[str, int] | None = None,
) -> bytes:
    """A record written a second after what it tells of ended; steps and intervals are a minute long."""
    end = END_US + round(second * MILLION)
    local = end + ZONE_S * MILLION
    named = {"JBN": job, "PGM": "IEFBR14", "STM": "STEP1", "JNM": "JOB00042", "STN": 1, "CL8": "A"}
    if subtype in (INTERVAL, LAST, SYSTEM):
        named |= {"ISS": end - 60 * MILLION, "IET": end}
    if subtype == STEP:
        named |= {"SIT": local - 60 * MILLION, "STD": local - 60 * MILLION}
    sections: dict[str, list[dict[str, Any]]] = {
        "subsystem": [{"OSL": "SP7.2.5"}],
        "id": [named],
        "prf": [{"SCN": "BATCHHI", "WLM": "BATCH", "SNF": 512}],
    }
    if cas is not None:
        sections["cas"] = [cas]
    if counts is not None:
        sections["counter"] = [counts]
    header = {"WID": "JES2", "STP": subtype}
    layout = smf_sections.layout(30)
    return smf_write.encode(
        layout,
        subtype,
        system="SYSA",
        local_us=local + MILLION,
        sections=sections,
        lengths=lengths,
        header=header,
    )


def asked(path: Path, select: str, records: list[bytes], **options: Any) -> list[tuple[Any, ...]]:
    with zlens.open([smf_made.dump(path / "a", records)], options=zlens.Options(**options)) as session:
        return session.sql(f"SELECT {select} FROM job ORDER BY interval_end, kind").rows


def test_times_and_instructions(tmp_path: Path) -> None:
    found = asked(
        tmp_path,
        "round(cp_s, 2), tcb_s, srb_s, preemptable_s, enclave_s, initiator_s, io_interrupt_s, "
        "ziip_s, ziip_cp_s, ziip_on_cp_s",
        [record(INTERVAL)],
    )
    assert found == [(11.4, 10.0, 1.0, 1.5, 2.5, 0.15, 0.2, 4.0, 8.0, 0.8)]
    found = asked(
        tmp_path,
        "task_instructions, srb_instructions, enclave_instructions, ziip_instructions, "
        "ziip_on_cp_instructions, cp_instructions, round(cp_mips, 3), ziip_mips, counts",
        [record(INTERVAL)],
    )
    millions = (6000, 1000, 990, 2600, 500, 8490)
    assert found == [(*(n * MILLION for n in millions), round(8490 / 11, 3), 650.0, None)]


def test_each_kind_of_record_stands_for_itself(tmp_path: Path) -> None:
    """The start of a job and a record that goes on with data sets have used nothing."""
    start = record(1, cas=None, counts=None)
    more = record(STEP, 30, cas=None, counts=None)
    made = [
        start,
        record(INTERVAL),
        record(LAST, 30),
        record(STEP, 30),
        more,
        record(JOB, 31),
        record(SYSTEM, 60),
    ]
    found = asked(
        tmp_path, "kind, seconds, job, job_id, step, program, service_class, work_type, job_class", made
    )
    names = ("PAYROLL", "JOB00042", "STEP1", "IEFBR14", "BATCHHI", "JES2", "A")
    assert [row[:2] for row in found] == [
        ("interval", 60.0),
        ("last interval", 60.0),
        # The time that a step ended is not in the record; that of its writing is.
        ("step", 61.0),
        ("job", None),
        ("system interval", 60.0),
    ]
    assert {row[2:] for row in found} == {names}


def test_records_of_intervals_tell_the_zone(tmp_path: Path) -> None:
    """Ends of steps have local times only."""
    (interval, step) = asked(tmp_path, "interval_end, begun", [record(INTERVAL), record(STEP, 30)])
    utc = dt.datetime(2023, 11, 14, 22, 14, tzinfo=dt.UTC)
    assert interval == (utc, utc - dt.timedelta(minutes=1))
    assert step == (utc + dt.timedelta(seconds=31), utc - dt.timedelta(seconds=30))
    assert asked(tmp_path, "interval_end, round(cp_s, 2)", [record(STEP, 30)]) == [(None, 11.4)], (
        "nothing tells the zone"
    )
    given = asked(tmp_path, "interval_end", [record(STEP, 30)], tz=dt.timezone(dt.timedelta(hours=1)))
    assert given == [(utc + dt.timedelta(seconds=31),)]


def test_a_dump_that_is_there_twice(tmp_path: Path) -> None:
    made = [record(INTERVAL), record(STEP, 30), record(JOB, 31)]
    assert len(asked(tmp_path, "kind", made * 2)) == 3
    other = record(INTERVAL, cas=TIMES | {"CPT": 1001})
    assert len(asked(tmp_path, "kind", [*made, other])) == 4


def test_what_the_record_calls_not_valid(tmp_path: Path) -> None:
    select = "tcb_s, srb_s, cp_s, ziip_s, ziip_on_cp_s"
    flags = {"TFL": ["CPT"], "T32": ["ON_ZIIP"]}
    assert asked(tmp_path, select, [record(INTERVAL, cas=TIMES | flags)]) == [(None, 1.0, None, None, 0.8)]
    select = "counts, task_instructions IS NULL, enclave_instructions IS NULL, ziip_instructions IS NULL"
    for flag, found in (
        ("DISRUPTED", ("disrupted", True, True, True)),
        ("LIMITED", ("enclaves incomplete", False, True, True)),
    ):
        assert asked(tmp_path, select, [record(INTERVAL, counts=COUNTS | {"INSTFLGS1": [flag]})]) == [found]


def test_levels_without_ziips_and_counts(tmp_path: Path) -> None:
    made = [record(INTERVAL, counts=None, lengths={"cas": 116})]
    assert asked(tmp_path, "round(cp_s, 2), ziip_s, ziip_on_cp_s, task_instructions, cp_mips", made) == [
        (11.4, None, None, None, None)
    ]


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        ({}, ["interval", "step", "interval"]),
        ({"start": parse_moment("23:14:10")}, ["step", "interval"]),
        ({"end": parse_moment("23:14:10")}, ["interval"]),
        ({"start": parse_moment("23:50")}, []),
        ({"every_s": 3600}, ["interval", "step", "interval"]),
    ],
)
def test_times_asked_for(tmp_path: Path, options: dict[str, Any], kinds: list[str]) -> None:
    """Times of day are local ones. Jobs are no sums of an interval: --every leaves them as they are."""
    made = [record(INTERVAL), record(STEP, 30), record(INTERVAL, 60)]
    assert [row[0] for row in asked(tmp_path, "kind", made, **options)] == kinds


def test_the_report(tmp_path: Path) -> None:
    made = [record(INTERVAL), record(STEP, 30), record(JOB, 31), record(JOB, 40, job="OTHER", counts=None)]
    with zlens.open([smf_made.dump(tmp_path / "a", made)]) as session:
        text = session.report("jobs")
        alone = session.report("jobs", only=["OTHER"])
    rows = [line.split()[1:] for line in text.splitlines() if " JOB00042 " in line]
    times = ["11.40", "10.00", "1.00", "2.50", ".80", "4.00"]
    counted = ["6000.0", "1000.0", "990.0", "500.0", "2600.0", "772", "650"]
    assert rows == [
        ["23:14:32", "PAYROLL", "JOB00042", "BATCHHI", *times, *counted],
        ["23:14:41", "OTHER", "JOB00042", "BATCHHI", *times, *["." * 10] * 5, "......", "......"],
        ["23:14:31", "PAYROLL", "JOB00042", "1", "STEP1", "IEFBR14", "BATCHHI", *times, *counted],
        ["23:14:00", "PAYROLL", "JOB00042", "1", "STEP1", "IEFBR14", "interval", "BATCHHI", *times, *counted],
    ]
    assert "system address spaces" not in text
    assert "PAYROLL" not in alone
    with zlens.open([smf_made.dump(tmp_path / "b", [record(SYSTEM)])]) as session:
        assert "counts of system address spaces" in " ".join(session.report("jobs").split())
