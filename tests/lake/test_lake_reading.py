"""Tests of lakes as input: only listed, required files are opened, with other inputs or without."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import zlens
from lake_builder import configuration, differences, interval, recording, tables, write
from zlens import lake, stores
from zlens.engine.connection import Connection
from zlens.engine.isolated import IsolatedTables
from zlens.errors import InputError, QueryError
from zlens.inputs.options import Options, parse_time_spec, parse_zone
from zlens.lake import file_names, parquet_engine
from zlens.lake.lake_folder import LakeFolder
from zlens.lake.manifest import LakeInput

#: Interval 839 is the last of 2 March, UTC.
DAYS = (range(0, 6), range(838, 842), range(1440, 1446))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two systems, three files each, two days."""
    path = tmp_path_factory.mktemp("reading")
    files = [
        write(path / f"{system}{at}.data", recording(numbers, system=system))
        for system in ("LAKETEST", "OTHER")
        for at, numbers in enumerate(DAYS)
    ]
    lake.add(files, path / "lake")
    return path


@pytest.fixture(scope="module")
def lake_path(folder: Path) -> Path:
    return folder / "lake"


def opened(lake_path: Path, question: str, options: Options) -> tuple[list[tuple[object, ...]], str]:
    """Return the rows of a query and the engine's plan of its scan of the lake."""
    selects: list[Callable[[Connection], str]] = []
    real = IsolatedTables.register

    def register(*arguments: Any) -> str:
        selects.append(arguments[-1])
        return real(*arguments)

    with zlens.open(lake_path, options=options) as session, pytest.MonkeyPatch.context() as patch:
        patch.setattr(IsolatedTables, "register", register)
        rows = session.sql(question).rows
        cursor = session._core.engine.store.cursor()
        [(_, plan)] = cursor.execute(f"EXPLAIN ANALYZE {selects[0](cursor)}").fetchall()
        return rows, plan


def number(plan: str, what: str) -> list[str]:
    return [line.split(what)[1].split("│")[0].strip() for line in plan.splitlines() if what in line]


QUESTION = "SELECT count(*), sum(sytprp_pfxutime_d) FROM d0r2"


def test_query_of_day_opens_its_files(lake_path: Path) -> None:
    chosen = Options(
        systems=("OTHER",),
        start=parse_time_spec("2026-03-03 00:05Z"),
        end=parse_time_spec("2026-03-04 00:00Z"),
    )
    rows, plan = opened(lake_path, QUESTION, chosen)
    assert rows[0][0] == 18
    with zlens.open(lake_path, options=chosen) as session:
        (source,) = session._core.sources
        paths = [path for name in source.tables for table in source.tables[name] for path in table.paths]
    assert paths
    assert all("/system=OTHER/day=2026-03-03/" in path for path in paths)
    assert len({path.rsplit("/", 1)[1][:64] for path in paths}) == 1
    assert sum(int(count) for count in number(plan, "Total Files Read:")) == 2


def test_query_opens_files_of_its_table_and_system(lake_path: Path) -> None:
    rows, plan = opened(lake_path, f"{QUESTION} WHERE system = 'OTHER'", Options())
    assert rows[0][0] == 48
    # Three inputs on three days, each with separate files for its first and last rows.
    assert number(plan, "Function:") == ["READ_PARQUET"]
    assert "LAKETEST" not in plan
    assert "/d0r2/" in plan
    assert number(plan, "Scanning Files:") == ["6/12"]
    assert number(plan, "Projections:") == ["system, sytprp_pfxutime_d"]


def test_row_groups_are_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_engine, "ROW_GROUP", 2048)
    groups = [configuration(0)]
    for at in range(40):
        groups += interval(at, devices=range(0x100, 0x100 + 150))
    lake.add([write(tmp_path / "many.data", groups)], tmp_path / "lake")
    question = "SELECT count(*) FROM d6r3"
    chosen = Options(start=parse_time_spec("2026-03-02 10:05Z"), end=parse_time_spec("2026-03-02 10:10Z"))
    rows, plan = opened(tmp_path / "lake", question, chosen)
    assert rows == [(5 * 150,)]
    scanned = [text.split(" / ") for text in number(plan, "Row Groups Scanned:")]
    assert all(int(some) == 1 for some, _ in scanned)
    assert max(int(whole) for _, whole in scanned) >= 3


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (Options(), 96),
        (Options(systems=("LAKETEST",)), 48),
        (Options(start=parse_time_spec("2026-03-03")), 36 + 2 * 9),
        (Options(end=parse_time_spec("2026-03-03"), utc=True), 36 + 2 * 6),
        (Options(start=parse_time_spec("10:03"), end=parse_time_spec("10:05"), utc=True), 2 * 3 * 2 * 2),
    ],
)
def test_lake_options_select_same_rows_as_files(folder: Path, options: Options, count: int) -> None:
    question = "SELECT count(*) FROM d0r2"
    with zlens.open(sorted(folder.glob("*.data")), options=options) as session:
        expected = session.sql(question).rows
        intervals = session.sql("FROM interval ORDER BY system, interval_end").rows
    with zlens.open(folder / "lake", options=options) as session:
        assert session.sql(question).rows == expected
        assert session.sql("FROM interval ORDER BY system, interval_end").rows == intervals
    if options.start is None and options.end is None:
        assert expected == [(count,)]


def test_lake_time_range_without_data_is_error(lake_path: Path) -> None:
    with (
        zlens.open(lake_path, options=Options(start=parse_time_spec("2027-01-01"))) as session,
        pytest.raises(QueryError, match="no interval lies in the selected times; expected times within"),
    ):
        session.sql(QUESTION)


def test_unknown_lake_system_is_error(lake_path: Path) -> None:
    with pytest.raises(InputError, match="there is no system NOSUCH in the input; expected one of LAKETEST"):
        zlens.open(lake_path, options=Options(systems=("NOSUCH",)))


def test_unlisted_files_are_ignored(tmp_path: Path, lake_path: Path) -> None:
    mine = tmp_path / "lake"
    shutil.copytree(lake_path, mine)
    listed = next(mine.glob("d0r2/**/*.parquet"))
    stray = listed.with_name(f"{'0' * 64}.parquet")
    shutil.copy(listed, stray)
    with zlens.open(mine) as session:
        assert session.sql("SELECT count(*) FROM d0r2").rows == [(96,)]
        for path in (stray, tmp_path / "lake" / "manifest.json", Path("/etc/passwd")):
            with pytest.raises(QueryError, match="not allowed in a query: table function read_parquet"):
                session.sql(f"SELECT * FROM read_parquet('{path}')")
            with pytest.raises(QueryError, match="not allowed in a query: table function read_text"):
                session.sql(f"SELECT * FROM read_text('{path}')")
    assert [fault.kind for fault in lake.check(mine).faults] == ["orphan"]


def test_lake_is_opened_with_files(folder: Path, lake_path: Path, tmp_path: Path) -> None:
    more = write(tmp_path / "more.data", recording(range(3000, 3004), system="THIRD"))
    with zlens.open([lake_path, more]) as session:
        rows = session.sql("SELECT system, count(*) FROM d0r2 GROUP BY system ORDER BY system").rows
        assert rows == [("LAKETEST", 48), ("OTHER", 48), ("THIRD", 12)]
        assert [info.system for info in session.systems] == ["LAKETEST", "OTHER", "THIRD"]
        assert session.sql("SELECT count(DISTINCT system) FROM cpu").rows == [(3,)]


def test_file_already_in_lake_is_duplicate(folder: Path, lake_path: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "OTHER1.data", tmp_path / "copy.data")
    with zlens.open([lake_path, tmp_path / "copy.data"]) as session:
        assert session.sql("SELECT count(*) FROM d0r2").rows == [(96,)]
        (problem,) = [p for p in session.problems if p.kind == "duplicate"]
        assert problem.file == str(tmp_path / "copy.data")
        assert "OTHER1.data in the lake" in problem.detail


def test_lake_inventory_equals_file_inventory(folder: Path, lake_path: Path) -> None:
    files = [str(path) for path in sorted(folder.glob("*.data"))]
    with zlens.open(files) as session, zlens.open(lake_path) as held:
        of_files = [row for source in session._core.sources for row in source.inventory()]
        of_lake = [row for source in held._core.sources for row in source.inventory()]
        assert sorted(of_lake, key=repr) == sorted(of_files, key=repr)
        infos = [
            {**one, "lake": str(lake_path), "path": one["file"]} for one in session._core.sources[0].info()
        ]
        assert sorted(held._core.sources[0].info(), key=repr) == sorted(infos, key=repr) or {
            json.dumps(one, sort_keys=True) for one in held._core.sources[0].info()
        } == {json.dumps(one, sort_keys=True) for one in infos}


def test_lake_table_is_arrow_stream(lake_path: Path) -> None:
    with zlens.open(lake_path, options=Options(systems=("OTHER",))) as session:
        (table,) = session._core.sources[0].tables["d0r2"]
        stream = table.stream(["system", "sytprp_pfxcpuad", "interval_end"])
        for _ in range(2):
            read = pa.RecordBatchReader.from_stream(stream).read_all()
            assert read.num_rows == 48
            assert set(read.column("system").to_pylist()) == {"OTHER"}
        assert pa.schema(stream).names == ["system", "sytprp_pfxcpuad", "interval_end"]


def test_lake_times_have_import_zone(lake_path: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="imported with 0 leap seconds, not 27; use Options"):
        zlens.open(lake_path, options=Options(leap=27))
    zlens.open(lake_path, options=Options(leap=0, tz=parse_zone("Europe/Berlin"))).close()
    write(tmp_path / "leap.data", recording(range(0, 3)))
    lake.add([tmp_path / "leap.data"], tmp_path / "lake", options=Options(leap=27))
    assert differences(tables(tmp_path / "lake"), tables(tmp_path / "leap.data", Options(leap=27))) == []


def test_columns_have_documented_encoding(lake_path: Path) -> None:
    paths = [str(path) for path in lake_path.glob("d0r2/**/*.parquet")]
    rows = duckdb.sql(
        f"SELECT DISTINCT path_in_schema, compression, encodings FROM parquet_metadata({paths})"
    ).fetchall()
    assert {compression for _, compression, _ in rows} == {"ZSTD"}
    dictionaries = {name for name, _, encodings in rows if "DICTIONARY" in encodings}
    assert dictionaries == {"system", "source", "file"}


def test_other_tools_read_partitioned_files(lake_path: Path) -> None:
    """The files of a table contain the rows that zlens shows, each once."""
    rows = duckdb.sql(
        "SELECT system, CAST(day AS VARCHAR), count(*), sum(sytprp_pfxutime_d) "
        f"FROM read_parquet('{lake_path}/d0r2/**/*.parquet', hive_partitioning = true) "
        "GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    assert [row[:2] for row in rows] == [
        (system, day) for system in ("LAKETEST", "OTHER") for day in ("2026-03-02", "2026-03-03")
    ]
    with zlens.open(lake_path) as session:
        shown = session.sql(
            "SELECT system, strftime(interval_end, '%Y-%m-%d'), count(*), sum(sytprp_pfxutime_d) FROM d0r2 "
            "GROUP BY ALL ORDER BY ALL"
        ).rows
    assert rows == shown


def test_opening_lake_loads_no_engine(lake_path: Path) -> None:
    """Loading the engine takes as long as `zlens info` of a lake takes without it."""
    script = (
        "import sys, zlens; from zlens.session.session import CoreSession as Session; "
        "print(len(Session(sys.argv[1:]).systems), 'duckdb' in sys.modules)"
    )
    completed = subprocess.run(
        [sys.executable, "-c", script, lake_path], capture_output=True, text=True, check=True
    )
    assert completed.stdout.split() == ["2", "False"]


def documents(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the key of every document that is read."""
    read: list[str] = []
    usual = LakeFolder.document

    def document(self: LakeFolder, imported: LakeInput, key: str, *arguments: object) -> object:
        read.append(key)
        return usual(self, imported, key, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(LakeFolder, "document", document)
    return read


@pytest.mark.long
def test_rollup_query_reads_one_document_per_system(
    folder: Path, tmp_path: Path, few_measures: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A year of a thousand systems has 365,000 inputs with the same tables."""
    into = tmp_path / "lake"
    lake.add(sorted(map(str, folder.glob("*.data"))), into)
    stores.rollup(into)
    read = documents(monkeypatch)
    with zlens.open(into) as session:
        assert len(session.sql("SELECT DISTINCT system, bucket_end FROM load_hour").rows) > 6
        assert session._core.has_data("load")
    assert len(read) == len(set(read)) == 2
    # A query of all rows reads the documents of all inputs.
    with zlens.open(into) as session:
        session.sql(QUESTION).rows  # noqa: B018
    assert len(set(read)) == 6


def test_part_with_tables_of_other_part_is_rejected(lake_path: Path, tmp_path: Path) -> None:
    into = tmp_path / "lake"
    shutil.copytree(lake_path, into)
    manifest = LakeFolder(into).load()
    for _, part in manifest.parts():
        part.tables = "0" * 16
    (into / file_names.MANIFEST).write_bytes(manifest.dump())
    with pytest.raises(InputError, match="the manifest and a document disagree"):
        zlens.open(into)
