"""Tests that Trino reads the same rows from exported Delta Lake and Iceberg tables, with column units."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from trino import started

import zlens
from zlens import lake, stores

TABLES = ("load", "cpu")
QUERY = "SELECT system, cpu_id, interval_end, busy_pct, emulation_pct FROM {} ORDER BY 1, 2, 3"


@pytest.mark.long
def test_rows_and_comments_are_those_of_lake(demo_folder: Path, tmp_path: Path) -> None:
    lake_path = tmp_path / "lake"
    lake.add([demo_folder / "zldemo.monwrite"], lake_path)
    with started(tmp_path / "trino") as trino:
        for kind in ("delta", "iceberg"):
            stores.export(lake_path, tmp_path / kind, kind, tables=TABLES)
            folder = tmp_path / kind / ("zlens" if kind == "iceberg" else "")
            for table in TABLES:
                trino.register(kind, table, folder / table)
        # Another transaction, which a catalog with the registered table reads too.
        lake.add([demo_folder / "zlzos.smf"], lake_path)
        stores.export(lake_path, tmp_path / "delta", "delta", tables=TABLES)
        with zlens.open(lake_path) as session:
            rows = session.sql(QUERY.format("cpu")).rows
        systems = {"delta": {"ZLDEMO", "ZLZ1"}, "iceberg": {"ZLDEMO"}}
        for kind, known in systems.items():
            found = [
                (system, cpu, dt.datetime.fromisoformat(end.replace(" UTC", "+00:00")), *values)
                for system, cpu, end, *values in trino.rows(QUERY.format(f"{kind}.zlens.cpu"))
            ]
            assert found == [row for row in rows if row[0] in known]
            comments = {row[0]: row[3] for row in trino.rows(f"SHOW COLUMNS FROM {kind}.zlens.load")}
            assert comments["busy_pct"].endswith("(%)")
            assert comments["seconds"].endswith("(s)")
