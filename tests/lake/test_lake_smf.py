"""Tests of SMF dumps in a lake: rows and differences equal those of all dumps together, in any order."""

from __future__ import annotations

from pathlib import Path

import pytest

import zlens
from iterations import quick_subset
from lake_builder import differences, tables
from readers.smf113_builder import dump, other, record
from zlens import lake
from zlens.inputs.options import Options
from zlens.lake import documents

COUNTERS = (1_000_003, 700_001, 30_011, 9_973, 500, 77)


def counted(step: int, cpu: int) -> list[int]:
    """Return counters that grow from interval to interval."""
    return [(step + 5) * counter + step * step * (cpu + 1) for counter in COUNTERS]


def interval(step: int, subtype: int = 2, cpus: range = range(3), **facts: object) -> list[bytes]:
    """Return the records of one interval, a few milliseconds apart."""
    return [
        record(subtype, cpu, 300 * (step + 1) + 0.003 * cpu, counted(step, cpu), **facts)  # type: ignore[arg-type]
        for cpu in cpus
    ]


def steps(numbers: range, **facts: object) -> list[bytes]:
    return [one for step in numbers for one in interval(step, **facts)]  # type: ignore[arg-type]


def imported(folder: Path, files: list[Path], order: tuple[int, ...]) -> Path:
    for at in order:
        lake.add([files[at]], folder)
    return folder


def held(folder: Path, files: list[Path], order: tuple[int, ...]) -> None:
    """Check that a lake shows the same as its files."""
    lake_path = imported(folder, files, order)
    assert differences(tables(lake_path), tables([str(path) for path in files])) == []
    assert lake.check(lake_path).faults == []
    assert sorted(duplicates(lake_path)) == sorted(duplicates([str(path) for path in files]))


def duplicates(inputs: Path | list[str]) -> list[tuple[object, ...]]:
    with zlens.open(inputs) as session:
        return [
            (p.system, p.file, p.offset, p.record, p.detail, p.bytes)
            for p in session._core.all_problems()
            if p.kind == "duplicate"
        ]


@pytest.mark.long
@pytest.mark.parametrize("order", quick_subset(1, [(2, 0, 1), (0, 1, 2)]))
def test_subtype_2_is_compared_across_dumps(tmp_path: Path, order: tuple[int, ...]) -> None:
    records = steps(range(12))
    parts = (records[:11], records[11:20], records[20:])
    files = [dump(tmp_path / f"{at}.smf", some) for at, some in enumerate(parts)]
    held(tmp_path / "lake", files, order)
    whole = dump(tmp_path / "whole.smf", records)
    assert differences(tables(tmp_path / "lake"), tables(whole)) == []
    with zlens.open(tmp_path / "lake") as session:
        assert session.sql("SELECT count(*), count(c0_d), count(DISTINCT interval_end) FROM smf113").rows == [
            (36, 33, 12)
        ]


@pytest.mark.long
def test_overlapping_dumps(tmp_path: Path) -> None:
    files = [
        dump(tmp_path / "a.smf", [other(30, 1), *steps(range(0, 6))]),
        dump(tmp_path / "b.smf", [*steps(range(3, 9)), other(70, 1, 99)]),
    ]
    held(tmp_path / "lake", files, (1, 0))
    assert len(duplicates(tmp_path / "lake")) == 1


def test_subtype_1_in_one_dump_and_2_in_other(tmp_path: Path) -> None:
    files = [
        dump(tmp_path / "a.smf", steps(range(0, 4), subtype=2)),
        dump(tmp_path / "b.smf", steps(range(2, 6), subtype=1)),
    ]
    held(tmp_path / "lake", files, (1, 0))
    with zlens.open(tmp_path / "lake") as session:
        rows = session.sql("SELECT subtype, count(*) FROM smf113 GROUP BY subtype ORDER BY subtype").rows
    assert rows == [(1, 12), (2, 6)]


def test_change_between_dumps_is_event(tmp_path: Path) -> None:
    files = [
        dump(tmp_path / "a.smf", steps(range(0, 2))),
        dump(tmp_path / "b.smf", steps(range(2, 4), speed=4452)),
        dump(tmp_path / "c.smf", steps(range(4, 6))),
    ]
    held(tmp_path / "lake", files, (2, 1, 0))
    with zlens.open(tmp_path / "lake") as session:
        assert session.sql("SELECT before, after FROM smf113_change ORDER BY tod").rows == [
            (5206, 4452),
            (4452, 5206),
        ]


def test_run_starting_between_dumps(tmp_path: Path) -> None:
    files = [
        dump(tmp_path / "a.smf", steps(range(0, 3))),
        dump(tmp_path / "b.smf", steps(range(3, 6), run=1000.0)),
    ]
    held(tmp_path / "lake", files, (1, 0))


def test_several_systems_in_one_dump(tmp_path: Path) -> None:
    both = [one for step in range(3) for name in ("SYSA", "SYSB") for one in interval(step, system=name)]
    more = [one for step in range(3, 6) for name in ("SYSB", "SYSA") for one in interval(step, system=name)]
    files = [dump(tmp_path / "a.smf", both), dump(tmp_path / "b.smf", more)]
    held(tmp_path / "lake", files, (1, 0))
    lake_path = tmp_path / "lake"
    removal = lake.forget(lake_path, Options(systems=("SYSB",)))
    assert [system for system, _ in removal.gone] == ["SYSB", "SYSB"]
    with zlens.open(lake_path) as session:
        assert session.sql("SELECT DISTINCT system FROM smf113").rows == [("SYSA",)]
    assert [one.forgotten for one in lake.contents(lake_path).inputs] == [["SYSB"], ["SYSB"]]
    lake.add(files, lake_path)
    assert differences(tables(lake_path), tables([str(path) for path in files])) == []
    assert lake.check(lake_path).faults == []


def test_dump_without_decoded_records(tmp_path: Path) -> None:
    path = dump(tmp_path / "a.smf", [other(30, 4, at) for at in range(5)])
    lake.add([path], tmp_path / "lake")
    with zlens.open(path) as files, zlens.open(tmp_path / "lake") as session:
        assert session._core.sources[0].inventory() == files._core.sources[0].inventory()
        assert [info.system for info in session.systems] == ["SYSA"]


def test_document_of_many_systems_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # With a copy for each system, 400 systems of one dump took 564 MB, and 5,000 would take 150 times that.
    systems = [f"S{number:03}" for number in range(20)]
    path = dump(tmp_path / "many.smf", [one for name in systems for one in steps(range(2), system=name)])
    into = imported(tmp_path / "lake", [path], (0,))
    read, load = [], documents.load

    def counted_load(data: bytes, file: str) -> documents.InputDocument:
        read.append(file)
        return load(data, file)

    monkeypatch.setattr(documents, "load", counted_load)
    assert differences(tables(into), tables([path])) == []
    with zlens.open(str(into)) as session:
        assert sorted(info.system for info in session.systems) == systems
    assert len(read) == 2, "once by each open"
