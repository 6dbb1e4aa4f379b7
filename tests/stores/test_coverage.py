"""Tests that every interval of a raw table is in the measures its rows feed, for any record types."""

from __future__ import annotations

import gc
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import zlens
from iterations import draws, iterations, quick_subset
from zlens import _native, cli, demo, lake, stores
from zlens.api import Session
from zlens.errors import InputError, LakeError
from zlens.inputs.options import Options, parse_time_spec, parse_zone
from zlens.lake.retention import UNMEASURED
from zlens.session.queries import Queries
from zlens.stores import bucket_sql, rollup_builder
from zlens.stores.coverage import Lost, coverage

sys.path.insert(0, str(Path(__file__).parents[2] / "fuzz"))
import texts

DAY_S = 86_400
#: The measures that have rows of SMF70CPU.
MEASURES = ("capacity", "cpu", "load")
HOUR_US = 3_600_000_000
#: Long after the data, which is partly current.
LATER_US = time.time_ns() // 1000 + 100 * DAY_S * 1_000_000

#: Writes an input without some of its record types, for part or all of its time.
Maker = Callable[[Path, random.Random], Path]


def smf_records(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Yield type, local time of day in hundredths of a second, and bytes of each record of a dump."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        length = int.from_bytes(data[at : at + 2])
        yield data[at + 5], int.from_bytes(data[at + 6 : at + 10]), data[at : at + length]
        at += length


def without_smf(path: Path, source: Path, dropped: dict[int, range]) -> Path:
    """Write a dump without records of some types in a time range, in hundredths of a second of the day."""
    kept = [record for kind, time, record in smf_records(source) if time not in dropped.get(kind, ())]
    path.write_bytes(b"".join(kept))
    return path


def some_smf(folder: Path) -> Maker:
    def make(path: Path, chance: random.Random) -> Path:
        dropped = {}
        for kind in chance.sample([30, 70, 72, 113], chance.randint(0, 3)):
            start = chance.choice([0, 29_700, 32_400]) * 100
            dropped[kind] = range(start, chance.choice([33_000, 86_400]) * 100)
        return without_smf(path, folder / demo.SMF_NAME, dropped)

    return make


def some_zvm(folder: Path) -> Maker:
    source = folder / demo.MONWRITE_NAME
    kinds = [
        (row["domain"], row["record"], row["count"])
        for row in _native.MonwriteFile.open(str(source)).inventory()
        # Configuration records name the system; D1R11 has the interval ends.
        if (row["domain"], row["record"]) not in ((1, 4), (1, 9), (1, 11))
    ]

    def make(path: Path, chance: random.Random) -> Path:
        data = bytearray(source.read_bytes())
        file = _native.MonwriteFile.open(str(source))
        for domain, record, count in chance.sample(kinds, len(kinds) // 2):
            offsets = [offset for offset, _ in file.records(domain, record, count)]
            start = chance.randrange(len(offsets))
            for offset in offsets[start:] if chance.random() < 0.5 else offsets:
                # A record number that IBM does not use and no layout describes.
                data[offset + 7] = 0xEE
        path.write_bytes(data)
        return path

    return make


def some_text(whole: list[bytes]) -> Maker:
    def make(path: Path, chance: random.Random) -> Path:
        lines = chance.choice(whole).splitlines(keepends=True)
        share = chance.choice([0.0, 0.05, 0.3])
        path.write_bytes(b"".join(line for line in lines if chance.random() >= share))
        return path

    return make


TEXTS = {name: whole for name, (_, whole) in texts.seeds().items() if name != "throughput"}


def makers(folder: Path) -> dict[str, Maker]:
    binary = {"smf": some_smf(folder), "zvm": some_zvm(folder)}
    return binary | {name: some_text(whole) for name, whole in TEXTS.items()}


def lost(session: Session) -> list[Lost]:
    offsets = {(info.system, info.source): info.utc_offset_s or 0 for info in session.systems}
    return coverage(session._core, bucket_sql.measures()).lost(offsets)


@pytest.mark.parametrize("source", ["smf", "zvm", *sorted(TEXTS)])
def test_measure_covers_every_raw_interval(source: str, demo_folder: Path, tmp_path: Path) -> None:
    make = makers(demo_folder)[source]
    for seed in range(iterations(25, 3)):
        path = make(tmp_path / f"{seed}.data", draws(f"{source} {seed}"))
        try:
            session = zlens.open(path, options=Options(tz=parse_zone("+01:00")))
        except InputError:
            # Too few records are left to recognize the format.
            continue
        with session:
            assert lost(session) == [], seed


# Lakes ------------------------------------------------------------------------------------------


def hours(inputs: Path, query: str) -> list[tuple[object, ...]]:
    with zlens.open(inputs) as session:
        rows = session.sql(query).rows
    del session
    # Without readers, removed files can be deleted.
    gc.collect()
    return rows


def unflagged_hours(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return the intervals with rows, without flagged ones, per measure, system, source and local hour."""
    found = {}
    with zlens.open(path) as session:
        zones = {(info.system, info.source): info.utc_offset_s or 0 for info in session.systems}
        for name in bucket_sql.measures():
            rows = session.sql(
                f"SELECT DISTINCT system, source, epoch_us(interval_end), seconds FROM {name} "
                "WHERE interval_end IS NOT NULL"
            ).rows
            ends = set()
            for system, source, end_us, seconds in rows:
                local_us = end_us - round((seconds or 0) * 500_000) + zones[system, source] * 1_000_000
                ends.add((system, source, -(-local_us // HOUR_US)))
            found[name] = sorted(ends)
    return found


@pytest.mark.parametrize("source", quick_subset(2, ["smf", "listing", "zvm", "rmf_xml", "hmc"]))
def test_measures_retain_removed_records(source: str, demo_folder: Path, tmp_path: Path) -> None:
    make = makers(demo_folder)[source]
    for seed in range(iterations(8, 1)):
        path, lake_path = tmp_path / f"{seed}.data", tmp_path / f"lake{seed}"
        if source in TEXTS:
            # A truncated printed report has rows that no measure shows, which is a problem.
            path.write_bytes(max(TEXTS[source], key=len))
        else:
            make(path, random.Random(f"lake {source} {seed}"))
        expected = unflagged_hours(path)
        lake.add([path], lake_path)
        # Every interval with a raw row is in a measure, so this raises no LakeError.
        stores.rollup(lake_path)
        tried = lake.forget_raw(lake_path, DAY_S, now_us=LATER_US, dry_run=True)
        lost = {entry.table for entry in tried.proof if entry.measures and not entry.is_retained}
        # Tables that only add columns to other rows are lost if these are missing, and the proof shows it.
        with zlens.open(path) as session:
            assert lost <= coverage(session._core, bucket_sql.measures()).only_adds
        removed = lake.forget_raw(lake_path, DAY_S, even_if_lost=[UNMEASURED, *lost], now_us=LATER_US)
        assert removed.gone
        assert removed.proof == tried.proof
        assert any(entry.is_retained for entry in removed.proof)
        gc.collect()
        with zlens.open(lake_path) as session:
            zones = {(info.system, info.source): info.utc_offset_s or 0 for info in session.systems}
            for name, ends in expected.items():
                table = f"{name}_hour"
                if table not in session._core.engine.raw_tables():
                    assert ends == [], name
                    continue
                kept = {
                    (system, source_name, (end_us + zones[system, source_name] * 1_000_000) // HOUR_US)
                    for system, source_name, end_us in session.sql(
                        f"SELECT DISTINCT system, source, epoch_us(bucket_end) FROM {table}"
                    ).rows
                }
                assert sorted(kept) == ends, name


@pytest.fixture
def without_counters(demo_folder: Path, tmp_path: Path) -> Path:
    """The demo's dump without counters after 09:02; types 70, 72 and 30 continue until 09:30."""
    dropped = {113: range(9 * 360_000 + 2 * 6_000 + 3_000, 24 * 360_000)}
    return without_smf(tmp_path / "drop.smf", demo_folder / demo.SMF_NAME, dropped)


def test_rmf_intervals_are_selected_without_counters(without_counters: Path) -> None:
    late = Options(start=parse_time_spec("09:10"), end=parse_time_spec("09:30"))
    with zlens.open(without_counters, options=late) as session:
        for table, ends in (
            ("load", [15, 30]),
            ("workload", [15, 30]),
            ("job", [15, 30]),
            ("interval", [15, 30]),
        ):
            query = f"SELECT DISTINCT minute(interval_end) FROM {table} ORDER BY 1"
            assert [minute for (minute,) in session.sql(query).rows] == ends, table
    with zlens.open(without_counters) as session:
        (info,) = session.systems
        assert info.last_us == info.intervals[-1].end_us
        # 32 minutes of counters, the rest of RMF's interval, and another RMF interval, without overlap.
        query = "SELECT count(*), sum(seconds), max(seconds) FROM interval"
        assert session.sql(query).rows == [(34, 3600.0, 900.0)]


@pytest.mark.long
@pytest.mark.parametrize("split", quick_subset(1, [True, False]))
def test_days_without_counters_are_rolled_up(
    without_counters: Path, demo_folder: Path, tmp_path: Path, split: bool
) -> None:
    """Hours are equal with all record types in one dump and with counters in a separate dump."""
    whole = demo_folder / demo.SMF_NAME
    files = [without_counters]
    if split:
        day = range(0, 24 * 360_000)
        others = {kind for kind, _, _ in smf_records(without_counters)} - {113}
        files = [
            without_smf(tmp_path / "113.smf", without_counters, dict.fromkeys(others, day)),
            without_smf(tmp_path / "rmf.smf", without_counters, {113: day}),
        ]
    lake_path, expected = tmp_path / "lake", tmp_path / "whole"
    for folder, names in ((lake_path, files), (expected, [whole])):
        lake.add(names, folder)
        stores.rollup(folder)
    late = Options(start=parse_time_spec("09:10"), end=parse_time_spec("09:30"))
    with zlens.open(lake_path, options=late) as session:
        assert session.sql("SELECT count(*) FROM load").rows == [(2,)]
    for table in ("load_hour", "workload_hour", "job_hour"):
        query = f"SELECT * FROM {table} ORDER BY ALL"
        assert hours(lake_path, query) == hours(expected, query) != [], table
    removed = lake.forget_raw(lake_path, DAY_S, even_if_lost=[UNMEASURED])
    assert len(removed.gone) == len(files)
    assert hours(lake_path, "SELECT * FROM load_hour ORDER BY ALL") == hours(
        expected, "SELECT * FROM load_hour ORDER BY ALL"
    )


def test_removal_keeps_inputs_reaching_beyond_range(without_counters: Path, tmp_path: Path) -> None:
    """A dump is removed only if all its data is within the time range."""
    lake_path = tmp_path / "lake"
    lake.add([without_counters], lake_path)
    removed = lake.forget(lake_path, Options(end=parse_time_spec("2010-03-09 09:05")))
    assert (removed.gone, len(removed.kept)) == ([], 1)
    assert hours(lake_path, "SELECT count(*) FROM load") == [(4,)]


@pytest.mark.long
def test_rows_in_no_measure_fail_loudly_and_stay(
    without_counters: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """If a measure omits rows, rollup and export fail every time, and no data is removed."""
    lake_path = tmp_path / "lake"
    lake.add([without_counters], lake_path)
    kept = bucket_sql.buckets_sql

    def fewer(name: str, *arguments: object) -> str:
        query = kept(name, *arguments)  # type: ignore[arg-type]
        return f"SELECT * FROM ({query}) WHERE false" if name in MEASURES else query

    select = Queries.select

    def without_load(queries: Queries, query: str, reads: dict[str, list[str]]) -> object:
        (name, *_) = reads
        return select(queries, f"SELECT * FROM ({query}) WHERE {name not in MEASURES}", reads)

    monkeypatch.setattr(rollup_builder.bucket_sql, "buckets_sql", fewer)
    monkeypatch.setattr(Queries, "select", without_load)
    said = r"rows of raw tables are in no measure: ZLZ1, 2010-03-09: 4 intervals of smf70_cpu"
    for _ in range(2):
        with pytest.raises(LakeError, match=said):
            stores.rollup(lake_path)
    with pytest.raises(LakeError, match=said):
        stores.export(lake_path, tmp_path / "export", "parquet")
    lost = "smf70_cpu, 12 rows: 4 of 4 intervals not in capacity, cpu, load"
    for accepted in ([], [UNMEASURED]):
        with pytest.raises(LakeError, match="data in no measure would be lost: .*" + lost):
            lake.forget_raw(lake_path, DAY_S, even_if_lost=accepted)
    assert cli.main(["lake", "rollup", str(lake_path)]) == 2
    assert cli.main(["lake", "forget", str(lake_path), "--raw", "--older-than", "1d"]) == 2
    assert "--even-if-lost unmeasured,smf70_cpu" in capsys.readouterr().err
    assert cli.main(["lake", "forget", str(lake_path), "--raw", "--older-than", "1d", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert f"lost: ZLZ1, 2010-03-09: {lost}" in out
    assert "kept as measures: ZLZ1, 2010-03-09: smf72_scs, 24 rows: 4 intervals, in workload" in out
    with zlens.open(lake_path) as session:
        assert session.sql("SELECT count(*) FROM smf70_cpu").rows == [(12,)]
    del session
    gc.collect()
    # Tables named in `even_if_lost` may be lost.
    removed = lake.forget_raw(lake_path, DAY_S, even_if_lost=[UNMEASURED, "smf70_cpu"])
    assert len(removed.gone) == 1
