"""Tests of RMF records in two dumps of a lake: they are shown once, whatever the import order."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

import zlens
from iterations import draws, iterations, quick_subset
from lake_builder import MEASURES, Table, differences, tables_of
from readers.section_builder import START_US as RMF_US
from readers.section_builder import Sections, job, rmf
from readers.smf113_builder import START_US as COUNTERS_US
from readers.smf113_builder import dump, record
from zlens import lake
from zlens.errors import InputError
from zlens.inputs.options import Options, parse_time_spec

QUARTER = 900
#: Seconds between the start times of the counter records and of RMF's.
LATER = (RMF_US - COUNTERS_US) // 1_000_000
CLASSES = ("ONLINE", "BATCH", "IDLE1", "IDLE2")


def processors(end: float, system: str = "SYSA") -> list[bytes]:
    step = round(end) // QUARTER
    sections: Sections = {
        "control": [{"MOD": "2817", "HWM": "A01", "MDL": "704", "DSA": 900, "HHF": ["HHS", "HHA"]}],
        "cpu": [{"WAT": 100.0 + step + cpu, "CID": cpu, "CNF": ["DCI", "STA"], "TYP": 0} for cpu in range(2)],
        "partition": [
            {"LPM": "ZOSA", "LPN": 1, "BDN": 2, "BDS": 0, "PFL": ["PWF"]},
            {"LPM": "ZOSB", "LPN": 2, "BDN": 1, "BDS": 2, "PFL": ["PWF"]},
        ],
        "logical": [
            {
                "PDT": 400_000_000 + step + cpu,
                "EDT": 390_000_000,
                "ONT": QUARTER * 1_000_000,
                "VPA": cpu,
                "CIX": 1,
            }
            for cpu in range(3)
        ],
        "name": [{"CIN": "CP", "CTN": 4, "CAN": 3600}],
    }
    return rmf(70, end, sections, system=system, product={"PTN": 1, "SAM": 900})


def work(end: float, name: str, system: str = "SYSA") -> bytes:
    """Return a service class; idle ones have only a name."""
    idle = name.startswith("IDLE")
    sections: Sections = {
        "wms": [{"MCNM": name, "MWNM": "WORK", "MNSP": "POLICY", "MCPU": 10_000, "MSRB": 10_000, "MADJ": 16}],
        "scs": [{"CPER": 1, "CSRV": 0.0 if idle else end, "CCPU": 0.0 if idle else 1e6 * end}],
    }
    (one,) = rmf(72, end, sections, system=system)
    return one


def counters(end: float) -> list[bytes]:
    return [
        record(2, cpu, LATER + end, (round(end) * 1_000_003, round(end) * 700_001 + cpu)) for cpu in range(2)
    ]


def quarter(number: int, *, counted: bool = False) -> list[bytes]:
    """Return all records written at the end of an interval."""
    end = QUARTER * (number + 1)
    counter_records = counters(end) if counted else []
    ended = {"JBN": f"JOB{number}", "JNM": f"JOB{number:05}", "SIT": RMF_US, "STD": RMF_US}
    jobs = [job(4, end - 5, {"id": [ended], "cas": [{"CPT": 100 * number + 7}]})]
    return [*jobs, *counter_records, *processors(end), *(work(end, name) for name in CLASSES)]


def written(numbers: range, *, counted: bool = False) -> list[bytes]:
    return [one for number in numbers for one in quarter(number, counted=counted)]


def shown(
    inputs: Path | list[str], options: Options | None = None, *, origins: bool = True
) -> dict[str, Table]:
    """Return all raw tables and intervals, and optionally their measures."""
    with zlens.open(inputs, options=options) as session:
        names = [name for name, kind, _ in session.sql("SHOW TABLES").rows if kind == "raw"]
        names = [name for name in names if name.startswith("smf")] + ["system", "interval"]
        if origins:
            names += [*(MEASURES - {*names}), "workload", "partition", "job"]
        return tables_of(session, names)


#: Tables by the contents of the files; they do not depend on the import order.
_DIRECT: dict[tuple[tuple[bytes, ...], Options | None], dict[str, Table]] = {}


def direct(files: Sequence[Path], options: Options | None = None) -> dict[str, Table]:
    key = (tuple(file.read_bytes() for file in files), options)
    if key not in _DIRECT:
        _DIRECT[key] = shown([os.fspath(file) for file in files], options)
    return _DIRECT[key]


def imported(folder: Path, files: Sequence[Path], order: Sequence[int]) -> Path:
    for at in order:
        lake.add([files[at]], folder)
    return folder


def same(lake_path: Path, files: Sequence[Path]) -> None:
    """Check that a lake shows the tables of the files and has no faults."""
    expected = direct(files)
    assert {"smf70_cpu", "smf72_scs"} <= expected.keys()
    assert expected["smf72_scs"][2]
    assert differences(shown(lake_path), expected) == []
    assert lake.check(lake_path).faults == []


def count(lake_path: Path, table: str) -> int:
    with zlens.open(lake_path) as session:
        [(rows,)] = session.sql(f"SELECT count(*) FROM {table}").rows
    return int(rows)


@pytest.mark.parametrize("counted", quick_subset(1, [False, True]))
@pytest.mark.parametrize("order", quick_subset(1, [(1, 0), (0, 1)]))
def test_two_overlapping_dumps(tmp_path: Path, order: tuple[int, ...], counted: bool) -> None:
    files = [
        dump(tmp_path / "a.smf", written(range(6), counted=counted)),
        dump(tmp_path / "b.smf", written(range(3, 9), counted=counted)),
    ]
    lake_path = imported(tmp_path / "lake", files, order)
    same(lake_path, files)
    assert count(lake_path, "smf70_product") == 9
    assert count(lake_path, "smf72_wms") == 9 * len(CLASSES)
    assert count(lake_path, "job") == 9
    with zlens.open(lake_path) as session:
        [(seconds,)] = session.sql("SELECT sum(r723ccpu) FROM smf72_scs WHERE r723ccpu > 0").rows
        found = [
            p
            for p in session._core.all_problems()
            if p.kind == "duplicate" and p.record in ("SMF 70.1", "SMF 72.3")
        ]
    assert seconds == 2 * sum(1e6 * QUARTER * (number + 1) for number in range(9))
    assert {(p.record, p.detail.split(" ")[0]) for p in found} == {("SMF 70.1", "3"), ("SMF 72.3", "12")}


@pytest.mark.long
@pytest.mark.parametrize("order", [(1, 2, 0), (2, 1, 0), (0, 1, 2)])
def test_removed_dump_can_be_imported_again(tmp_path: Path, order: tuple[int, ...]) -> None:
    # Each dump ends at another time, so that a time range selects it.
    files = [
        dump(tmp_path / "a.smf", written(range(5))),
        dump(tmp_path / "b.smf", written(range(2, 8))),
        dump(tmp_path / "c.smf", written(range(4, 11))),
    ]
    lake_path = imported(tmp_path / "lake", files, order)
    same(lake_path, files)
    first = parse_time_spec("2026-01-01 00:01")
    gone = lake.forget(
        lake_path, Options(start=first, end=parse_time_spec("2026-01-01 01:20"), utc=True)
    ).gone
    assert gone == [("SYSA", os.fspath(files[0]))]
    same(lake_path, files[1:])
    assert count(lake_path, "smf70_product") == 9
    lake.add([files[0]], lake_path)
    same(lake_path, files)
    last = parse_time_spec("2026-01-01 02:50")
    gone = lake.forget(lake_path, Options(start=parse_time_spec("2026-01-01 00:50"), end=last, utc=True)).gone
    assert gone == [("SYSA", os.fspath(files[2]))]
    same(lake_path, files[:2])


@pytest.mark.long
def test_removed_dump_leaves_no_trace(tmp_path: Path) -> None:
    files = [dump(tmp_path / "a.smf", written(range(4))), dump(tmp_path / "b.smf", written(range(2, 6)))]
    lake_path = imported(tmp_path / "lake", files, (0, 1))
    lake.forget(
        lake_path,
        Options(start=parse_time_spec("2026-01-01 00:01"), end=parse_time_spec("2026-01-01 01:05"), utc=True),
    )
    same(lake_path, files[1:])
    alone = imported(tmp_path / "alone", files, (1,))

    def rows(folder: Path) -> set[str]:
        return {path.relative_to(folder).as_posix() for path in folder.glob("smf7*/**/*.parquet")}

    assert rows(lake_path) == rows(alone)


@pytest.mark.long
@pytest.mark.parametrize("order", quick_subset(1, [(1, 0), (0, 1)]))
def test_dumps_meeting_in_interval_lose_no_record(tmp_path: Path, order: tuple[int, ...]) -> None:
    """The classes of one interval are in two dumps, one class in both."""
    end = QUARTER * 2
    records = [*processors(end), *(work(end, name) for name in CLASSES)]
    files = [
        dump(tmp_path / "a.smf", [*written(range(1)), *records[:3]]),
        dump(tmp_path / "b.smf", [*records[2:], *written(range(2, 3))]),
    ]
    lake_path = imported(tmp_path / "lake", files, order)
    same(lake_path, files)
    assert count(lake_path, "smf72_wms") == 3 * len(CLASSES)


@pytest.mark.long
def test_consecutive_dumps_have_no_boundary(tmp_path: Path) -> None:
    files = [dump(tmp_path / "a.smf", written(range(3))), dump(tmp_path / "b.smf", written(range(3, 6)))]
    lake_path = imported(tmp_path / "lake", files, (1, 0))
    same(lake_path, files)
    manifest = json.loads((lake_path / "manifest.json").read_text())
    assert [part["seam"] for one in manifest["inputs"] for part in one["parts"]] == [None, None]


@pytest.mark.long
def test_different_records_are_both_read(tmp_path: Path) -> None:
    """Records with another class, system, write time or count."""
    end = QUARTER
    one = work(end, "IDLE1")
    changed = bytearray(one)
    # The write time in the header.
    changed[6:10] = (int.from_bytes(one[6:10]) + 1).to_bytes(4)
    files = [
        dump(tmp_path / "a.smf", [*processors(end), one, work(end, "ONLINE")]),
        dump(
            tmp_path / "b.smf",
            [*processors(end + 0.5), bytes(changed), work(end, "IDLE2"), *processors(end, "SYSB")],
        ),
    ]
    lake_path = imported(tmp_path / "lake", files, (1, 0))
    same(lake_path, files)
    assert count(lake_path, "smf72_wms") == 4
    assert count(lake_path, "smf70_product") == 3


@pytest.mark.long
@pytest.mark.parametrize("order", [(1, 0), (0, 1)])
def test_counters_in_one_dump_and_rmf_in_both(tmp_path: Path, order: tuple[int, ...]) -> None:
    files = [
        dump(tmp_path / "a.smf", written(range(4), counted=True)),
        dump(tmp_path / "b.smf", written(range(2, 6))),
    ]
    same(imported(tmp_path / "lake", files, order), files)


#: Cuts of a dump, and the order of their import, that once differed in a lake.
CUTS = (
    ([[0, 8], [12, 21], [7, 45]], [2, 1, 0]),  # the nested one has the earliest counters last
    ([[2, 24], [0, 31], [10, 38]], [0, 2, 1]),  # two begin within one interval
    ([[13, 41], [38, 41]], [1, 0]),  # a job's record is in both
)


def _mask_samples(tables: dict[str, Table]) -> list[int]:
    """Remove and return the samples of intervals: a lake has those of the input with the most."""
    columns, types, rows = tables["interval"]
    samples = [row[-1] for row in rows]
    tables["interval"] = columns, types, [row[:-1] for row in rows]
    return samples


@pytest.mark.long
def test_random_cuts_of_dump(tmp_path: Path) -> None:
    chance = draws(70)
    records = written(range(6), counted=True)
    whole = direct([dump(tmp_path / "whole.smf", records)])

    def cut() -> list[int]:
        # A dump of one job has no time zone; a lake refuses it without one.
        first = chance.randrange(len(records) - 1)
        return [first, chance.randrange(first + 2, len(records) + 1)]

    for number in range(len(CUTS) + iterations(6, 1)):
        if number < len(CUTS):
            cuts, order = CUTS[number]
        else:
            cuts = [cut() for _ in range(chance.choice((2, 3)))]
            order = chance.sample(range(len(cuts)), len(cuts))
        pieces = [records[first:last] for first, last in cuts]
        area = tmp_path / str(number)
        area.mkdir()
        files = [dump(area / f"{at}.smf", some) for at, some in enumerate(pieces)]
        lake_path = imported(area / "lake", files, order)
        held = {at for first, last in cuts for at in range(first, last)}
        # Equal tables and intervals imply equal measures, which are compared for some splits only.
        full = number % 3 == 0 or len(held) == len(records)
        mine = shown(lake_path, origins=full)
        theirs = shown([os.fspath(file) for file in files], origins=full)
        fewest = _mask_samples(mine), _mask_samples(theirs)
        assert all(map(operator.le, *fewest)), (cuts, order)
        assert differences(mine, theirs) == [], (cuts, order)
        assert lake.check(lake_path).faults == []
        if len(held) == len(records):
            for table in ("smf70_cpu", "smf72_scs", "workload", "partition"):
                assert mine[table] == whole[table]


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """A lake and its dumps, in which counters of the first end long before its other records."""
    folder = tmp_path_factory.mktemp("long")
    files = [
        dump(folder / "a.smf", [*written(range(4), counted=True), *written(range(4, 9))]),
        dump(folder / "b.smf", [*written(range(7, 8)), *written(range(8, 11), counted=True)]),
        dump(folder / "c.smf", written(range(2, 6), counted=True)),
    ]
    return imported(folder / "lake", files, (1, 2, 0)), files


@pytest.mark.long
@pytest.mark.parametrize(
    "times", quick_subset(1, [("01:00", "02:00"), ("01:45", "02:20"), ("00:10", "00:40")])
)
def test_lake_options_select_times_of_dumps(long: tuple[Path, list[Path]], times: tuple[str, str]) -> None:
    lake_path, files = long
    start, end = times
    options = Options(
        start=parse_time_spec(f"2026-01-01 {start}"), end=parse_time_spec(f"2026-01-01 {end}"), utc=True
    )
    expected = direct(files, options)
    assert expected["smf70_cpu"][2]
    assert differences(shown(lake_path, options), expected) == []


@pytest.mark.long
@pytest.mark.parametrize("order", quick_subset(1, [(1, 0), (0, 1)]))
def test_split_records_in_two_dumps(tmp_path: Path, order: tuple[int, ...]) -> None:
    """Both dumps have all segments of each record, except of one that only the second has."""

    def pieces(end: float) -> list[bytes]:
        sections: Sections = {"cpu": [{"WAT": end + cpu, "CID": cpu} for cpu in range(200)]}
        segments = rmf(70, end, sections, most=4000)
        assert len(segments) > 2
        return segments

    first, second, third = (pieces(QUARTER * number) for number in (1, 2, 3))
    work_of = [work(QUARTER, name) for name in CLASSES]
    files = [
        dump(tmp_path / "a.smf", [*first, *work_of, *second]),
        dump(tmp_path / "b.smf", [*second, *work_of, *third]),
    ]
    lake_path = imported(tmp_path / "lake", files, order)
    same(lake_path, files)
    assert count(lake_path, "smf70_cpu") == 3 * 200


def test_lake_and_overlapping_dump_are_not_added(tmp_path: Path) -> None:
    """Records are compared within a lake or among files, not between a lake and a file."""
    records = written(range(6))
    per_quarter = len(records) // 6
    for name, begin, refused in (("after", 3, False), ("overlapping", 1, True)):
        area = tmp_path / name
        area.mkdir()
        first_half = dump(area / "first.smf", records[: 3 * per_quarter])
        rest = dump(area / "rest.smf", records[begin * per_quarter :])
        lake.add([first_half], area / "lake")
        query = "SELECT count(*), sum(seconds) FROM load"
        if refused:
            with pytest.raises(InputError, match=r"SYSA is in two inputs at the same time, for 30 minutes"):
                zlens.open([area / "lake", rest])
            continue
        with zlens.open([area / "lake", rest]) as session:
            assert session.sql(query).rows == [(6, 6.0 * QUARTER)]
