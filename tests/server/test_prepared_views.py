"""Tests of `zlens lake prepare`: a server finds what views show first, and it equals the direct answers."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

import zlens
from zlens import cli, lake
from zlens.cli import serve
from zlens.compiler.query_plan import TableStep
from zlens.engine import engine, table_store
from zlens.engine.compressed_table import CompressedTable
from zlens.engine.kept_tables import KeptTables
from zlens.server import aggregate, endpoints, peaks, window_queries, workspace
from zlens.server.prepared_views import view_requests
from zlens.server.workspace import Workspace

#: Sums are added in another order.
TOLERANCE = 1e-12


@pytest.fixture
def lake_path(sim_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lake whose tables count as long, and an empty cache."""
    monkeypatch.setattr(engine, "_SMALL", 0)
    monkeypatch.setattr(table_store, "SLICED_BYTES", 10_000)
    monkeypatch.setattr(window_queries, "LONG_WINDOW_ROWS", 0)
    monkeypatch.setenv("XDG_CACHE_HOME", os.fspath(tmp_path / "cache"))
    lake.add([sim_file], tmp_path / "lake")
    return tmp_path / "lake"


def answers(lake_path: Path, *, keep: bool) -> list[Any]:
    """Return the answers to the first requests of views, and to those of a window."""
    with zlens.open(lake_path) as session:
        core = session._core
        core.keeps_tables = keep
        place = Workspace(core, [str(lake_path)])
        [info] = core.systems
        assert info.first_us is not None
        assert info.last_us is not None
        middle = (info.first_us + info.last_us) / 2e6
        endpoint = endpoints.find("POST", "aggregate")
        answers = [peaks.answer(place, endpoints.find("GET", "peak").check({"system": info.system}))]
        for window in ({}, {"from": middle - 700, "to": middle + 900}):
            for request in view_requests():
                checked = endpoint.check({**request, **window, "system": info.system})
                answer = aggregate.answer(place, checked)
                answers.append({**answer, "rows": json.loads(answer["rows"].text)})
        place.close()
        return answers


def equal(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return one == pytest.approx(other, rel=TOLERANCE, abs=0)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(equal, one, other))
    return bool(one == other)


def test_prepared_views_equal_direct_answers(
    lake_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    direct = answers(lake_path, keep=False)
    assert all(answer["rows"] for answer in direct[1:])
    assert cli.main(["lake", "prepare", str(lake_path)]) == 0
    assert capsys.readouterr().out == "ZLSIM: prepared\n"

    def refuse(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(KeptTables, "write", refuse)
    monkeypatch.setattr(CompressedTable, "create", refuse)
    for prepared, expected in zip(answers(lake_path, keep=True), direct, strict=True):
        assert equal(prepared, expected)
    # Everything is kept already.
    assert cli.main(["lake", "prepare", str(lake_path), "--system", "ZLSIM"]) == 0


def test_plans_open_only_cached_tables(lake_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zlens.open(lake_path) as session:
        session._core.keeps_tables = True
        store = session._core.engine.store
        real = store._create
        tried = []

        def try_plan(step: TableStep) -> None:
            if step.table == "load":
                thread = threading.Thread(target=store.open_kept, args=("load", ["busy_pct"]), daemon=True)
                thread.start()
                thread.join(60)
                tried.append(thread.is_alive())
            real(step)

        monkeypatch.setattr(store, "_create", try_plan)
        assert session.sql("SELECT count(busy_pct) FROM load").rows[0][0] > 0
        assert tried == [False]


def test_only_lakes_and_their_systems_are_prepared(
    lake_path: Path, sim_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["lake", "prepare", str(sim_file)]) == 2
    assert "this is not a lake" in capsys.readouterr().err
    assert cli.main(["lake", "prepare", str(lake_path), "--system", "OTHER"]) == 2
    assert "no system is named 'OTHER'" in capsys.readouterr().err


def test_served_systems_store_their_tables(lake_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one system among many, too."""
    stores: list[bool] = []

    def serve_once(place: Workspace, *_: object) -> None:
        stores.append(place.session.keeps_tables)
        monkeypatch.setattr(workspace, "MANY_SYSTEMS", 0)
        with place.for_systems({"system": "ZLSIM"}) as selected:
            assert selected is not place
            stores.append(selected.session.keeps_tables)

    monkeypatch.setattr(serve, "_place", lambda session, files, *_: Workspace(session, files))
    monkeypatch.setattr(serve, "_serve", serve_once)
    assert cli.main(["serve", str(lake_path), "--port", "0"]) == 0
    assert stores == [True, True]
