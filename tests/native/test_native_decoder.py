"""Tests of raw tables from MONWRITE files by decoder plans."""

from __future__ import annotations

import copy
import datetime as dt
import json
from pathlib import Path
from typing import Any

import native_builder
import pyarrow as pa
import pytest

from zlens import _native
from zlens.errors import CatalogError, QueryError

PLAN = native_builder.PLAN


def rows(decoder: _native.MonwriteDecoder, columns: list[str], table: str = "d0r2") -> list[tuple[Any, ...]]:
    found = pa.table(decoder.stream(table, columns)).to_pydict()
    return list(zip(*(found[name] for name in columns), strict=True))


def test_native_table_has_leading_columns(tmp_path: Path) -> None:
    file = native_builder.write(tmp_path / "a", range(1, 3), processors=1)
    decoder = native_builder.decoder(file)
    assert decoder.schema("d0r2") == [
        ("system", "text"),
        ("source", "text"),
        ("file", "text"),
        ("offset", "int"),
        ("tod", "time"),
        ("interval_end", "time"),
        ("seconds", "float"),
        ("flag", "text"),
        ("cpu", "int"),
        ("busy", "int"),
        ("busy_d", "int"),
        ("name", "text"),
    ]
    first, second = pa.table(decoder.stream("d0r2")).to_pylist()
    start = dt.datetime.fromtimestamp(native_builder.START_US / 1e6, dt.UTC)
    minute = dt.timedelta(minutes=1)
    assert first == {
        "system": "SYS",
        "source": "made",
        "file": file.path,
        "offset": 4096,
        "tod": start + minute - dt.timedelta(microseconds=100),
        "interval_end": start + minute,
        "seconds": None,
        "flag": None,
        "cpu": 0,
        "busy": 1,
        "busy_d": None,
        "name": "ABLE",
    }
    assert (second["busy"], second["busy_d"], second["seconds"], second["flag"]) == (2, 1, 60.0, None)
    offset = file.records(0, 2, 2)[1][0]
    assert second["offset"] == offset


def test_last_sample_is_carried_to_next_file(tmp_path: Path) -> None:
    first = native_builder.write(tmp_path / "a", range(1, 4), processors=2)
    second = native_builder.write(tmp_path / "b", range(5, 7), processors=2)
    decoder = native_builder.decoder(first, second)
    of_one = [row[1:] for row in rows(decoder, ["cpu", "busy_d", "seconds", "flag"]) if row[0] == 1]
    assert of_one == [
        (None, None, None),
        (2, 60.0, None),
        (2, 60.0, None),
        (4, 120.0, "gap"),
        (2, 60.0, None),
    ]
    files = {row[0] for row in rows(decoder, ["file"])}
    assert files == {first.path, second.path}


def test_native_systems_are_separate(tmp_path: Path) -> None:
    files = [native_builder.write(tmp_path / name, range(1, 3), processors=1) for name in "ab"]
    systems = [native_builder.system(file, name=f"SYS{n}") for n, file in enumerate(files)]
    decoder = _native.MonwriteDecoder(systems, json.dumps([PLAN]))
    expected = [("SYS0", None), ("SYS0", 1), ("SYS1", None), ("SYS1", 1)]
    assert rows(decoder, ["system", "busy_d"]) == expected


def test_reset_evidence_nulls_differences_and_is_reported(tmp_path: Path) -> None:
    file = native_builder.write(tmp_path / "a", range(1, 5), processors=2)
    when = native_builder.tod(native_builder.START_US + 150_000_000)
    resets = [(when, "d0r2", "1", "VARY ON"), (when, "d9r9", None, "other"), (0, "d0r2", None, "long ago")]
    decoder = native_builder.decoder(file, resets=resets)
    found = rows(decoder, ["cpu", "busy_d", "seconds"])
    assert [row for row in found if row[0] == 1][2] == (1, None, None)
    assert [row for row in found if row[0] == 0][2] == (0, 1, 60.0)
    assert decoder.resets() == [("SYS", when, "d0r2", "1", "VARY ON")]


def test_native_problems_have_location_and_appear_once(tmp_path: Path) -> None:
    path = tmp_path / "a"
    writer = _native.MonwriteWriter(str(path))
    for minute, busy in enumerate((4_000_000_000, 3_000_000_000)):
        time_us = native_builder.START_US + minute * native_builder.MINUTE_US
        writer.write([(True, 0x80, 0, 0x1000, [native_builder.processor(5, time_us, busy)])])
    writer.finish()
    file = _native.MonwriteFile.open(str(path))
    decoder = native_builder.decoder(file)
    for _ in range(2):
        assert rows(decoder, ["busy_d"]) == [(None,), (None,)]
    sentence = "busy of 5 stepped back from 4000000000 to 3000000000 without evidence of a reset"
    assert decoder.problems() == [("SYS", str(path), 12288, 0, "D0R2", "changed", sentence)]
    # Without differences no problem is reported.
    quiet = native_builder.decoder(file)
    rows(quiet, ["busy", "seconds"])
    assert quiet.problems() == []


def test_one_pass_decodes_several_tables(tmp_path: Path) -> None:
    second = copy.deepcopy(PLAN)
    second.update(table="ends", record=11, domain=1, columns=[], subject=[], layouts=[])
    file = native_builder.write(tmp_path / "a", range(3), processors=2)
    decoder = _native.MonwriteDecoder([native_builder.system(file)], json.dumps([PLAN, second]))
    found = {table: batch.num_rows for table, batch in decoder.batches()}
    assert found == {"d0r2": 6, "ends": 3}
    assert [table for table, _ in decoder.batches(["ends"])] == ["ends"]
    ((_, batch),) = decoder.batches(["d0r2"], differences=False)
    names = pa.schema(batch).names
    assert names == ["system", "source", "file", "offset", "tod", "interval_end", "cpu", "busy", "name"]


def test_native_decoder_subtracts_leap_seconds(tmp_path: Path) -> None:
    file = native_builder.write(tmp_path / "a", range(1), processors=1)
    plain, leaping = (
        pa.table(
            _native.MonwriteDecoder([native_builder.system(file)], json.dumps([PLAN]), leap).stream("d0r2")
        )
        for leap in (0, 27)
    )
    for name in ("tod", "interval_end"):
        difference = plain[name][0].as_py() - leaping[name][0].as_py()
        assert difference == dt.timedelta(seconds=27)


def test_invalid_columns_and_plans_are_rejected(tmp_path: Path) -> None:
    decoder = native_builder.decoder(native_builder.write(tmp_path / "a", range(1)))
    with pytest.raises(QueryError, match="unknown raw table d9r9"):
        decoder.schema("d9r9")
    with pytest.raises(QueryError, match="has no column color"):
        decoder.stream("d0r2", ["cpu", "color"])
    with pytest.raises(QueryError, match="is selected twice"):
        decoder.stream("d0r2", ["cpu", "cpu"])
    with pytest.raises(QueryError, match="unknown raw table d9r9"):
        decoder.batches(["d9r9"])
    with pytest.raises(CatalogError, match="unknown column nobody"):
        native_builder.decoder(plan={**PLAN, "subject": ["nobody"]})
    with pytest.raises(CatalogError, match="plan"):
        _native.MonwriteDecoder([], "{")
    with pytest.raises(KeyError, match="resets"):
        _native.MonwriteDecoder([{"name": "S"}], "[]")


def test_no_columns_give_countable_rows(tmp_path: Path) -> None:
    decoder = native_builder.decoder(native_builder.write(tmp_path / "a", range(7), processors=11))
    reader = pa.RecordBatchReader.from_stream(decoder.stream("d0r2", []))
    assert sum(batch.num_rows for batch in reader) == 77
