"""Tests of MONWRITE files with zeroed sectors and with added or lost bytes: losses are reported."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import zlens
from iterations import draws
from zlens import _native

PAGE, SECTOR = 4096, 512


@pytest.fixture(scope="module")
def whole(sim_file: Path) -> bytes:
    return sim_file.read_bytes()


class Damaged:
    """The file with a change."""

    def __init__(self, path: Path, data: bytes | bytearray | None = None) -> None:
        if data is not None:
            path /= "damaged.monwrite"
            path.write_bytes(data)
        self.path = path
        self.file = _native.MonwriteFile.open(str(self.path))
        self.records = sum(row["count"] for row in self.file.inventory())
        self.problems = self.file.problems()
        self.skipped = sum(lost for _, _, lost, _, _ in self.problems)


def test_records_lost_to_zeros_are_problems(tmp_path: Path, whole: bytes) -> None:
    good = Damaged(tmp_path, whole)
    assert good.problems == []
    chance = draws(187_254)
    # Zeros from a sector to the end of its frame, and zeros of two sectors anywhere.
    sectors = chance.sample(range(len(whole) // SECTOR), 395)
    ends = [(at * SECTOR, -(at * SECTOR) % PAGE or PAGE) for at in sectors[:300]]
    anywhere = [(at * SECTOR, 2 * SECTOR) for at in sectors[300:]]
    fell = truncated = 0
    with open(good.path, "r+b", buffering=0) as file:
        for at, count in [(187_254, 1024), *ends, *anywhere]:
            kept = whole[at : at + count]
            os.pwrite(file.fileno(), bytes(len(kept)), at)
            seen = Damaged(good.path)
            os.pwrite(file.fileno(), kept, at)
            if seen.records < good.records:
                fell += 1
                assert seen.problems, f"{count} zeros at {at}"
            truncated += any(row[0] == "truncated" for row in seen.problems)
    assert fell > 250
    assert truncated > 150


def test_zeros_are_problem_row(tmp_path: Path, whole: bytes) -> None:
    data = bytearray(whole)
    # The end of a frame in the middle of the samples.
    at = len(whole) // 2 // PAGE * PAGE + PAGE - 1024
    data[at : at + 1024] = bytes(1024)
    path = Damaged(tmp_path, data).path
    with zlens.open(str(path)) as session:
        (row,) = session.sql(
            "select kind, \"offset\", bytes, detail from problem where kind = 'truncated'"
        ).rows
    kind, offset, lost, detail = row
    assert kind == "truncated"
    assert at - 400 < offset < at + 1024
    assert (offset + lost) % PAGE == 0
    assert "end-of-frame" in detail


@pytest.mark.parametrize("count", [1, -1, 7, -333, 5000])
def test_reading_resumes_after_added_or_lost_bytes(tmp_path: Path, whole: bytes, count: int) -> None:
    good = Damaged(tmp_path, whole).records
    chance = draws(count)
    for _ in range(6):
        at = chance.randrange(PAGE, len(whole) - 2 * PAGE)
        added = chance.randbytes(max(count, 0))
        seen = Damaged(tmp_path, whole[:at] + added + whole[at + max(-count, 0) :])
        assert seen.problems
        # At worst the records that one control record describes.
        assert good - seen.records < 400
        assert seen.file.complete
        assert seen.skipped < 200_000


def test_offsets_are_those_of_damaged_file(tmp_path: Path, whole: bytes) -> None:
    data = bytearray(whole)
    for at in (len(whole) * 3 // 4, len(whole) // 2 + 99, 400_001):
        data[at:at] = b"\x11\x22\x33"
    seen = Damaged(tmp_path, data)
    moved = [row for row in seen.problems if row[0] == "resync"]
    assert len(moved) == 3
    assert all("bytes were added" in detail for *_, detail in moved)
    with zlens.open(str(seen.path)) as session, zlens.open(_write(tmp_path, whole)) as before:
        query = 'select "offset" from d0r2 order by all'
        offsets = [offset for (offset,) in session.sql(query).rows]
        assert len(before.sql(query).rows) - len(offsets) < 60
    assert offsets[-1] > len(whole) * 9 // 10
    for offset in offsets:
        assert data[offset + 4 : offset + 8] == b"\0\0\0\x02"


def _write(folder: Path, data: bytes) -> str:
    path = folder / "whole.monwrite"
    path.write_bytes(data)
    return str(path)
