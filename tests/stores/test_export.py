"""Tests of exported measures: the same rows as SQL returns, also after an interruption."""

from __future__ import annotations

import datetime as dt
import fcntl
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import zlens
from iterations import iterations, quick_subset
from lake_builder import recording, write
from zlens import cli, lake, stores
from zlens.catalog import measures
from zlens.cli import export as command
from zlens.errors import InputError, LakeError, QueryError
from zlens.inputs.options import Options, parse_time_spec
from zlens.stores import bucket_sql, export_targets

deltalake = pytest.importorskip("deltalake")
pytest.importorskip("pyiceberg")
FORMS = ("parquet", "delta", "iceberg")
TABLES = iterations(("cpu", "load", "guest", "device"), ("cpu", "load"))


def of_parquet(base: Path, table: str) -> pa.Table:
    files = sorted(base.glob(f"{table}/*/*.parquet"))
    return pa.concat_tables([pyarrow.parquet.read_table(path, partitioning=None) for path in files])


def of_delta(base: Path, table: str) -> pa.Table:
    return pa.table(deltalake.DeltaTable(str(base / table)).to_pyarrow_table())


def of_iceberg(base: Path, table: str) -> pa.Table:
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("zlens", uri=f"sqlite:///{base / 'catalog.db'}", warehouse=base.as_uri())
    return catalog.load_table(("zlens", table)).scan().to_arrow()


READ: dict[str, Callable[[Path, str], pa.Table]] = {
    "parquet": of_parquet,
    "delta": of_delta,
    "iceberg": of_iceberg,
}


def near(row: Iterable[Any]) -> tuple[Any, ...]:
    """Round floats, whose sums depend on the order, and convert times to UTC."""
    return tuple(
        float(f"{value:.12g}")
        if isinstance(value, float)
        else value.astimezone(dt.UTC)
        if isinstance(value, dt.datetime)
        else value
        for value in row
    )


def exported_rows(base: Path, form: str, table: str) -> list[tuple[Any, ...]]:
    found = READ[form](base, table)
    columns = [found[column.name].to_pylist() for column in measures.load_measure(table).columns]
    return sorted((near(row) for row in zip(*columns, strict=True)), key=str)


def of_lake(lake_path: Path, table: str) -> list[tuple[Any, ...]]:
    with zlens.open(lake_path) as session:
        return sorted(map(near, session.sql(f"SELECT * FROM {table}").rows), key=str)


@pytest.fixture
def parts(tmp_path: Path) -> list[str]:
    """Two files of a system on two days, and one between them on the first day, which ends at 23:00 UTC."""
    spans = (range(6), range(13 * 60 + 1, 13 * 60 + 7), range(6, 12))
    return [write(tmp_path / f"{at}.data", recording(span)) for at, span in enumerate(spans)]


@pytest.mark.parametrize("form", quick_subset(1, FORMS))
def test_exported_rows_equal_sql(form: str, parts: list[str], tmp_path: Path) -> None:
    lake_path, base = tmp_path / "lake", tmp_path / "out"
    lake.add([parts[0], parts[2]], lake_path)
    [first] = stores.export(lake_path, base, form, tables=TABLES)
    assert first.days == ["2026-03-02"]
    for table in TABLES:
        assert exported_rows(base, form, table) == of_lake(lake_path, table), table
    assert exported_rows(base, form, "cpu")
    # The lake is unchanged.
    [again] = stores.export(lake_path, base, form, tables=TABLES)
    assert (again.days, again.rows) == ([], 0)
    # Data of another day is added.
    lake.add([parts[1]], lake_path)
    [changed] = stores.export(lake_path, base, form, tables=TABLES)
    # The gap's row belongs to the first day, which has the middle of the gap.
    assert changed.days == ["2026-03-02", "2026-03-03"]
    for table in TABLES:
        assert exported_rows(base, form, table) == of_lake(lake_path, table), table
    # Rows removed from a day that still has data are removed from the export.
    lake.forget(lake_path, Options(end=parse_time_spec("2026-03-02 10:07"), utc=True))
    assert stores.export(lake_path, base, form, tables=TABLES)[0].days == ["2026-03-02"]
    for table in TABLES:
        assert exported_rows(base, form, table) == of_lake(lake_path, table), table


@pytest.mark.parametrize("form", FORMS)
def test_exported_columns_have_descriptions(form: str, parts: list[str], tmp_path: Path) -> None:
    lake_path, base = tmp_path / "lake", tmp_path / "out"
    lake.add(parts[:1], lake_path)
    stores.export(lake_path, base, form, tables=["load"])
    busy = next(column for column in measures.load_measure("load").columns if column.name == "busy_pct")
    expected = f"{busy.text} (%)"
    if form == "delta":
        fields = {field.name: field for field in deltalake.DeltaTable(str(base / "load")).schema().fields}
        assert fields["busy_pct"].metadata == {"comment": expected}
        assert fields["interval_end"].type.type == "timestamp"
        assert deltalake.DeltaTable(str(base / "load")).metadata().partition_columns == ["system", "day"]
    elif form == "iceberg":
        assert of_iceberg(base, "load").schema.field("busy_pct").metadata[b"doc"].decode() == expected
    else:
        path = next(base.glob("load/LAKETEST/*.parquet"))
        assert pyarrow.parquet.read_metadata(path).metadata[b"busy_pct"].decode() == expected


DYING = """
import os, sys
from zlens import stores
from zlens.stores import exporter
exporter._ExportState.save = lambda *_: os._exit(9)
stores.export(sys.argv[1], sys.argv[2], sys.argv[3], tables=["cpu"])
"""


@pytest.mark.parametrize("form", quick_subset(1, FORMS))
def test_killed_export_duplicates_nothing(form: str, parts: list[str], tmp_path: Path) -> None:
    """The process is killed after it wrote the tables and before it recorded the export."""
    lake_path, base = tmp_path / "lake", tmp_path / "out"
    lake.add(parts[:2], lake_path)
    words = [sys.executable, "-c", DYING, str(lake_path), str(base), form]
    assert subprocess.run(words, check=False).returncode == 9
    assert exported_rows(base, form, "cpu") == of_lake(lake_path, "cpu")
    stores.export(lake_path, base, form, tables=["cpu"])
    assert exported_rows(base, form, "cpu") == of_lake(lake_path, "cpu")


def test_exports_do_not_run_concurrently(parts: list[str], tmp_path: Path) -> None:
    lake_path, base = tmp_path / "lake", tmp_path / "out"
    lake.add(parts[:1], lake_path)
    stores.export(lake_path, base, "parquet", tables=["load"])
    handle = os.open(base / ".zlens-export.lock", os.O_RDWR)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with pytest.raises(LakeError, match="another export writes to this folder"):
        stores.export(lake_path, base, "parquet", tables=["load"])
    os.close(handle)
    stores.export(lake_path, base, "parquet", tables=["load"])


def test_invalid_export_calls(parts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake_path, base = tmp_path / "lake", tmp_path / "out"
    with pytest.raises(InputError, match="this is not a lake"):
        stores.export(parts[0], base, "parquet")
    lake.add(parts[:1], lake_path)
    with pytest.raises(QueryError, match="there is no system X"):
        stores.export(lake_path, base, "parquet", systems=["X"])
    with pytest.raises(QueryError, match="there is no measure nothing"):
        stores.export(lake_path, base, "parquet", tables=["nothing"])
    with pytest.raises(QueryError, match="not exported to csv"):
        stores.export(lake_path, base, "csv")
    with pytest.raises(LakeError, match="the folder contains other files"):
        stores.export(lake_path, lake_path, "parquet")
    stores.export(lake_path, base, "parquet", tables=["load"])
    for form, tables in (("delta", ["load"]), ("parquet", ["cpu"])):
        with pytest.raises(LakeError, match="the folder has 1 measures as parquet"):
            stores.export(lake_path, base, form, tables=tables)
    (base / "zlens-export.json").write_text("{}")
    with pytest.raises(LakeError, match="this is not the state file of an export"):
        stores.export(lake_path, base, "parquet", tables=["load"])
    monkeypatch.setattr(export_targets, "import_module", lambda name: __import__("no_such_module"))
    with pytest.raises(QueryError, match=r"in a checkout: pip install '\.\[delta\]'"):
        stores.export(lake_path, tmp_path / "other", "delta")


def test_export_command(parts: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake_path, base = str(tmp_path / "lake"), str(tmp_path / "out")
    lake.add(parts[:2], lake_path)
    words = [
        "export",
        "measures",
        lake_path,
        "--to",
        "parquet",
        "-o",
        base,
        "--table",
        "cpu",
        "--table",
        "load",
    ]
    assert cli.main(words) == 0
    assert capsys.readouterr().out.startswith("LAKETEST: 2026-03-02 to 2026-03-03: 2 days, ")
    assert cli.main(words) == 0
    assert capsys.readouterr().out == "LAKETEST: up to date\n"
    assert f"--to {{{','.join(stores.TARGETS)}}}!" in command.OPTIONS


def test_bucket_columns_do_not_clash_with_measure() -> None:
    columns, query = bucket_sql.intervals("load", ["A"], {("A", "zvm-monitor"): 3600}, (1, 2))
    assert columns[-1].name == "day"
    assert "3600000000" in query
