"""Tests that the native reader and the plain reader decode records of every layout to the same values."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import section_decoder
from random_records import some_record

from iterations import draws
from zlens import _native
from zlens.catalog import layouts, plans
from zlens.catalog.layout_selection import select_layout
from zlens.catalog.layouts import SIM, RecordLayout
from zlens.catalog.raw_columns import FIXED

NOWHERE = Path(__file__).parent / "no packs here"
#: Records that structure the file: end of interval, end of frame.
FRAMING = ("D1R11", "D1R13")
START_US = 1_268_119_800_000_000
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

Records = dict[str, list[tuple[RecordLayout, bytes]]]


def known(record: str, release: str | None) -> list[RecordLayout]:
    """Return the layouts for files of a release; for synthetic files, synthetic layouts if any exist."""
    return (layouts.sim_layouts(record) if release == SIM else []) or layouts.layouts(record, NOWHERE)


def random_file_records(seed: int, copies: int = 3, release: str | None = None) -> Records:
    """Return several records of each layout, each with its own header time."""
    rng = draws(seed)
    found: Records = {}
    for record in layouts.records(NOWHERE):
        if record in FRAMING:
            continue
        for layout in known(record, release):
            for _ in range(copies):
                data = bytearray(some_record(layout, rng)[0])
                if rng.random() < 0.2 and not layout.variable:
                    data = data[: rng.randint(20, len(data))]
                    data[:2] = len(data).to_bytes(2, "big")
                data[8:16] = _native.tod_from_unix_us(START_US + rng.randrange(60_000_000)).to_bytes(8, "big")
                chosen = select_layout(record, len(data), release=release, root=NOWHERE).layout
                assert chosen is not None
                found.setdefault(record, []).append((chosen, bytes(data)))
    return found


def written(records: Records, path: Path) -> _native.MonwriteFile:
    writer = _native.MonwriteWriter(str(path))
    for sample in (True, False):
        group = [data for record, some in records.items() for _, data in some if is_sample(record) == sample]
        writer.write([(sample, 0xFF, 0xFF, 0x0400 if sample else 0x0C38, group)])
    writer.finish()
    return _native.MonwriteFile.open(str(path))


def is_sample(record: str) -> bool:
    head = layouts.record_info(record, NOWHERE)
    assert head is not None
    return "sample" in head.kind


def plans_of(records: Records) -> list[dict[str, Any]]:
    return [
        plan
        for record, some in records.items()
        for plan in plans.record_plans(record, {len(data): layout for layout, data in some})
    ]


def decoder(file: _native.MonwriteFile, compiled: list[dict[str, Any]]) -> _native.MonwriteDecoder:
    system = {
        **{"name": "TEST", "source": "zvm-monitor", "files": [file], "interval_ends": []},
        **{"nominal_s": 60.0, "resets": []},
    }
    return _native.MonwriteDecoder([system], json.dumps(compiled))


def rows(stream: object) -> list[dict[str, Any]]:
    read: list[dict[str, Any]] = pa.table(stream).to_pylist()
    return read


def plain(values: Iterable[tuple[str, Any]], types: dict[str, str]) -> dict[str, Any]:
    """Return values of the plain reader with the native reader's types."""
    found = {}
    for name, value in values:
        column = name.lower()
        if types.get(column) == "time" and value is not None:
            value = EPOCH + dt.timedelta(microseconds=_native.unix_us_from_tod(value))
        if column in types:
            found[column] = value
    return found


@pytest.mark.parametrize(("seed", "release"), [(1, None), (2, None), (3, SIM), (4, SIM)])
def test_native_and_plain_reading_agree(seed: int, release: str | None, tmp_path: Path) -> None:
    records = random_file_records(seed, release=release)
    file = written(records, tmp_path / "all.monwrite")
    compiled = plans_of(records)
    native = decoder(file, compiled)
    for plan in compiled:
        if plan["join"]:
            # Other tests cover rows of joined records.
            continue
        record = layouts.record_id(plan["domain"], plan["record"])
        types = {c["name"]: c["type"] for c in plan["columns"]}
        wanted = []
        for layout, data in records[record]:
            own = plans.decode(layout, data)
            if plan["table"] == record.lower():
                wanted.append(plain(own.items(), types))
                continue
            name = plan["table"].removeprefix(f"{record.lower()}_")
            section = next((s for s in layout.sections if s.name.lower() == name), None)
            if section is not None and section.join is None:
                wanted += [
                    plain({**own, **entry}.items(), types)
                    for entry in section_decoder.decode_entries(layout, section, data)
                ]
        got = rows(native.stream(plan["table"]))
        assert len(got) == len(wanted), plan["table"]
        for one, expected in zip(got, wanted, strict=True):
            assert {name: one[name] for name in types} == {name: expected.get(name) for name in types}


def test_columns_equal_decoder_output(tmp_path: Path) -> None:
    records = random_file_records(3, copies=1)
    file = written(records, tmp_path / "all.monwrite")
    compiled = plans_of(records)
    native = decoder(file, compiled)
    for plan in compiled:
        schema = native.schema(plan["table"])
        assert [name for name, _ in schema[: len(FIXED)]] == list(FIXED)
        assert [(c.name, c.type) for c in plans.plan_columns(plan)] == schema[len(FIXED) :]
