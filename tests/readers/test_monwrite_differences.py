"""Tests of counter differences between samples, from bytes to SQL: wraps, timers, resets with each kind of
evidence, gaps, short intervals, and files of one system in any order."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import monwrite_builder as monwrite
import zlens
from monwrite_builder import MINUTE_US, START_US
from zlens import _native
from zlens.api import Session
from zlens.catalog import layouts
from zlens.catalog.resets import ResetFile
from zlens.inputs.options import Options

RUNCI, HARD, USER, EMULATION = (f"SYTPRP_{name}" for name in ("PFXRUNCI", "PLSCUHAF", "PFXUTIME", "PFXPRBTM"))
TOP = 2**63 - 1


def series(
    path: Path,
    field: str,
    values: Sequence[int],
    *,
    times: Sequence[int] | None = None,
    first: int = 0,
    config: Mapping[str, Any] = monwrite.CONFIG,
) -> Path:
    """Write a file in which a field of processor 0 has one value per interval."""
    ends = times or [START_US + number * MINUTE_US for number in range(first, first + len(values))]
    groups = [monwrite.configuration(ends[0] - MINUTE_US // 2, config)]
    for end, value in zip(ends, values, strict=True):
        groups.append(monwrite.interval(end, monwrite.processors(end, {0: {field: value}})))
    return monwrite.write(path, groups)


def differences(session: Session, field: str, table: str = "d0r2") -> list[Any]:
    return [row[0] for row in session.sql(f"select {field}_d from {table} order by tod").rows]


def found(session: Session, kind: str) -> list[Any]:
    return [problem for problem in session.problems if problem.kind == kind]


# Wraps ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "values", "wanted"),
    [
        (RUNCI, [2**32 - 1_000, 2**32 - 1, 0, 7], [None, 999, 1, 7]),
        (RUNCI, [0, 2**31 + 5, 2**32 - 1, 5], [None, 2**31 + 5, 2**31 - 6, 6]),
        # Eight bytes pass the maximum of a column without decreasing.
        (USER, [TOP - 5, TOP, TOP + 1, TOP + 11], [None, 5, 1, 10]),
    ],
)
def test_counters_wrap_at_their_width(
    tmp_path: Path, field: str, values: list[int], wanted: list[int | None]
) -> None:
    with zlens.open(series(tmp_path / "wraps", field, values)) as session:
        assert differences(session, field) == wanted


def test_sixteen_bit_counter_may_wrap_unseen(tmp_path: Path) -> None:
    # 100,500 a minute wraps unseen: no difference, and no problem of the file.
    values = [100_500 * number % 2**16 for number in range(6)]
    with zlens.open(series(tmp_path / "narrow", HARD, values)) as session:
        rows = session.sql(f"select {HARD} from d0r2 order by tod").rows
        assert [row[0] for row in rows] == values
        assert f"{HARD}_d".lower() not in session.sql("select * from d0r2").columns
        assert session._core.all_problems() == []


def test_step_back_without_wrap_is_problem(tmp_path: Path) -> None:
    # As a wrap, the difference would be too large for a minute.
    field, values = RUNCI, [3_000_000_000, 3_000_000_500, 10, 110]
    path = series(tmp_path / "back", field, values)
    with zlens.open(path) as session:
        computed = differences(session, field)
        assert computed == [None, values[1] - values[0], None, values[3] - values[2]]
        (problem,) = found(session, "changed")
        assert problem.record == "D0R2"
        assert field.lower() in problem.detail
        assert f"from {values[1]} to {values[2]}" in problem.detail
        third = session.sql('select "offset" from d0r2 order by tod offset 2 limit 1').rows[0][0]
        assert problem.offset == third
        assert session.sql("select count(*) from problem where kind = 'changed'").rows == [(1,)]


# Timers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "values", "wanted"),
    [
        (EMULATION, [TOP, TOP - 40, TOP - 40, TOP - 100], [None, 40, 0, 60]),  # always counts down
        (USER, [100, 100, 130, 190], [None, 0, 30, 60]),  # learned: up
        (USER, [TOP, TOP, TOP - 30, TOP - 90], [None, 0, 30, 60]),  # learned: down
    ],
)
def test_timer_direction_is_learned(
    tmp_path: Path, field: str, values: list[int], wanted: list[int | None]
) -> None:
    with zlens.open(series(tmp_path / "timers", field, values)) as session:
        assert differences(session, field) == wanted
        assert session.problems == []


@pytest.mark.parametrize(
    ("field", "values"),
    [(EMULATION, [TOP - 9, TOP - 50, TOP, TOP - 8]), (USER, [1_000, 2_000, 5, 13])],
)
def test_eight_byte_counter_against_direction_is_reset(tmp_path: Path, field: str, values: list[int]) -> None:
    with zlens.open(series(tmp_path / "again", field, values)) as session:
        computed = differences(session, field)
        assert computed == [None, abs(values[1] - values[0]), None, 8]
        (problem,) = found(session, "changed")
        assert "counters of 0 decreased without a reset record" in problem.detail
        assert f"{values[1]} to {values[2]}" in problem.detail
        events = session.sql("select subject, detail, inferred, record from event").rows
        assert events == [("CPU 0", "value stepped back", True, "D0R2")]


# Resets with evidence ---------------------------------------------------------------------------

PROCESSOR, USERS, DEVICE, POOL = "D0R2", "D4R3", "D6R3", "D6R28"
CALLED = {
    PROCESSOR: ["CPU 0", "CPU 1"],
    USERS: ["guest LINUX1, virtual CPU 0", "guest LINUX1, virtual CPU 1", "guest LINUX10, virtual CPU 1"],
    DEVICE: ["device 0200", "device 0201"],
    POOL: ["pool 2", "pool 3"],
}
#: Only the first fields of the user record are public; a user's layout pack may have more.
PACK = """
record = "D4R3"
dsect = "MRUSEACT"
title = "User Activity Data"
kind = "sample"
subject = ["USEACT_VMDUSER", "USEACT_VMDCPUAD"]
subject_kind = "user"

[[layout]]
release = "5.3"
length = 40
complete = true
source = "a test"
status = "constructed"

[[layout.fields]]
name = "USEACT_VMDUSER"
at = 20
len = 8
type = "character"
kind = "identifier"
kind_status = "stated"
unit = "ebcdic"

[[layout.fields]]
name = "USEACT_VMDCPUAD"
at = 28
len = 2
type = "unsigned"
kind = "identifier"
kind_status = "stated"

[[layout.fields]]
name = "USEACT_VMDTTIME"
at = 32
len = 8
type = "unsigned"
kind = "timer"
kind_status = "stated"
direction = "up"
unit = "tod"
"""
SUBJECTS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    PROCESSOR: (RUNCI, [{"SYTPRP_PFXCPUAD": 0}, {"SYTPRP_PFXCPUAD": 1}]),
    USERS: (
        "USEACT_VMDTTIME",
        [
            {"USEACT_VMDUSER": "LINUX1", "USEACT_VMDCPUAD": 0},
            {"USEACT_VMDUSER": "LINUX1", "USEACT_VMDCPUAD": 1},
            {"USEACT_VMDUSER": "LINUX10", "USEACT_VMDCPUAD": 1},
        ],
    ),
    DEVICE: ("IODDEV_SCGSSCH", [{"IODDEV_RDEVDEV": 0x200}, {"IODDEV_RDEVDEV": 0x201}]),
    POOL: ("IODHPP_HPPTRIES", [{"IODHPP_HPPOOLNM": 2}, {"IODHPP_HPPOOLNM": 3}]),
}


def happened(name: str, time_us: int, values: dict[str, Any] | None) -> monwrite.Group:
    return monwrite.event(name, time_us, values) if values is not None else monwrite.bare_event(name, time_us)


def test_every_evidence_of_catalog_is_tried() -> None:
    (mark,) = (m for m in test_reset_evidence_makes_difference_null.pytestmark if m.name == "parametrize")
    tried = {case[0] for case in mark.args[1]}
    # An IPL is detected differently.
    assert tried == {one.record for one in ResetFile.load().evidence} - {"D1R4"}


@pytest.fixture
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "packs" / "mine"
    folder.mkdir(parents=True)
    (folder / "d04r03.toml").write_text(PACK, encoding="utf-8")
    monkeypatch.setenv("ZLENS_DATA", str(tmp_path))
    layouts.clear_cache()
    yield
    monkeypatch.undo()
    layouts.clear_cache()


@pytest.mark.usefixtures("pack")
@pytest.mark.parametrize(
    ("evidence", "values", "table", "concerned"),
    [
        ("D5R1", {"PRCVON_PFXCPUAD": 1}, PROCESSOR, [1]),
        ("D5R2", {"PRCVOF_PFXCPUAD": 0}, PROCESSOR, [0]),
        ("D5R2", {"PRCVOF_PFXCPUAD": 7}, PROCESSOR, []),
        ("D5R2", {"PRCVOF_PFXCPUAD": 0}, DEVICE, []),
        # A logon concerns all virtual CPUs of the user, and no user whose name only starts the same.
        ("D4R1", {"USELON_VMDUSER": "LINUX1"}, USERS, [0, 1]),
        ("D4R2", {"USELOF_VMDUSER": "LINUX1", "USELOF_VMDCPUAD": 1}, USERS, [1]),
        ("D4R5", {"USEDFC_VMDUSER": "LINUX10", "USEDFC_VMDCPUAD": 1}, USERS, [2]),
        ("D4R6", {"USEDTC_VMDUSER": "LINUX1", "USEDTC_VMDCPUAD": 0}, USERS, [0]),
        ("D4R7", {"USERDC_VMDUSER": "LINUX1"}, USERS, [0, 1]),
        ("D6R1", {"IODVON_RDEVDEV": 0x200}, DEVICE, [0]),
        ("D6R2", {"IODVOF_RDEVDEV": 0x201}, DEVICE, [1]),
        ("D6R5", {"IODATD_RDEVDEV": 0x200}, DEVICE, [0]),
        ("D6R6", {"IODDTD_RDEVDEV": 0x200}, DEVICE, [0]),
        ("D6R13", {"IODMON_RDEVDEV": 0x201}, DEVICE, [1]),
        ("D6R14", {"IODMOF_RDEVDEV": 0x201}, DEVICE, [1]),
        ("D6R15", {"IODDDV_RDEVDEV": 0x201}, DEVICE, [1]),
        ("D6R25", {"IODQDA_RDEVDEV": 0x200}, DEVICE, [0]),
        ("D6R29", {"IODHPC_HPPOOLNM": 3}, POOL, [1]),
        # The record page is not public: the record itself is the evidence.
        ("D5R21", None, PROCESSOR, [0, 1]),
    ],
)
def test_reset_evidence_makes_difference_null(
    tmp_path: Path, evidence: str, values: dict[str, Any] | None, table: str, concerned: list[int]
) -> None:
    field, subjects = SUBJECTS[table]
    groups = [monwrite.configuration(START_US - 1)]
    for number in range(4):
        end = START_US + number * MINUTE_US
        if number == 2:
            groups.append(happened(evidence, end - MINUTE_US // 2, values))
        samples = [
            monwrite.record(table, end - 100, {**subject, field: 10_000 + 10 * number})
            for subject in subjects
        ]
        groups.append(monwrite.interval(end, samples))
    with zlens.open(monwrite.write(tmp_path / "evidence", groups)) as session:
        computed = differences(session, field, table.lower())
        spans = [row[0] for row in session.sql(f"select seconds from {table} order by tod").rows]
        by_subject = [computed[number :: len(subjects)] for number in range(len(subjects))]
        for number, some in enumerate(by_subject):
            assert some == [None, 10, None if number in concerned else 10, 10], number
            # A difference across a reset has no length to divide by.
            assert spans[number :: len(subjects)] == [None, 60, None if number in concerned else 60, 60]
        reset_subjects = session.sql(
            f"select subject from event where inferred and record = '{table}' order by 1"
        ).rows
        assert [row[0] for row in reset_subjects] == [CALLED[table][number] for number in concerned]
        assert {problem.record for problem in session.problems} <= {"D5R21"}


def test_ipl_is_detected_in_next_file(tmp_path: Path) -> None:
    """D1R4 of the second file shows an IPL between two files of one system."""

    def config(ipl_us: int) -> dict[str, Any]:
        return {**monwrite.CONFIG, "MTRSYS_SYSTODST": _native.tod_from_unix_us(ipl_us)}

    first = series(tmp_path / "b-first", RUNCI, [500, 510, 520], config=config(START_US - 10**9))
    ipl = START_US + 2 * MINUTE_US + 20_000_000
    second = series(tmp_path / "a-second", RUNCI, [530, 540], first=3, config=config(ipl))
    for paths in ([first, second], [second, first]):
        with zlens.open(paths) as session:
            assert differences(session, RUNCI) == [None, 10, 10, None, 10]
            rows = session.sql("select detail, time from event where inferred").rows
            assert [detail for detail, _ in rows] == ["IPL"]
            assert rows[0][1].timestamp() == ipl / 1e6
    # The same timestamp in both files means that no IPL occurred.
    again = series(tmp_path / "again", RUNCI, [530, 540], first=3, config=config(START_US - 10**9))
    with zlens.open([again, first]) as session:
        assert differences(session, RUNCI) == [None, 10, 10, 10, 10]
        assert session.sql("select count(*) from event").rows == [(0,)]


# Gaps, short intervals, several files -----------------------------------------------------------


def test_gap_is_flagged_and_not_averaged(tmp_path: Path) -> None:
    ends = [START_US + minutes * MINUTE_US for minutes in (0, 1, 2, 5, 6)]
    path = series(
        tmp_path / "gap", USER, [0, *(minutes * monwrite.TOD_S for minutes in (6, 12, 60, 66))], times=ends
    )
    with zlens.open(path) as session:
        rows = session.sql("select seconds, flag, sytprp_pfxutime_d from d0r2 order by tod").rows
        assert rows == [
            (None, None, None),
            (60, None, 6 * monwrite.TOD_S),
            (60, None, 6 * monwrite.TOD_S),
            (180, "gap", 48 * monwrite.TOD_S),
            (60, None, 6 * monwrite.TOD_S),
        ]
        assert session.sql("select seconds, flag from interval order by all").rows.count((180, "gap")) == 1
        busy = session.sql("select round(user_pct, 6), flag from cpu order by interval_end").rows
        assert busy == [(10, None), (10, None), (round(4800 / 180, 6), "gap"), (10, None)]
    # One bucket of the entire file leaves out the interval with the gap.
    with zlens.open(path, options=Options(every_s=3600)) as session:
        assert session.sql("select round(user_pct, 6), seconds from cpu").rows == [(10, 180)]


def test_short_interval_is_flagged_and_not_averaged(tmp_path: Path) -> None:
    ends = [START_US + round(minutes * MINUTE_US) for minutes in (0, 1, 1.25, 2, 3)]
    path = series(tmp_path / "stub", RUNCI, [0, 60, 90, 100, 160], times=ends)
    with zlens.open(path) as session:
        rows = session.sql("select seconds, flag, sytprp_pfxrunci_d from d0r2 order by tod").rows
        assert rows[1:] == [(60, None, 60), (15, "short", 30), (45, None, 10), (60, None, 60)]


def test_files_of_one_system_in_any_order(tmp_path: Path) -> None:
    """Differences across the boundaries of three files are computed once, whatever the file names."""
    paths = [
        series(tmp_path / name, RUNCI, [100 * (first + number) for number in range(3)], first=first)
        for name, first in (("c", 0), ("a", 3), ("b", 6))
    ]
    answers = []
    for order in itertools.permutations(paths):
        with zlens.open(order) as session:
            assert session.problems == []
            assert [info.files for info in session.systems] == [[str(path) for path in paths]]
            answers.append(
                session.sql("select interval_end, seconds, sytprp_pfxrunci_d from d0r2 order by tod").rows
            )
    assert [row[1:] for row in answers[0]] == [(None, None), *[(60, 100)] * 8]
    assert all(answer == answers[0] for answer in answers)


def test_systems_are_not_mixed(tmp_path: Path) -> None:
    one = series(tmp_path / "one", RUNCI, [0, 10, 20])
    other = series(
        tmp_path / "other", RUNCI, [7, 8, 9], config={**monwrite.CONFIG, "MTRSYS_SYSTMID": "OTHER"}
    )
    with zlens.open([one, other]) as session:
        rows = session.sql("select system, sytprp_pfxrunci_d from d0r2 order by system, tod").rows
        assert [row[1] for row in rows if row[0] == "MADETEST"] == [None, 10, 10]
        assert [row[1] for row in rows if row[0] == "OTHER"] == [None, 1, 1]


def test_recordings_that_overlap_are_read_once(tmp_path: Path) -> None:
    """Two recordings overlap by some minutes; no row and no difference is repeated."""

    def groups(first: int, count: int) -> list[monwrite.Group]:
        return [
            monwrite.configuration(START_US + first * MINUTE_US - 30_000_000),
            *monwrite.minutes(count, first=first),
        ]

    one = monwrite.write(tmp_path / "one", groups(0, 6))
    two = monwrite.write(tmp_path / "two", groups(3, 6))
    whole = monwrite.write(tmp_path / "whole", groups(0, 9))
    query = "select interval_end, cpu_id, seconds, busy_pct from cpu order by all"
    with zlens.open(whole) as session:
        wanted = session.sql(query).rows
        assert len(wanted) == 2 * 8
    for paths in ([one, two], [two, one]):
        with zlens.open(paths) as session:
            assert session.sql(query).rows == wanted
            assert session.sql("select distinct online from load").rows == [(2,)]
            (problem,) = session.problems
            assert (problem.kind, problem.file) == ("duplicate", str(two))
            assert "3 intervals" in problem.detail
            assert problem.bytes > 0


def test_other_recording_of_same_times_is_not_duplicate(tmp_path: Path) -> None:
    """As for two systems of one name, or damaged bytes, only equal intervals are duplicates."""
    begin = monwrite.configuration(START_US - 30_000_000)
    one = monwrite.write(tmp_path / "one", [begin, *monwrite.minutes(6)])
    minutes = [*monwrite.minutes(3), *monwrite.minutes(2, busy=0.25, first=3), *monwrite.minutes(1, first=5)]
    two = monwrite.write(tmp_path / "two", [begin, *minutes])
    with zlens.open(one) as once, zlens.open([one, two]) as both:
        assert both.sql("from cpu").rows == once.sql("from cpu").rows
        found = sorted((p for p in both.problems), key=lambda p: p.offset)
        assert [(p.kind, p.file) for p in found] == [
            ("duplicate", str(two)), ("conflict", str(two)), ("duplicate", str(two)),
        ]  # fmt: skip
        assert ["3 int" in found[0].detail, "2 int" in found[1].detail, "1 int" in found[2].detail] == [
            True
        ] * 3
        assert "with other records" in found[1].detail
        assert sum(p.bytes for p in found) > 0


@pytest.mark.parametrize("own", [0, 1])
def test_events_of_only_one_recording_are_reported(own: int, tmp_path: Path) -> None:
    """Only the first interval of a recording may have fewer events than an earlier recording."""
    begin = monwrite.configuration(START_US - 30_000_000)
    minutes, event = monwrite.minutes(6), monwrite.bare_event("D4R1", START_US + 150_000_000)
    with_event = [*minutes[:3], event, *minutes[3:]]
    one = monwrite.write(tmp_path / "one", [begin, *(minutes if own else with_event)])
    two = monwrite.write(tmp_path / "two", [begin, *(with_event if own else minutes)[2:]])
    later = monwrite.configuration(START_US + 160_000_000)
    late = monwrite.write(tmp_path / "late", [later, *minutes[3:]])
    with zlens.open([one, two]) as session:
        assert "conflict" in {p.kind for p in session.problems}
    with zlens.open([one, late]) as session:
        assert {p.kind for p in session.problems if p.bytes} == {"duplicate"}


def test_records_after_last_interval_are_read(tmp_path: Path) -> None:
    """The first of two recordings in a file ends with records of an interval without an end."""
    begin = monwrite.configuration(START_US - 30_000_000)
    tail = monwrite.bare_event("D4R1", START_US + 6 * MINUTE_US + 10_000_000)
    one = monwrite.write(tmp_path / "one", [begin, *monwrite.minutes(6), tail])
    plain = monwrite.write(tmp_path / "plain", [begin, *monwrite.minutes(6)])
    both = tmp_path / "both"
    both.write_bytes(one.read_bytes() + plain.read_bytes())
    with zlens.open(both) as session:
        assert {p.kind for p in session.problems if p.bytes} == {"duplicate"}
        assert session.sql("select count(*) from d4r1").rows == [(1,)]


def test_file_appended_to_itself_is_read_once(tmp_path: Path) -> None:
    one = monwrite.write(
        tmp_path / "one", [monwrite.configuration(START_US - 30_000_000), *monwrite.minutes(6)]
    )
    twice = tmp_path / "twice"
    twice.write_bytes(one.read_bytes() * 2)
    with zlens.open(one) as once, zlens.open(twice) as again:
        for table in ("cpu", "load", "interval", "d0r2"):
            query = f"select * exclude (file) from {table}" if table == "d0r2" else f"from {table}"
            assert again.sql(query).rows == once.sql(query).rows
        (problem,) = again.problems
        assert problem.kind == "duplicate"
        assert problem.offset >= one.stat().st_size


def test_late_intervals_are_read(tmp_path: Path) -> None:
    minutes = monwrite.minutes(9)
    late = [*minutes[:3], *minutes[6:], *minutes[3:6]]
    path = monwrite.write(tmp_path / "late", [monwrite.configuration(START_US - 30_000_000), *late])
    with zlens.open(path) as session:
        assert session.sql("select count(*), count(distinct interval_end) from d0r2").rows == [(18, 9)]
        assert {problem.kind for problem in session._core.all_problems()} == {"time"}


def test_samples_without_interval_end_have_no_interval(tmp_path: Path) -> None:
    """Without the end of the third interval, the fourth would have two samples of a processor."""
    groups = monwrite.minutes(6)
    kept = [
        (sample, records[:-1]) if number == 2 else (sample, records)
        for number, (sample, records) in enumerate(groups)
    ]
    whole = monwrite.write(tmp_path / "whole", [monwrite.configuration(START_US - 30_000_000), *groups])
    path = monwrite.write(tmp_path / "lost", [monwrite.configuration(START_US - 30_000_000), *kept])
    query = "select interval_end, cpu_id, seconds, busy_pct from cpu order by all"
    with zlens.open(whole) as session, zlens.open(path) as lossy:
        wanted = session.sql(query).rows
        assert lossy.sql(query).rows == wanted[:2] + wanted[4:]
        assert lossy.sql("select count(*), count(interval_end) from d0r2").rows == [(12, 10)]
        assert lossy.sql("select distinct online from load").rows == [(2,)]
        (problem,) = lossy.problems
        assert (problem.kind, problem.record) == ("gap", "D1R11")
        assert "2.0 minutes from 2026-03-02 09:01:00" in problem.detail
        assert session.problems == []
