"""Tests of tables that queries share."""

from __future__ import annotations

import threading

import pytest

import zlens
from zlens.engine.connection import Connection
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
