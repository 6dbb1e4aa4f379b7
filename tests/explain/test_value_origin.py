"""Tests of values with the bytes of their records, decoded by decoders of this test's own."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

import zlens
from iterations import draws
from zlens import demo, lake
from zlens.api import Session
from zlens.catalog import measures
from zlens.cli import main
from zlens.compiler.nodes import is_joined
from zlens.errors import QueryError
from zlens.explain.value_origin import FieldBytes, OriginOfValue, RecordBytes, find_origin
from zlens.inputs.options import parse_time_spec

TOD_S = 4096e6
#: Seconds between 1900 and 1970.
TOD_EPOCH_S = 2_208_988_800
NINE = parse_time_spec("2010-03-09 09:00")


def origin_of(session: Session, name: str, **how: Any) -> OriginOfValue:
    return find_origin(session._core, name, **how)


def number(record: RecordBytes, column: str) -> int:
    assert record.data is not None
    [field] = [field for field in record.fields if field.column == column]
    assert field.offset is not None
    return int.from_bytes(record.data[field.offset : field.offset + field.length])


@pytest.fixture(scope="module")
def vm_session(demo_folder: Path):
    with zlens.open(demo_folder / demo.MONWRITE_NAME) as session:
        yield session


def test_bytes_of_two_samples_give_the_value(vm_session: Session) -> None:
    found = origin_of(vm_session, "cpu.user_pct", at=NINE, subject={"cpu_id": "2"})
    record, former = found.records
    assert (record.before, former.before) == (False, True)
    # SYTPRP_PFXUTIME is in TOD units, and the interval one minute.
    used = (number(record, "sytprp_pfxutime") - number(former, "sytprp_pfxutime")) / TOD_S
    assert found.value == pytest.approx(100 * used / 60, rel=1e-12)
    assert record.roles["user_time"] == pytest.approx(used, rel=1e-12)
    [field] = record.fields
    assert field.difference == number(record, "sytprp_pfxutime") - number(former, "sytprp_pfxutime")
    for each, minute in ((record, 60), (former, 59)):
        assert each.data is not None
        # The header: length, domain 0, record 2, TOD clock.
        assert (int.from_bytes(each.data[:2]), each.data[4], each.data[7]) == (len(each.data), 0, 2)
        seconds = int.from_bytes(each.data[8:16]) / TOD_S - TOD_EPOCH_S
        assert each.time is not None
        assert seconds == pytest.approx(each.time.timestamp(), abs=1e-5)
        start = dt.datetime(2010, 3, 9, 7, tzinfo=dt.UTC).timestamp()
        assert seconds == pytest.approx(start + 60 * minute, abs=0.1)


def test_entries_of_a_record_have_own_places(vm_session: Session) -> None:
    subject = {"partition": "ZLDEMO", "cpu_type": "IFL"}
    found = origin_of(vm_session, "partition.total_pct", at=NINE, subject=subject)
    pairs = list(zip(found.records[::2], found.records[1::2], strict=True))
    used = [number(a, "sytcup_lcucactm") - number(b, "sytcup_lcucactm") for a, b in pairs]
    # LCUCACTM counts microseconds of each of four logical processors.
    assert len(used) == 4
    assert found.value == pytest.approx(100 * sum(used) / (4 * 60e6), rel=1e-9)
    assert len({record.offset for record, _ in pairs}) == 1


def test_smf_record_gives_busy_of_a_processor(demo_folder: Path) -> None:
    with zlens.open(demo_folder / demo.SMF_NAME) as session:
        found = origin_of(session, "cpu.busy_pct", at=NINE, subject={"cpu_id": "1"}, source="smf")
    [record] = [record for record in found.records if record.table == "smf70_logical"]
    assert record.data is not None
    # The record descriptor word, and the type.
    assert (int.from_bytes(record.data[:2]), record.data[5]) == (len(record.data), 70)
    busy, online = (number(record, column) for column in ("smf70pdt", "smf70ont"))
    assert found.value == pytest.approx(100 * busy / online, rel=1e-12)


def ibm_float(raw: bytes) -> float:
    """Decode a hexadecimal floating point number: base 16, excess 64."""
    sign = -1 if raw[0] & 0x80 else 1
    return float(sign * int.from_bytes(raw[1:]) * 16.0 ** ((raw[0] & 0x7F) - 64 - 2 * (len(raw) - 1)))


def decodings(raw: bytes) -> list[Any]:
    """Return what bytes may be: numbers, times of 1/4096 microseconds, and texts."""
    unsigned = int.from_bytes(raw)
    clock = unsigned / TOD_S - TOD_EPOCH_S
    return [
        unsigned,
        int.from_bytes(raw, signed=True),
        unsigned / TOD_S,
        int.from_bytes(raw, signed=True) / TOD_S,
        ibm_float(raw),
        raw.decode("cp037").rstrip(" \0"),
        raw.rstrip(b" \0").decode("ascii", "replace"),
        raw.hex(),
        clock,
    ]


def is_given_by(field: FieldBytes, raw: bytes) -> bool:
    value = field.value.timestamp() if isinstance(field.value, dt.datetime) else field.value
    if isinstance(value, float):
        return any(
            each == pytest.approx(value, rel=1e-9, abs=1e-5)
            for each in decodings(raw)
            if not isinstance(each, str)
        )
    return value in decodings(raw)


@pytest.mark.parametrize("name", [demo.MONWRITE_NAME, demo.SIM_NAME, demo.SMF_NAME])
def test_bytes_shown_decode_to_values_shown(demo_folder: Path, name: str) -> None:
    path = demo_folder / name
    contents = path.read_bytes()
    columns = [
        f"{table.name}.{column.name}"
        for table, column in measures.all_columns()
        if is_joined(table.name) and column.aggregate != "key" and not table.plain
    ]
    checked = 0
    random = draws(f"value origin {name}")
    with zlens.open(path) as session:
        filled = [column for column in columns if session._core.has_data(column.partition(".")[0])]
        for column in random.sample(filled, 12):
            try:
                found = origin_of(session, column)
            except QueryError:  # It has no value in this file.
                continue
            for record in found.records:
                if record.data is None:
                    assert record.note
                    continue
                assert record.offset is not None
                assert contents[record.offset :].startswith(record.data), column
                for field in record.fields:
                    # The bits of a byte are columns of their own.
                    if field.offset is None or field.value is None or isinstance(field.value, bool):
                        continue
                    raw = record.data[field.offset : field.offset + field.length]
                    assert len(raw) == field.length
                    assert is_given_by(field, raw), (column, record.table, field, raw.hex())
                    checked += 1
    assert checked >= 10


def test_printed_report_shows_its_line(demo_folder: Path, tmp_path: Path, capsys) -> None:
    assert (
        main(["report", "cpu", str(demo_folder / demo.MONWRITE_NAME), "-o", str(tmp_path / "cpu.txt")]) == 0
    )
    capsys.readouterr()
    with zlens.open(tmp_path / "cpu.txt") as session:
        found = origin_of(session, "cpu.busy_pct", subject={"cpu_id": "1"})
    [record] = found.records
    assert record.data is not None
    assert f"{found.value:.1f}".lstrip("0") in record.data.decode()


def test_lake_says_where_the_record_was(demo_folder: Path, tmp_path: Path) -> None:
    lake.add([demo_folder / demo.MONWRITE_NAME], tmp_path / "lake")
    with zlens.open(tmp_path / "lake") as session:
        found = origin_of(session, "cpu.user_pct", at=NINE, subject={"cpu_id": "2"})
    record, _ = found.records
    assert record.data is None
    assert record.note == "a lake has the rows of the record, not its bytes: open the file itself"
    assert record.offset is not None
    assert record.fields[0].difference is not None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["cpu"], "'cpu' is not a column of a measure; expected something like cpu.busy_pct"),
        (["cpu.user_pct", "--at", "9:00"], "4 rows of cpu match; expected one of system=ZLDEMO"),
        (["cpu.user_pct", "--of", "userid=X"], "cpu has no key 'userid'; expected cpu_id"),
        (["cpu.user_pct", "--of", "3"], "'3' is not a subject; expected KEY=VALUE, such as cpu_id=3"),
        (["cpu.user_pct", "--at", "12:00"], "no value of cpu.user_pct matches; expected a time"),
        (["cpu.user_pct", "tv"], "--from shows a value of one column; expected one name"),
    ],
)
def test_wrong_request_for_bytes_is_one_line(demo_folder: Path, capsys, words: list[str], said: str) -> None:
    status = main(["explain", *words, "--from", str(demo_folder / demo.MONWRITE_NAME)])
    error = capsys.readouterr().err
    assert status == 2
    assert said in error
    assert error.count("\n") <= 2


def test_explain_prints_bytes_and_values(demo_folder: Path, capsys) -> None:
    path = demo_folder / demo.MONWRITE_NAME
    assert main(["explain", "cpu.user_pct", "--from", str(path), "--at", "9:00", "--of", "cpu_id=2"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(
        "cpu.user_pct = 51.96712675 %\nZLDEMO (zvm-monitor), cpu_id 2, interval that ended "
    )
    assert "Formula  100 * processor.user_time / seconds" in printed
    [line] = [line for line in printed.splitlines() if "difference" in line]
    shown = line.rpartition(": ")[2]
    assert int(shown, 16) == int(line.split()[1].rstrip(","))
    dumped = [line for line in printed.splitlines() if line.startswith("  000020  ")]
    assert dumped[0].replace(" ", "")[6:].startswith(shown)
