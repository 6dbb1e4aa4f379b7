"""Tests of concurrency: a long query delays only requests that depend on it."""

from __future__ import annotations

import threading

import pytest

import zlens
from zlens.catalog.measures import load_measure
from zlens.server.endpoints import find
from zlens.server.findings import stream
from zlens.server.warmup import SHOWN, TIMELINE, Warmup
from zlens.server.workspace import Workspace

#: A timeout longer than any of these tests needs.
PATIENCE_S = 60


@pytest.fixture
def place(demo_files):
    with zlens.open([str(path) for path in demo_files]) as session:
        workspace = Workspace(session._core, [str(path) for path in demo_files])
        yield workspace
        workspace.close()


def in_background(work):
    """Run `work` in a thread; return the thread and its results."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    return thread, found


def test_materialization_blocks_only_its_readers(place, monkeypatch):
    store = place.session.engine.store
    begun, go_on = threading.Event(), threading.Event()
    real = store._create

    def slow(step):
        if step.table == "load":
            begun.set()
            assert go_on.wait(PATIENCE_S)
        real(step)

    monkeypatch.setattr(store, "_create", slow)
    first, loads = in_background(lambda: place.session.sql("SELECT count(*) FROM load").rows)
    assert begun.wait(PATIENCE_S)
    second, more = in_background(lambda: place.session.sql("SELECT count(*) FROM load").rows)
    assert place.session.sql("SELECT count(*) FROM cpu").rows[0][0] > 0
    assert place.session.sql("SELECT count(*) FROM system").rows[0][0] > 0
    assert first.is_alive()
    assert second.is_alive()
    go_on.set()
    first.join(PATIENCE_S)
    second.join(PATIENCE_S)
    assert loads == more
    assert loads[0][0][0] > 0


def test_failed_materialization_is_retried(place, monkeypatch):
    store = place.session.engine.store
    real = store._create
    failed = []

    def once_broken(step):
        if step.table == "load" and not failed:
            failed.append(step)
            raise MemoryError
        real(step)

    monkeypatch.setattr(store, "_create", once_broken)
    with pytest.raises(MemoryError):
        place.session.sql("SELECT count(*) FROM load")
    assert place.session.sql("SELECT count(*) FROM load").rows[0][0] > 0


def test_tables_are_materialized_in_parallel(place):
    requests = [("guest", ["cpu_pct"]), ("device", ["resp_s"]), ("guest", ["cpu_pct"])]
    queries = {table: f"SELECT count(*), sum({columns[0]}) FROM {table}" for table, columns in requests}
    before = {table: place.session.sql(query).rows[0] for table, query in queries.items()}
    working = [in_background(lambda one=one: place.materialized_table(*one)) for one in requests]
    for thread, _ in working:
        thread.join(PATIENCE_S)
    assert [found for _, found in working] == [["guest"], ["device"], ["guest"]]
    for table, columns in requests:
        assert place.session.engine.store.has_columns(table, columns)
        assert before[table][0] > 0
        assert place.session.sql(queries[table]).rows[0] == pytest.approx(before[table], rel=1e-9)


def test_concurrent_requests_share_computation(place):
    begun, go_on, count = threading.Event(), threading.Event(), []

    def work():
        count.append(1)
        begun.set()
        assert go_on.wait(PATIENCE_S)
        return "answer"

    first, one = in_background(lambda: place.compute_once("key", work))
    assert begun.wait(PATIENCE_S)
    second, other = in_background(lambda: place.compute_once("key", work))
    assert place.compute_once("another key", lambda: 1) == 1
    go_on.set()
    first.join(PATIENCE_S)
    second.join(PATIENCE_S)
    assert one == other == ["answer"]
    assert len(count) == 1


def test_failed_computation_is_repeated(place):
    def broken():
        raise MemoryError

    with pytest.raises(MemoryError):
        place.compute_once("key", broken)
    assert place.compute_once("key", lambda: 2) == 2


def test_warmup_computes_first_findings(place, monkeypatch):
    Warmup(place).wait(PATIENCE_S)
    monkeypatch.setattr(
        "zlens.server.findings.find_in_stages", lambda *_, **__: pytest.fail("computed again")
    )
    request = find("GET", "findings/stream").check({})
    assert next(part["rows"] for part in stream(place, request) if part["rows"])


def test_warmup_computes_overview(place, monkeypatch):
    store, created = place.session.engine.store, []
    real = store._create

    def count(step):
        created.append(step.table)
        real(step)

    monkeypatch.setattr(store, "_create", count)
    warming = Warmup(place)
    warming.wait(PATIENCE_S)
    monkeypatch.setattr(store, "_create", lambda step: pytest.fail(f"{step.table} was not created"))
    for table, shown in SHOWN.items():
        columns = shown or [column.name for column in load_measure(table).columns]
        selected = ", ".join(columns)
        place.session.sql(f"SELECT {selected} FROM {place.materialized_table(table, columns)}").first(1)
        assert created.count(table) == 1, table


def test_warmup_computes_timeline_before_findings(place, monkeypatch):
    """Every view shows it, and a browser requests it at once."""
    known = []

    def first_findings(workspace, request):
        known.extend(workspace.session.engine.store.materialized)
        yield {"rows": [True]}

    monkeypatch.setattr("zlens.server.findings.stream", first_findings)
    Warmup(place).wait(PATIENCE_S)
    assert {*TIMELINE} <= {*known}
    assert not {"guest", "cec"} & {*known}


@pytest.mark.parametrize(
    ("table", "first", "later"), [("guest", "userid", "cpu_pct"), ("load", "tv", "busy_pct")]
)
def test_first_query_materializes_announced_columns(place, monkeypatch, table, first, later):
    def ask(column):
        return place.session.sql(f"SELECT {column} FROM {place.materialized_table(table, [column])}").rows

    planned = place.session.queries.materialize({table: place.columns_to_keep(table, [later])})
    assert ask(first)
    monkeypatch.setattr(
        place.session.engine.store, "_create", lambda step: pytest.fail(f"{step.table} was computed again")
    )
    assert ask(later)
    assert [*planned] == [table]


def test_server_stop_cancels_warmup(place, monkeypatch):
    begun = threading.Event()

    def endless(step):
        begun.set()
        connection = place.session.engine.store.cursor()
        from zlens.engine.cancellation import interruptible

        interruptible(
            connection, lambda: connection.sql("SELECT sum(range) FROM range(1000000000000)").fetchall()
        )

    monkeypatch.setattr(place.session.engine.store, "_create", endless)
    warming = Warmup(place)
    assert begun.wait(PATIENCE_S)
    warming.end(PATIENCE_S)
    assert not warming._thread.is_alive()
