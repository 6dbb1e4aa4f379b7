"""Tests of the z/VM monitor data reader: the system of a file, intervals, records and layouts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import monwrite_builder
import record_encoder
import zlens
from monwrite_builder import MINUTE_US, S_US, START_US
from zlens import _native
from zlens.api import Session
from zlens.catalog import plans
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.inputs.source import SystemInfo
from zlens.readers.zvm import monwrite

FULL = {
    "MTRSYS_SYSTMID": "GDLVM7",
    "MTRSYS_HCPCPEID": "V5R3M0",
    "MTRSYS_SYSMTYPE": "2097",
    "MTRSYS_SYSMMODL": "726",
    "MTRSYS_SYSMSEQC": "00000000000ABCDE",
    "MTRSYS_LPARNAME": "A04",
    "MTRSYS_LPNUMBER": 4,
    "MTRSYS_SYSZONE": -5 * 3600,
}


def opened(path: Path, groups: Sequence[monwrite_builder.Group], **options: Any) -> Session:
    return zlens.open(monwrite_builder.write(path, groups), options=Options(**options))


def source(session: Session) -> monwrite.MonwriteSource:
    (found,) = session._core.sources
    assert isinstance(found, monwrite.MonwriteSource)
    return found


def only(session: Session) -> SystemInfo:
    (info,) = session.systems
    return info


# System of a file -------------------------------------------------------------------------------


def test_configuration_record_identifies_system(tmp_path: Path) -> None:
    with opened(
        tmp_path / "one", [monwrite_builder.configuration(START_US, FULL), *monwrite_builder.minutes(3)]
    ) as session:
        info = only(session)
        assert (info.system, info.machine_type, info.model, info.serial) == (
            "GDLVM7",
            "2097",
            "726",
            "00000000000ABCDE",
        )
        assert (info.machine, info.release, info.lpar, info.lpar_number) == ("2097-ABCDE", "5.3", "A04", 4)
        assert info.utc_offset_s == -5 * 3600
        (row,) = session.sql(
            "select system, machine, release, lpar, utc_offset_s, synthetic from system"
        ).rows
        assert row == ("GDLVM7", "2097-ABCDE", "5.3", "A04", -18000, False)


@pytest.mark.parametrize(
    ("config", "more", "name"),
    [
        ({**FULL, "MTRSYS_SYSTMID": ""}, [], "A04"),
        (None, [("D0R15", {"SYTCUG_LPARNAME": "PARTB"})], "PARTB"),
        (None, [("D0R15", {})], "unknown-2026.03.02"),
        (None, [], "unknown-2026.03.02"),
    ],
)
def test_unnamed_system_is_named_after_partition_or_file(
    tmp_path: Path, config: dict[str, Any] | None, more: list[tuple[str, dict[str, Any]]], name: str
) -> None:
    records = [monwrite_builder.record(record, START_US - 50, values) for record, values in more]
    groups = [monwrite_builder.configuration(START_US, config, more=records), *monwrite_builder.minutes(2)]
    with opened(tmp_path / "2026.03.02.monwrite", groups) as session:
        assert only(session).system == name
        assert session.sql("select distinct system from d0r2").rows == [(name,)]


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("V5R3M0", "5.3"),
        ("v7 r2", "7.2"),
        ("5.4.0", "5.4"),
        ("z/VM 7.3", "7.3"),
        ("530", "5.3"),
        ("0640", "6.4"),
        ("LEVEL", None),
        ("", None),
        (None, None),
    ],
)
def test_cp_level_formats(text: str | None, release: str | None) -> None:
    assert monwrite._release(text) == release


def test_files_are_grouped_by_system_and_time(tmp_path: Path) -> None:
    def groups(first: int, name: str) -> list[monwrite_builder.Group]:
        start = START_US + first * MINUTE_US
        return [
            monwrite_builder.configuration(start, {**FULL, "MTRSYS_SYSTMID": name}),
            *monwrite_builder.minutes(2, first=first),
        ]

    late = monwrite_builder.write(tmp_path / "a", groups(10, "ONE"))
    other = monwrite_builder.write(tmp_path / "b", groups(5, "TWO"))
    early = monwrite_builder.write(tmp_path / "c", groups(0, "ONE"))
    with zlens.open(tmp_path) as session:
        assert {info.system: info.files for info in session.systems} == {
            "ONE": [str(early), str(late)],
            "TWO": [str(other)],
        }
        files = session.sql("select distinct system, file from d0r2 order by all").rows
        assert files == [("ONE", str(late)), ("ONE", str(early)), ("TWO", str(other))]
    with zlens.open(tmp_path, options=Options(systems=("TWO",))) as session:
        assert session.sql("select distinct system from cpu").rows == [("TWO",)]
    with pytest.raises(InputError, match=r"no system THREE.*ONE, TWO"):
        zlens.open(tmp_path, options=Options(systems=("THREE",)))


# Intervals --------------------------------------------------------------------------------------


def ends(minutes: Sequence[float]) -> list[monwrite_builder.Group]:
    times = [START_US + round(minute * MINUTE_US) for minute in minutes]
    return [monwrite_builder.interval(end, monwrite_builder.processors(end, {0: {}})) for end in times]


@pytest.mark.parametrize("interval_s", [60, None])
def test_intervals_are_between_sample_ends(tmp_path: Path, interval_s: int | None) -> None:
    groups = [
        monwrite_builder.configuration(START_US - MINUTE_US // 2, interval_s=interval_s),
        *ends([0, 1, 2, 2.2, 3, 6]),
    ]
    with opened(tmp_path / "ends", groups) as session:
        info = only(session)
        # The length in the profile, else the usual length.
        assert info.nominal_s == 60
        # The first end only closes the samples from which differences start.
        assert [(one.seconds, one.flag, one.samples) for one in info.intervals] == [
            (60, None, 1),
            (60, None, 1),
            (12, "short", 1),
            (48, None, 1),
            (180, "gap", 1),
        ]
        rows = session.sql("select interval_end, seconds, flag from interval order by all").rows
        assert [row[1:] for row in rows] == [(one.seconds, one.flag) for one in info.intervals]
        first, last = session.sql("select first_time, last_time from system").rows[0]
        assert last == dt.datetime.fromtimestamp(START_US / S_US + 360, dt.UTC)
        assert first < dt.datetime.fromtimestamp(START_US / S_US - 29, dt.UTC)


def test_samples_after_last_end_have_no_interval(tmp_path: Path) -> None:
    late = monwrite_builder.processors(START_US + 3 * MINUTE_US, {0: {"SYTPRP_PFXRUNCI": 5}})
    groups = [
        monwrite_builder.configuration(START_US - S_US),
        *monwrite_builder.minutes(3, cpus=1),
        (True, late),
    ]
    with opened(tmp_path / "cut", groups) as session:
        assert session.sql("select count(*), count(interval_end) from d0r2").rows == [(4, 3)]
        assert session.sql("select count(*) from cpu").rows == [(2,)]


def test_monwrite_times_are_local_without_leap_seconds(tmp_path: Path) -> None:
    path = monwrite_builder.write(
        tmp_path / "east",
        [monwrite_builder.configuration(START_US - S_US, FULL), *monwrite_builder.minutes(3)],
    )
    with zlens.open(path) as session:
        (end, *_), *_ = session.sql("select interval_end from interval order by all").rows
        shown = session._core.display(end, "GDLVM7")
        assert end == shown
        assert shown.isoformat() == "2026-03-02T04:01:00-05:00"
    with zlens.open(path, options=Options(leap=27, utc=True)) as session:
        (end, *_), *_ = session.sql("select interval_end from interval order by all").rows
        assert session._core.display(end, "GDLVM7").isoformat() == "2026-03-02T09:00:33+00:00"
        assert session.sql("select distinct leap_s from system").rows == [(27,)]
        # Leap seconds are subtracted from raw timestamps as well.
        assert session.sql("select min(tod) from d0r2").rows[0][0].second == 32


# Layouts and problems ---------------------------------------------------------------------------


def test_layouts_are_selected_by_length(tmp_path: Path) -> None:
    end = START_US + MINUTE_US
    lengths = {0: 108, 1: 90, 2: 600}
    records = [
        monwrite_builder.record("D0R2", end - 9, {"SYTPRP_PFXCPUAD": cpu}, length)
        for cpu, length in lengths.items()
    ]
    groups = [monwrite_builder.configuration(START_US), monwrite_builder.interval(end, records)]
    with opened(tmp_path / "lengths", groups) as session:
        # Known once a layout is needed, without decoding everything.
        assert session.problems == []
        session.sql("select count(*) from d0r2")
        assert {problem.kind for problem in session.problems} == {"long", "short"}
        rows = session.sql("select kind, detail, bytes, record from problem order by kind").rows
        assert [(kind, record) for kind, _, _, record in rows] == [("long", "D0R2"), ("short", "D0R2")]
        assert all("1 records" in detail for _, detail, _, _ in rows)
        query = "select sytprp_pfxcpuad, sytprp_pfxcputy from d0r2 order by 1"
        assert session.sql(query).rows == [(0, 0), (1, None), (2, 0)]


def test_records_without_layout_are_counted_and_listed(tmp_path: Path) -> None:
    _, (strange,) = monwrite_builder.bare_event("D11R99", START_US + S_US)
    groups = [monwrite_builder.configuration(START_US), (False, [strange] * 7), *monwrite_builder.minutes(2)]
    with opened(tmp_path / "strange", groups) as session:
        # Reported without decoding anything.
        (problem,) = session.problems
        assert (problem.kind, problem.record) == ("no_layout", "D11R99")
        assert "7 records" in problem.detail
        row = session.sql(
            "select title, class, count, bytes, layout from inventory where name = 'D11R99'"
        ).rows
        assert row == [("not known to the catalog", "event", 7, 140, None)]
        assert "d11r99" not in session._core.engine.raw_tables()


def test_inventory_has_row_per_record_type_and_file(tmp_path: Path) -> None:
    groups = [
        monwrite_builder.configuration(START_US - S_US),
        *monwrite_builder.minutes(3),
        monwrite_builder.event("D4R1", START_US + S_US, {"USELON_VMDUSER": "LINUX1"}),
    ]
    with opened(tmp_path / "one", groups) as session:
        rows = session.sql(
            "select name, class, count, min_length, max_length, layout, first_time, last_time "
            "from inventory order by domain, record, class"
        ).rows
        assert [(name, kind, count) for name, kind, count, *_ in rows] == [
            ("D0R2", "sample", 6),
            ("D1R4", "sample", 1),
            ("D1R9", "sample", 1),
            ("D1R11", "sample", 4),
            ("D4R1", "event", 1),
        ]
        processor = rows[0]
        assert processor[3:6] == (108, 108, "zlens 5.3")
        assert processor[7] - processor[6] == dt.timedelta(minutes=2)
        # Counting does not need layouts.
        assert all(row.layout is None for row in source(session).inventory(with_layouts=False))


def test_records_are_planned_on_demand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[str] = []
    real = plans.record_plans
    monkeypatch.setattr(
        plans, "record_plans", lambda record, chosen: planned.append(record) or real(record, chosen)
    )
    groups = [monwrite_builder.configuration(START_US - S_US), *monwrite_builder.minutes(3)]
    with opened(tmp_path / "lazy", groups) as session:
        assert session.systems
        assert session.problems == []
        assert session.sql("select count(*) from interval").rows == [(2,)]
        assert planned == []
        assert session.sql("select count(*) from d0r2").rows == [(6,)]
        assert planned == ["D0R2"]
        assert "d0r2" in source(session).tables
        assert "d0r3" not in source(session).tables
        assert "d0r2_nosuch" not in source(session).tables
        with pytest.raises(KeyError, match="rmf_cpu"):
            source(session).tables["rmf_cpu"]


def test_sections_have_own_tables(tmp_path: Path) -> None:
    layout = next(one for one in monwrite.layouts.layouts("D0R16") if one.release == "5.3")
    (section,) = layout.sections
    end = START_US + MINUTE_US
    data = record_encoder.encode(
        layout,
        {"SYTCUP_LCUPNAME": "PARTA"},
        tod=_native.tod_from_unix_us(end - 9),
        entries={section.name: [{"SYTCUP_LCUCPUID": number} for number in range(3)]},
    )
    with opened(
        tmp_path / "sections",
        [monwrite_builder.configuration(START_US), monwrite_builder.interval(end, [data])],
    ) as session:
        assert session.sql("select count(*) from d0r16").rows == [(1,)]
        rows = session.sql(
            "select sytcup_lcupname, sytcup_lcucpuid from d0r16_cpudata order by sytcup_lcucpuid"
        ).rows
        assert rows == [("PARTA", 0), ("PARTA", 1), ("PARTA", 2)]
        assert list(source(session).tables) == ["d0r16", "d0r16_cpudata", "d1r4", "d1r9", "d1r11"]


# Recognition, unreadable files, progress --------------------------------------------------------


def test_bytes_are_recognized(tmp_path: Path) -> None:
    data = monwrite_builder.write(
        tmp_path / "one", [monwrite_builder.configuration(START_US), *monwrite_builder.minutes(2)]
    ).read_bytes()
    assert monwrite.detect(data[:65536], len(data))
    assert not monwrite.detect(b"<?xml version='1.0'?>" + bytes(9000), 9021)
    assert not monwrite.detect(b"", 0)
    with pytest.raises(InputError) as caught:
        monwrite.detect(data.decode("cp037").encode("latin-1", "replace")[:65536], len(data))
    assert "binary" in str(caught.value)


def test_unreadable_file_among_others_is_problem(tmp_path: Path) -> None:
    good = monwrite_builder.write(
        tmp_path / "good", [monwrite_builder.configuration(START_US), *monwrite_builder.minutes(2)]
    )
    found = monwrite.open_files([str(tmp_path / "gone"), str(good)], Options(), None)
    assert [info.system for info in found.systems] == ["MADETEST"]
    assert [problem.file for problem in found.problems()] == [str(tmp_path / "gone")]
    with pytest.raises(InputError, match="no such file; expected a readable file"):
        monwrite.open_files([str(tmp_path / "gone")], Options(), None)


def test_progress_counts_bytes_of_all_files(tmp_path: Path) -> None:
    paths = [
        str(
            monwrite_builder.write(
                tmp_path / name, [monwrite_builder.configuration(START_US), *monwrite_builder.minutes(2)]
            )
        )
        for name in "ab"
    ]
    seen: list[tuple[int, int, str]] = []
    monwrite.open_files(paths, Options(), lambda *step: seen.append(step))
    total = sum(Path(path).stat().st_size for path in paths)
    assert {step[1] for step in seen} == {total}
    assert [step[0] for step in seen] == sorted(step[0] for step in seen)
    assert seen[-1][0] == total
    assert {step[2] for step in seen} == set(paths)


# Reset evidence ---------------------------------------------------------------------------------


def test_evidence_without_subject_resets_nothing(tmp_path: Path) -> None:
    # A record truncated before the user name.
    short = monwrite_builder.record("D4R1", START_US + 30 * S_US, {}, 22)
    off = monwrite_builder.record("D5R2", START_US + 30 * S_US, {}, 20)
    groups = [
        monwrite_builder.configuration(START_US - S_US),
        *monwrite_builder.minutes(1),
        (False, [short, off]),
        *monwrite_builder.minutes(2, first=1),
    ]
    with opened(tmp_path / "short", groups) as session:
        assert session.sql("select count(sytprp_pfxutime_d) from d0r2").rows == [(4,)]
        assert session.sql("select count(*) from event where inferred").rows == [(0,)]
