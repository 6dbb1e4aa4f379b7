"""Tests that several z/VM systems in one file, or of one name, are separate systems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import guest_builder
import monwrite_builder as monwrite
import zlens
from zlens.cli import main

MINUTES = 5
#: Machine identities, as in D1R4.
HERE = {"MTRSYS_SYSMTYPE": "8561", "MTRSYS_SYSMSEQC": "0000000000011111"}
THERE = {"MTRSYS_SYSMTYPE": "3931", "MTRSYS_SYSMSEQC": "0000000000022222"}


def recording(path: Path, name: str, minute: int = 0, **config: str) -> Path:
    """Write five minutes of a system with one guest, which is named after it."""
    start = monwrite.START_US + minute * monwrite.MINUTE_US
    ends = [start + number * monwrite.MINUTE_US for number in range(MINUTES)]
    intervals = [
        monwrite.interval(
            end,
            [
                guest_builder.processor(end, 20.0 * number),
                guest_builder.activity(end, f"G{name}", 15.0 * number),
            ],
        )
        for number, end in enumerate(ends)
    ]
    settings = {**monwrite.SIM_CONFIG, "MTRSYS_SYSTMID": name, **config}
    return monwrite.write(path, [monwrite.configuration(start, settings), *intervals])


def joined(folder: Path, *files: Path) -> Path:
    path = folder / "joined.monwrite"
    path.write_bytes(b"".join(file.read_bytes() for file in files))
    return path


def guests(*paths: Path) -> list[tuple[Any, ...]]:
    with zlens.open(list(paths)) as session:
        return session.sql(
            "SELECT system, userid, count(*), sum(cpu_s) FROM guest GROUP BY ALL ORDER BY 1, 2"
        ).rows


@pytest.mark.parametrize("minute", [0, 10])
def test_consecutive_systems_are_two_systems(tmp_path: Path, minute: int) -> None:
    """The second is not a duplicate of the first at the same minutes, nor part of it at later ones."""
    first, second = recording(tmp_path / "a", "AAA"), recording(tmp_path / "b", "BBB", minute)
    path = joined(tmp_path, first, second)
    assert guests(path) == [("AAA", "GAAA", 4, 60.0), ("BBB", "GBBB", 4, 60.0)]
    with zlens.open(path) as session:
        (problem,) = session._core.all_problems()
        assert problem.offset == first.stat().st_size
        assert "the recording of another system begins here, BBB" in problem.detail
        rows = session.sql(
            'SELECT system, min("offset"), max("offset") FROM d0r2 GROUP BY ALL ORDER BY 1'
        ).rows
    assert rows[0][2] < first.stat().st_size < rows[1][1]
    with zlens.open(second) as session:
        own = session.sql('SELECT min("offset") FROM d0r2').rows[0][0]
    assert rows[1][1] == own + first.stat().st_size


def test_returning_system_is_same_system(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [
        recording(tmp_path / "a", "AAA"),
        recording(tmp_path / "b", "BBB", 10),
        recording(tmp_path / "c", "AAA", 10),
    ]
    path = joined(tmp_path, *files)
    assert guests(path) == guests(*files)
    with zlens.open(path) as session:
        (source,) = session._core.sources
        assert [(row.system, row.name, row.count) for row in source.inventory() if row.name == "D4R3"] == [
            ("AAA", "D4R3", 10),
            ("BBB", "D4R3", 5),
        ]
    lake = tmp_path / "lake"
    assert main(["import", str(path), "--lake", str(lake)]) == 0
    assert guests(lake) == guests(path)


def test_continued_recording_is_one_system(tmp_path: Path) -> None:
    files = recording(tmp_path / "a", "AAA", **HERE), recording(tmp_path / "b", "AAA", 5, **HERE)
    assert [row[:2] for row in guests(joined(tmp_path, *files))] == [("AAA", "GAAA")]
    assert [row[:2] for row in guests(*files)] == [("AAA", "GAAA")]


@pytest.mark.parametrize("together", [True, False])
def test_same_zvm_name_on_two_machines_is_two_systems(tmp_path: Path, together: bool) -> None:
    files = recording(tmp_path / "a", "AAA", **HERE), recording(tmp_path / "b", "AAA", **THERE)
    rows = guests(joined(tmp_path, *files)) if together else guests(*files)
    assert rows == [("AAA", "GAAA", 4, 60.0), ("AAA-22222", "GAAA", 4, 60.0)]
