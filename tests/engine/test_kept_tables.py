"""Tests of tables that outlive their session: they have the rows that are computed without them."""

from __future__ import annotations

import datetime as dt
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import zlens
from zlens import demo, lake
from zlens.catalog import measures
from zlens.compiler import compile_cache
from zlens.engine import engine, kept_tables, table_store
from zlens.engine.compressed_table import CompressedTable
from zlens.engine.kept_tables import KeptTables
from zlens.engine.table_store import TableStore
from zlens.inputs.options import Options, TimeSpec
from zlens.stores import rollup

FEW = ["system", "source", "interval_end", "device", "rate"]
OTHERS = ["system", "source", "interval_end", "device", "resp_s"]
#: A query of the rows, and one whose rows are derived from them.
SHOWN = "SELECT interval_end, device, rate FROM device ORDER BY ALL"
DERIVED = "SELECT device, count(rate) AS known, max(rate) AS most FROM device GROUP BY device"


@pytest.fixture
def lake_path(sim_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lake whose tables count as long, and an empty cache."""
    monkeypatch.setattr(engine, "_SMALL", 0)
    monkeypatch.setattr(table_store, "SLICED_BYTES", 100_000)
    monkeypatch.setenv("XDG_CACHE_HOME", os.fspath(tmp_path / "cache"))
    lake.add([sim_file], tmp_path / "lake")
    return tmp_path / "lake"


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of long tables that were computed, and `derived` for each table derived from them."""
    names: list[str] = []
    slices, create = TableStore._write_slices, CompressedTable.create

    def write_slices(store: TableStore, table: CompressedTable, step: Any, statement: Any) -> None:
        names.append(step.table)
        slices(store, table, step, statement)

    def write(table: CompressedTable, rows: str) -> None:
        if "count(rate)" in rows:
            names.append("derived")
        create(table, rows)

    monkeypatch.setattr(TableStore, "_write_slices", write_slices)
    monkeypatch.setattr(CompressedTable, "create", write)
    return names


def rows(lake_path: Path, columns: list[str] = FEW, *, keep: bool = True) -> list[Any]:
    """Return the rows of both queries in a session of its own."""
    with zlens.open(lake_path) as session:
        core = session._core
        core.keeps_tables = keep
        [*_] = core.queries.materialize({"device": columns})
        name = core.queries.materialize_query(DERIVED, {"device": ["device", "rate", *columns]})
        derived = core.queries.select(f'FROM "{name}" ORDER BY ALL', {}).rows
        return [core.queries.select(SHOWN, {"device": FEW}).rows, derived]


def files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / "zlens" / "tables" / "files").iterdir())


def test_stored_tables_equal_computed_ones(lake_path: Path, computed: list[str], tmp_path: Path) -> None:
    expected = rows(lake_path, keep=False)
    assert len(expected[0]) > 1000
    assert not (tmp_path / "cache" / "zlens" / "tables").exists()
    computed.clear()
    assert rows(lake_path) == expected
    assert computed == ["device", "derived"]
    assert len(files(tmp_path)) == 2
    assert all(path.stat().st_mode & 0o077 == 0 for path in files(tmp_path))
    computed.clear()
    assert rows(lake_path) == expected
    # A copy of the lake has the same contents.
    shutil.copytree(lake_path, tmp_path / "copy")
    assert rows(tmp_path / "copy") == expected
    assert computed == []


def test_stored_table_gains_columns(lake_path: Path, computed: list[str], tmp_path: Path) -> None:
    rows(lake_path)
    computed.clear()
    expected = rows(lake_path, OTHERS)
    assert computed == ["device"]
    assert len(files(tmp_path)) == 2
    computed.clear()
    assert rows(lake_path) == rows(lake_path, [*FEW, "resp_s"]) == expected
    assert computed == []


def test_import_makes_stored_tables_stale(lake_path: Path, computed: list[str], demo_folder: Path) -> None:
    before = rows(lake_path)
    lake.add([demo_folder / demo.MONWRITE_NAME], lake_path)
    computed.clear()
    after = rows(lake_path)
    assert computed == ["device", "derived"]
    assert after == rows(lake_path, keep=False)
    assert len(after[0]) > len(before[0])


def test_changed_catalog_makes_stored_tables_stale(
    lake_path: Path, computed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = rows(lake_path)
    digest = compile_cache.catalog_digest
    monkeypatch.setattr(compile_cache, "catalog_digest", lambda root: f"{digest(root)}, changed")
    computed.clear()
    assert rows(lake_path) == expected
    assert computed == ["device", "derived"]


def test_options_separate_stored_tables(lake_path: Path, computed: list[str], tmp_path: Path) -> None:
    """Those of selected systems are separate; those of selected times are not kept."""
    rows(lake_path)
    computed.clear()
    start = TimeSpec(None, dt.time(0, 30))
    for options, kept in (Options(systems=("ZLSIM",)), 2), (Options(start=start), 0):
        before = len(files(tmp_path))
        with zlens.open(lake_path, options=options) as session:
            session._core.keeps_tables = True
            [*_] = session._core.queries.materialize({"device": FEW})
            session._core.queries.materialize_query(DERIVED, {"device": FEW})
        assert len(files(tmp_path)) - before == kept
        assert computed
        computed.clear()


def cut(path: Path) -> None:
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size // 2)


def overwrite(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def publish(path: Path) -> None:
    path.chmod(0o666)


@pytest.mark.parametrize("damage", [Path.unlink, cut, overwrite, publish])
def test_damaged_stored_table_is_computed_again(
    lake_path: Path, computed: list[str], tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    expected = rows(lake_path)
    for path in files(tmp_path):
        damage(path)
    computed.clear()
    assert rows(lake_path) == expected
    assert computed == ["device", "derived"]
    computed.clear()
    assert rows(lake_path) == expected
    assert computed == []


def test_interrupted_table_is_not_stored(
    lake_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = rows(lake_path, keep=False)
    insert = CompressedTable.insert

    def interrupt(table: CompressedTable, text: str) -> None:
        insert(table, text)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(CompressedTable, "insert", interrupt)
        with pytest.raises(KeyboardInterrupt):
            rows(lake_path)
    assert files(tmp_path) == []
    assert rows(lake_path) == expected


def test_full_disk_leaves_tables_in_memory(
    lake_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = rows(lake_path, keep=False)
    monkeypatch.setattr(kept_tables.shutil, "disk_usage", lambda _: SimpleNamespace(free=1 << 30))
    assert rows(lake_path) == expected
    assert files(tmp_path) == []


def test_failed_write_leaves_tables_in_memory(
    lake_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = rows(lake_path, keep=False)

    def fail(*_: str) -> None:
        raise OSError

    monkeypatch.setattr(kept_tables, "_publish", fail)
    assert rows(lake_path) == expected
    assert files(tmp_path) == []


def test_stored_files_are_limited(lake_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = rows(lake_path)
    sizes = [path.stat().st_size for path in files(tmp_path)]
    # Of a process that was killed while it wrote.
    abandoned = files(tmp_path)[0].with_name("abandoned.duckdb.part")
    abandoned.write_bytes(bytes(1000))
    os.utime(abandoned, (0, 0))
    monkeypatch.setattr(kept_tables, "MOST_BYTES", sum(sizes) + 999)
    rows(lake_path, OTHERS)
    assert abandoned not in files(tmp_path)
    assert sum(path.stat().st_size for path in files(tmp_path)) <= sum(sizes) + 999
    monkeypatch.setattr(kept_tables, "MOST_BYTES", 1 << 20)
    # A table whose file is removed at once is read in its session.
    assert rows(lake_path, [*FEW, "pend_s"]) == expected


@pytest.mark.parametrize("raw", [False, True])
def test_removed_data_leave_no_stored_table(lake_path: Path, tmp_path: Path, raw: bool) -> None:
    """Not even of what the lake had before its last import: constants in an entry, rows in a file."""
    rows(lake_path)
    stored = tmp_path / "cache" / "zlens" / "tables"
    before = {path.name for path in stored.rglob("*")}
    assert len(before) > 2

    def forget(dry_run: bool) -> None:
        if raw:
            lake.forget_raw(lake_path, 0, even_if_lost=["unmeasured"], dry_run=dry_run)
        else:
            lake.forget(lake_path, Options(systems=("ZLSIM",)), dry_run=dry_run)

    if raw:
        rollup(lake_path)
    forget(dry_run=True)
    assert {path.name for path in stored.rglob("*")} == before
    forget(dry_run=False)
    assert not stored.exists()


def test_folder_may_be_deleted_while_a_table_is_written(
    lake_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = rows(lake_path, keep=False)
    open_table = KeptTables._open

    def open_and_delete(tables: KeptTables, cursor: Any, path: str) -> str:
        database = open_table(tables, cursor, path)
        kept_tables.remove_all()
        return database

    monkeypatch.setattr(KeptTables, "_open", open_and_delete)
    assert rows(lake_path) == expected


def test_measures_with_other_inputs_are_not_stored(lake_path: Path, demo_folder: Path) -> None:
    with zlens.open([lake_path, demo_folder / demo.MONWRITE_NAME]) as session:
        session._core.keeps_tables = True
        assert session._core.engine.store._kept is None
    with zlens.open(lake_path) as session:
        assert session._core.engine.store._kept is None
    with zlens.open(lake_path) as session:
        session._core.keeps_tables = True
        assert isinstance(session._core.engine.store._kept, KeptTables)
        assert measures.load_measure("device").lazy


def test_short_measures_are_stored(lake_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later session reads short measures without their roles; more columns are added to them."""
    monkeypatch.setattr(table_store, "SLICED_BYTES", 10**12)
    created: list[str] = []
    create = TableStore._create

    def note(store: TableStore, step: Any) -> None:
        created.append(step.table)
        create(store, step)

    monkeypatch.setattr(TableStore, "_create", note)

    def load(columns: str, *, keep: bool = True) -> list[Any]:
        with zlens.open(lake_path) as session:
            session._core.keeps_tables = keep
            created.clear()
            return session.sql(f"SELECT interval_end, {columns} FROM load ORDER BY ALL").rows

    expected = load("busy_pct, tv", keep=False)
    assert len(expected) > 30
    assert not (tmp_path / "cache" / "zlens" / "tables").exists()
    busy = load("busy_pct")
    assert "load" in created
    assert load("busy_pct") == busy == [row[:2] for row in expected]
    assert not {"load", "cpu"} & {*created}
    assert load("tv") == [(row[0], row[2]) for row in expected]
    assert "load" in created
    assert load("busy_pct, tv") == expected
    assert not {"load", "cpu"} & {*created}
    # Helpers and roles are not stored.
    assert len(files(tmp_path)) == 1
