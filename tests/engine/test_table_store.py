"""Tests of tables that queries share."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import zlens
from zlens import lake
from zlens.catalog import aggregation, measures
from zlens.engine import engine, table_store
from zlens.engine.compressed_table import CompressedTable
from zlens.engine.connection import COMPRESSED, Connection
from zlens.engine.table_store import TableStore


def test_query_with_materialized_columns_does_not_wait(
    sim_file: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    create = TableStore._create_as

    def slow(cursor: Connection, name: str, select: str) -> None:
        if name == "cpu" and waits and not begun.is_set():
            begun.set()
            assert go_on.wait(60)
        create(cursor, name, select)

    monkeypatch.setattr(TableStore, "_create_as", staticmethod(slow))
    waits: list[bool] = []
    with zlens.open(sim_file) as session:
        before = session.sql("SELECT sum(busy_pct) FROM cpu").rows
        waits.append(True)
        found: list[object] = []
        other = threading.Thread(
            target=lambda: found.append(session.sql("SELECT count(parked_pct) FROM cpu").rows)
        )
        other.start()
        assert begun.wait(60)
        assert session.sql("SELECT sum(busy_pct) FROM cpu").rows == before
        assert not found
        go_on.set()
        other.join(60)
        assert len(found) == 1
        assert session.sql("SELECT sum(busy_pct) FROM cpu").rows == before


def test_long_table_is_computed_in_slices(
    sim_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are the same, in a compressed table; columns that a query needs later replace it."""
    lake.add([sim_file], tmp_path / "lake")
    device = [column.name for column in measures.load_measure("device").columns]
    few = ["system", "source", "interval_end", "device", "rate"]
    ordered = "FROM device ORDER BY interval_end, device"
    monkeypatch.setattr(engine, "_SMALL", 0)
    with zlens.open(tmp_path / "lake") as session:
        whole = session.sql(f"SELECT * {ordered}").rows
    monkeypatch.setattr(table_store, "SLICED_BYTES", 100_000)
    with zlens.open(tmp_path / "lake") as session:
        queries = session._core.queries
        for columns in (few, device):
            assert [*queries.materialize({"device": columns})] == ["device"]
            # Its rows are few, and in order.
            assert session.sql("SELECT count(busy_pct) FROM load").rows == [(60,)]
            [(rows,)] = (
                queries.engine.store.cursor()
                .execute(f"SELECT estimated_size FROM duckdb_tables() WHERE database_name = '{COMPRESSED}'")
                .fetchall()
            )
            assert rows == len(whole) > 1000
            assert session.sql(f"SELECT {', '.join(few)} {ordered}").rows == [
                tuple(row[device.index(name)] for name in few) for row in whole
            ]
        assert session.sql(f"SELECT * {ordered}").rows == whole


def test_known_rows_of_slices_need_few_complete_rows(
    sim_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a table, only times with rows that its columns do not show to be known are completed."""
    lake.add([sim_file], tmp_path / "lake")
    known = f'"{aggregation.KNOWN}"'
    differences = aggregation.difference_columns(measures.load_measure("device"))
    monkeypatch.setattr(engine, "_SMALL", 0)
    with zlens.open(tmp_path / "lake") as session:
        queries = session._core.queries
        complete = [aggregation.KNOWN, *differences, "interval_end", "device"]
        text = f"SELECT interval_end, device, {known} FROM device ORDER BY ALL"
        expected = queries.select(text, {"device": complete}).rows
    assert {row[2] for row in expected} == {False, True}
    monkeypatch.setattr(table_store, "SLICED_BYTES", 100_000)
    completed: list[str] = []
    find = TableStore._unknown_times

    def found(table: CompressedTable, condition: str) -> str | None:
        times = find(table, condition)
        completed.extend([times] if times else [])
        return times

    monkeypatch.setattr(TableStore, "_unknown_times", staticmethod(found))
    for shown, most in (([], 2), (["queued"], 60)):
        completed.clear()
        with zlens.open(tmp_path / "lake") as session:
            queries = session._core.queries
            columns = ["system", "source", "interval_end", "device", *shown, aggregation.KNOWN]
            [*_] = queries.materialize({"device": columns})
            assert aggregation.KNOWN in queries.engine.store.materialized["device"]
            assert queries.select(text, {"device": columns}).rows == expected
        assert 0 < sum(times.count("make_timestamptz") for times in completed) <= most


def test_known_rows_are_stated_and_not_shown(sim_file: Path) -> None:
    table = measures.load_measure("device")
    known = f'"{aggregation.KNOWN}"'
    differences = aggregation.has_differences_sql(table)
    with zlens.open(sim_file) as session:
        queries = session._core.queries
        names = [column.name for column in table.columns]
        [(rows, stated, expected)] = queries.select(
            f"SELECT count(*), count_if({known}), count_if({differences}) FROM device",
            {"device": [aggregation.KNOWN, *aggregation.difference_columns(table)]},
        ).rows
        # A device that was attached has no differences in its first row.
        assert rows > stated == expected > 0
        [*_] = queries.materialize({"device": [*names, aggregation.KNOWN]})
        assert aggregation.KNOWN in queries.engine.store.materialized["device"]
        assert session.sql("SELECT * FROM device").columns == names
