"""Tests of event records as rows of `event`, and of suspended event recording as problems."""

from __future__ import annotations

from pathlib import Path

import pytest

import monwrite_builder as monwrite
import zlens
from zlens.catalog import events, layouts

NOWHERE = Path(__file__).parent / "no packs here"
#: Records that structure the file or describe what is recorded.
OWN = {"D1R1", "D1R11", "D1R13", "D1R14"}


def event_records() -> list[str]:
    found = []
    for record in layouts.records(NOWHERE):
        head = layouts.record_info(record, NOWHERE)
        assert head is not None
        if head.kind.startswith("event") and record not in OWN:
            found.append(record)
    return found


def test_every_event_record_is_event() -> None:
    tables = {event.table for event in events.EventFile.load().events}
    assert [record for record in event_records() if record.lower() not in tables] == []


def test_every_field_of_event_is_one_of_its_record() -> None:
    for event in events.EventFile.load().events:
        if not event.table.startswith("d"):
            continue
        record = event.record or event.table.upper()
        known = [*layouts.layouts(record, NOWHERE), *layouts.sim_layouts(record)]
        parts = [part for layout in known for part in (layout, *layout.sections)]
        names = {field.name for part in parts for field in part.fields}
        for text in (*event.subjects, *event.details):
            wanted = {match[1].removesuffix(".before") for match in events.PLACE.finditer(text)}
            assert wanted <= names, (record, wanted - names)


def test_one_of_each_kind_is_row_each(tmp_path: Path) -> None:
    groups = [monwrite.configuration(monwrite.START_US), *monwrite.minutes(1)]
    records = event_records()
    known = {x for x in records if any(one.release == "5.3" for one in layouts.layouts(x, NOWHERE))}
    for number, record in enumerate(records):
        time = monwrite.START_US + (number + 1) * monwrite.S_US
        groups.append(monwrite.event(record, time) if record in known else monwrite.bare_event(record, time))
    groups += monwrite.minutes(1, first=3)
    with zlens.open([monwrite.write(tmp_path / "a.mon", groups)]) as session:
        rows = session.sql("SELECT record, kind, subject FROM event WHERE NOT inferred ORDER BY time").rows
        assert [row[0] for row in rows] == records
        assert all(kind for _, kind, _ in rows)
        assert all(subject is not None for record, _, subject in rows if record in known)
        bare = {record for record in records if not layouts.layouts(record, NOWHERE)}
        assert "D5R15" in bare
        titled = dict(session.sql("SELECT name, title FROM inventory").rows)
        assert all(titled[record] for record in bare)
        # A record without a known layout has a raw table, but no role.
        assert session.sql("SELECT count(*) FROM d5r15").rows == [(1,)]


def test_unparking_decision_is_event_if_cores_change(tmp_path: Path) -> None:
    decided = [(5, 1), (5, 1), (6, 1), (6, 1), (6, 2), (5, 2)]
    groups = [monwrite.configuration(monwrite.START_US, monwrite.SIM_CONFIG), *monwrite.minutes(1)]
    for number, unparked in enumerate(decided):
        types = [
            {"PRCPUP_ZLTYPE": kind, "PRCPUP_ZLUNPARK": cores}
            for kind, cores in zip((3, 0), unparked, strict=True)
        ]
        time = monwrite.START_US + 2 * (number + 1) * monwrite.S_US
        groups.append((False, [monwrite.sim_record("D5R16", time, {}, {"TYPES": types})]))
    with zlens.open([monwrite.write(tmp_path / "a.mon", groups)]) as session:
        rows = session.sql("SELECT kind, subject, detail, record FROM event ORDER BY time").rows
    assert rows == [
        ("unparked cores", "IFL", "unparked 5 to 6", "D5R16"),
        ("unparked cores", "CP", "unparked 1 to 2", "D5R16"),
        ("unparked cores", "IFL", "unparked 6 to 5", "D5R16"),
    ]


@pytest.mark.parametrize(
    ("record", "values", "subject", "detail"),
    [
        (
            "D3R7",
            {"STOATC_CPVOLSER": "PAGE01", "STOATC_CALTYPE": "PAGE"},
            "volume PAGE01",
            "PAGE, device 0000",
        ),
        ("D4R5", {"USEDFC_VMDUSER": "LINUX1", "USEDFC_VMDCPUAD": 2}, "guest LINUX1", "CPU 2, CP"),
        (
            "D2R9",
            {"SCLSHR_VMDUSER": "LINUX1", "SCLSHR_VMDRELSH": 200},
            "guest LINUX1",
            "relative 200, absolute 0, maximum 0",
        ),
        ("D1R3", {"MTRSUS_LOSTRCCT": 12}, "monitor", "12 records, recording resumes after a suspension"),
    ],
)
def test_details_are_readable(
    record: str, values: dict[str, object], subject: str, detail: str, tmp_path: Path
) -> None:
    groups = [
        monwrite.configuration(monwrite.START_US),
        monwrite.event(record, monwrite.START_US + 1, values),
    ]
    with zlens.open([monwrite.write(tmp_path / "a.mon", [*groups, *monwrite.minutes(2)])]) as session:
        rows = session.sql("SELECT subject, detail FROM event WHERE record IS NOT NULL").rows
        assert rows == [(subject, detail)]


def test_suspensions_are_gaps_with_lost_records(tmp_path: Path) -> None:
    start = monwrite.START_US
    groups = [
        monwrite.configuration(start),
        monwrite.event("D1R12", start + 60 * monwrite.S_US),
        monwrite.event("D1R3", start + 95 * monwrite.S_US, {"MTRSUS_LOSTRCCT": 1234}),
        *monwrite.minutes(4),
        monwrite.event("D1R12", start + 200 * monwrite.S_US),
    ]
    path = monwrite.write(tmp_path / "a.mon", groups)
    lost = "event records lost while recording was suspended"
    with zlens.open([path]) as session:
        gaps = [p for p in session._core.all_problems() if p.kind == "gap"]
        assert [(p.record, p.detail) for p in gaps] == [
            ("D1R3", f"1,234 {lost}, from 2026-03-02 09:01:00 to 2026-03-02 09:01:35 UTC"),
            ("D1R12", f"{lost}, from 2026-03-02 09:03:20 UTC to the end of the file"),
        ]
        data = path.read_bytes()
        assert all(data[p.offset + 4] == 1 for p in gaps if p.offset is not None)
        assert session.sql("SELECT count(*) FROM problem WHERE record = 'D1R3'").rows == [(1,)]
    # The record of the suspension start may be in an earlier file.
    groups = [
        monwrite.configuration(start),
        monwrite.event("D1R3", start, {"MTRSUS_LOSTRCCT": 1}),
        *monwrite.minutes(2),
    ]
    with zlens.open([monwrite.write(tmp_path / "b.mon", groups)]) as session:
        (gap,) = [p for p in session._core.all_problems() if p.kind == "gap"]
        assert gap.detail == f"1 {lost}, up to 2026-03-02 09:00:00 UTC"
