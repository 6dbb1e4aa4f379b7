"""Tests of differences across inputs: they equal those of one file, whatever the import order."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import zlens
from iterations import quick_subset
from lake_builder import START_US, Table, configuration, differences, interval, recording, tables, write
from zlens import lake
from zlens.inputs.options import Options, parse_time_spec

PIECES = (range(0, 10), range(10, 20), range(20, 30))


def imported(folder: Path, *files: str) -> Path:
    for file in files:
        lake.add([file], folder)
    return folder


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Table]:
    """The tables of one file."""
    path = tmp_path_factory.mktemp("one") / "whole.data"
    write(path, [group for numbers in PIECES for group in recording(numbers, partitions=True)])
    return tables(path)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The same data in three files."""
    folder = tmp_path_factory.mktemp("three")
    return [
        write(folder / f"{at}.data", recording(numbers, partitions=True)) for at, numbers in enumerate(PIECES)
    ]


def test_boundary_sample_has_all_tables(one: dict[str, Table]) -> None:
    columns, _, rows = one["d0r2"]
    at = columns.index("sytprp_pfxutime_d") - 2
    assert len(rows) == 30 * 3 - 2
    # NULL: the first of each, and another of processor 2, which was offline once.
    assert sum(row[at] is None for row in rows) == 4
    assert {row[3] for row in one["event"][2]} >= {"counters were reset"}


@pytest.mark.long
@pytest.mark.parametrize("order", quick_subset(1, sorted(itertools.permutations(range(3)), reverse=True)))
def test_import_order_does_not_matter(
    tmp_path: Path, one: dict[str, Table], three: list[str], order: tuple[int, ...]
) -> None:
    lake_path = imported(tmp_path / "lake", *(three[at] for at in order))
    assert differences(tables(lake_path), one) == []
    assert lake.check(lake_path).faults == []


@pytest.mark.long
def test_file_ending_within_interval(tmp_path: Path) -> None:
    """Rows after the last interval end of a file belong to an interval that the next file closes."""
    whole = [group for number in range(8) for group in interval(number)]
    records = whole[7][4]
    first = [configuration(0), *whole[:7], (*whole[7][:4], records[:4])]
    second = [configuration(4), (*whole[7][:4], records[4:]), *whole[8:]]
    files = [write(tmp_path / "a.data", first), write(tmp_path / "b.data", second)]
    expected = tables(files)
    for order in (files, files[::-1]):
        lake_path = imported(tmp_path / f"lake{files.index(order[0])}", *order)
        assert differences(tables(lake_path), expected) == []
        with zlens.open(lake_path) as session:
            assert session.sql("SELECT count(*) FROM d0r2 WHERE interval_end IS NULL").rows == [(0,)]


def test_interval_without_end_at_boundary(tmp_path: Path) -> None:
    """Samples without an interval stay so, whatever file comes next."""
    groups = recording(range(0, 8))
    *records, _ = groups[-5][4]
    groups[-5] = (*groups[-5][:4], records)
    files = [write(tmp_path / "a.data", groups), write(tmp_path / "b.data", recording(range(8, 10)))]
    lake_path = imported(tmp_path / "lake", *files[::-1])
    assert differences(tables(lake_path), tables(files)) == []
    with zlens.open(lake_path) as session:
        assert session.sql("SELECT count(*) FROM d0r2 WHERE interval_end IS NULL").rows == [(3,)]


@pytest.mark.long
@pytest.mark.parametrize("order", quick_subset(1, [(2, 0, 1), (0, 1, 2)]))
def test_subject_missing_in_one_file(tmp_path: Path, order: tuple[int, ...]) -> None:
    """A device that is missing in one file is compared with the file before it."""
    few = {"devices": (0x100, 0x101)}
    groups = [recording(range(0, 4)), recording(range(4, 8), **few), recording(range(8, 12))]
    files = [write(tmp_path / f"{at}.data", some) for at, some in enumerate(groups)]
    lake_path = imported(tmp_path / "lake", *(files[at] for at in order))
    assert differences(tables(lake_path), tables(files)) == []
    with zlens.open(lake_path) as session:
        rows = session.sql(
            "SELECT seconds, flag FROM d6r3 WHERE ioddev_rdevdev = 767 AND flag IS NOT NULL"
        ).rows
    assert rows == [(300.0, "gap")]


@pytest.mark.parametrize("order", quick_subset(1, [(1, 2, 0), (0, 1, 2)]))
def test_overlapping_files(tmp_path: Path, order: tuple[int, ...]) -> None:
    """Samples that are already in another file are read once, as when the files are opened directly."""
    files = [
        write(tmp_path / "a.data", recording(range(0, 8))),
        write(tmp_path / "b.data", recording(range(5, 12))),
        write(tmp_path / "c.data", recording(range(12, 15))),
    ]
    expected, problems = tables(files), duplicates(files)
    assert len(problems) == 1
    lake_path = imported(tmp_path / "lake", *(files[number] for number in order))
    assert differences(tables(lake_path), expected) == []
    assert duplicates(lake_path) == problems


@pytest.mark.parametrize("order", quick_subset(1, [(1, 0), (0, 1)]))
def test_differing_samples_are_conflict(tmp_path: Path, order: tuple[int, ...]) -> None:
    whole = recording(range(0, 10))
    *records, last = whole[6][4]
    changed = bytes([*records[0][:-1], records[0][-1] ^ 1])
    others = [*whole[:6], (*whole[6][:4], [changed, *records[1:], last]), *whole[7:]]
    files = [write(tmp_path / "a.data", recording(range(0, 12))), write(tmp_path / "b.data", others)]
    expected = problems(files, "conflict")
    assert len(expected) == 1
    lake_path = imported(tmp_path / "lake", *(files[number] for number in order))
    assert problems(lake_path, "conflict") == expected


def problems(inputs: Path | list[str], kind: str) -> list[tuple[object, ...]]:
    with zlens.open(inputs) as session:
        found = [p for p in session._core.all_problems() if p.kind == kind]
    return [(p.system, p.file, p.offset, p.detail, p.bytes) for p in found]


def duplicates(inputs: Path | list[str]) -> list[tuple[object, ...]]:
    return problems(inputs, "duplicate")


def test_ipl_between_two_files(tmp_path: Path) -> None:
    groups = [recording(range(0, 4)), recording(range(6, 9), ipl_us=START_US + 5 * 60_000_000)]
    files = [write(tmp_path / f"{at}.data", some) for at, some in enumerate(groups)]
    lake_path = imported(tmp_path / "lake", *files[::-1])
    assert differences(tables(lake_path), tables(files)) == []
    with zlens.open(lake_path) as session:
        rows = session.sql(
            "SELECT count(*), count(sytprp_pfxutime_d) FROM d0r2 "
            "WHERE interval_end = TIMESTAMPTZ '2026-03-02 10:07Z'"
        ).rows
        assert rows == [(3, 0)]
        [(count,)] = session.sql("SELECT count(*) FROM event WHERE detail = 'IPL'").rows
        assert count > 0


def test_counter_step_back_is_problem_of_second_file(tmp_path: Path) -> None:
    files = [
        write(tmp_path / "a.data", recording(range(10, 12))),
        write(tmp_path / "b.data", recording(range(12, 14), step_back=4_000)),
    ]
    lake_path = imported(tmp_path / "lake", *files)

    def problems(inputs: object) -> set[tuple[object, ...]]:
        with zlens.open(inputs) as session:  # type: ignore[arg-type]
            return {
                (p.file, p.offset, p.record, p.kind, p.detail)
                for p in session._core.all_problems()
                if p.kind == "changed"
            }

    assert problems(lake_path) == problems(files)
    assert len(problems(lake_path)) == 3


def test_removed_input_leaves_no_trace(tmp_path: Path, three: list[str]) -> None:
    lake_path = imported(tmp_path / "lake", *three)
    low, high = "2026-03-02 10:10Z", "2026-03-02 10:20Z"
    removal = lake.forget(lake_path, Options(start=parse_time_spec(low), end=parse_time_spec(high)))
    assert removal.gone == [("LAKETEST", three[1])]
    assert removal.kept == []
    assert differences(tables(lake_path), tables([three[0], three[2]])) == []
    assert lake.check(lake_path).faults == []
    imported(lake_path, three[1])
    assert differences(tables(lake_path), tables(three)) == []
    assert lake.check(lake_path).faults == []


@pytest.mark.long
def test_import_rewrites_only_neighbors(tmp_path: Path, three: list[str]) -> None:
    lake_path = imported(tmp_path / "lake", *three)
    before = {path: path.stat().st_ino for path in lake_path.rglob("*.parquet")}
    other = write(tmp_path / "later.data", recording(range(30, 33)))
    imported(lake_path, other)
    after = {path: path.stat().st_ino for path in lake_path.rglob("*.parquet")}
    gone = [path for path in before if path not in after]
    # The former last input is rewritten: rows after its last interval end were open.
    assert all("2026-03-02" in str(path) for path in gone)
    assert {path: inode for path, inode in before.items() if path in after}.items() <= after.items()
