"""What waits for what: a long question must not keep those that have nothing to do with it."""

from __future__ import annotations

import threading

import pytest

import zlens
from zlens.server.place import Place
from zlens.server.warming import SHOWN, Warming

#: Longer than any of these takes; nothing is measured by it.
PATIENCE_S = 60


@pytest.fixture
def place(demo_files):
    with zlens.open([str(path) for path in demo_files]) as session:
        made = Place(session, [str(path) for path in demo_files])
        yield made
        made.close()


def in_background(work):
    """A thread that does it, and what comes of it."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    return thread, found


def test_a_table_that_is_being_made_keeps_only_those_who_ask_for_it(place, monkeypatch):
    engine = place.session.engine
    begun, go_on = threading.Event(), threading.Event()
    real = engine._materialise

    def slow(name):
        if name == "load":
            begun.set()
            assert go_on.wait(PATIENCE_S)
        real(name)

    monkeypatch.setattr(engine, "_materialise", slow)
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


def test_a_table_whose_making_failed_is_made_by_the_next_who_asks(place, monkeypatch):
    engine = place.session.engine
    real = engine._materialise
    failed = []

    def once_broken(name):
        if name == "load" and not failed:
            failed.append(name)
            raise MemoryError
        real(name)

    monkeypatch.setattr(engine, "_materialise", once_broken)
    with pytest.raises(MemoryError):
        place.session.sql("SELECT count(*) FROM load")
    assert place.session.sql("SELECT count(*) FROM load").rows[0][0] > 0


def test_tables_are_kept_side_by_side(place):
    asked = [("guest", ["cpu_pct"]), ("device", ["resp_s"]), ("guest", ["cpu_pct"])]
    working = [in_background(lambda one=one: place.session.keep(*one)) for one in asked]
    for thread, _ in working:
        thread.join(PATIENCE_S)
    guest, device, again = (found[0] for _, found in working)
    assert guest == again != device
    for kept, (table, columns) in ((guest, asked[0]), (device, asked[1])):
        query = f"SELECT count(*), sum({columns[0]}) FROM {{}}"
        assert place.session.sql(query.format(kept)).rows[0][0] > 0
        assert place.session.sql(query.format(kept)).rows[0] == pytest.approx(
            place.session.sql(query.format(table)).rows[0], rel=1e-9
        )


def test_one_answer_is_worked_out_once_for_all_who_ask(place):
    begun, go_on, count = threading.Event(), threading.Event(), []

    def work():
        count.append(1)
        begun.set()
        assert go_on.wait(PATIENCE_S)
        return "answer"

    first, one = in_background(lambda: place.once("key", work))
    assert begun.wait(PATIENCE_S)
    second, other = in_background(lambda: place.once("key", work))
    assert place.once("another key", lambda: 1) == 1
    go_on.set()
    first.join(PATIENCE_S)
    second.join(PATIENCE_S)
    assert one == other == ["answer"]
    assert len(count) == 1


def test_an_answer_that_failed_is_asked_for_anew(place):
    def broken():
        raise MemoryError

    with pytest.raises(MemoryError):
        place.once("key", broken)
    assert place.once("key", lambda: 2) == 2


def test_the_overview_is_worked_out_before_it_is_asked_for(place, monkeypatch):
    warming = Warming(place)
    warming.wait(PATIENCE_S)
    monkeypatch.setattr(
        place.session.engine, "_materialise", lambda name: pytest.fail(f"{name} was not made")
    )
    monkeypatch.setattr(
        place.session.engine, "_keep", lambda name, wanted: pytest.fail(f"{name} was not kept")
    )
    for table, columns in SHOWN.items():
        if columns:
            place.kept(table, columns)
        else:
            place.session.sql(f"SELECT count(*) FROM {table}").first(1)


def test_the_end_of_the_server_ends_what_it_works_out(place, monkeypatch):
    begun = threading.Event()

    def endless(name):
        begun.set()
        connection = place.session.engine._ready({})
        from zlens.cancelling import interruptible

        interruptible(
            connection, lambda: connection.sql("SELECT sum(range) FROM range(1000000000000)").fetchall()
        )

    monkeypatch.setattr(place.session.engine, "_materialise", endless)
    warming = Warming(place)
    assert begun.wait(PATIENCE_S)
    warming.end(PATIENCE_S)
    assert not warming._thread.is_alive()


def test_a_question_about_what_is_made_is_not_planned_twice(place):
    """A role, a CTE and a view may be called as a made table is: these are looked into."""
    engine = place.session.engine
    place.session.sql("SELECT count(*) FROM load, partition").first(1)
    kept = place.session.keep("guest", ["userid", "cpu_pct"])
    for query in (
        "SELECT * FROM load",
        'SELECT * FROM "load"',
        f"SELECT max(cpu_pct) FROM {kept}",
        "WITH a AS (SELECT * FROM load) SELECT * FROM a, partition",
    ):
        assert engine._reads_made(query), query
        assert engine._needs(query) == {}
    engine._prepare("guest d0r2 role.partition")
    for query in (
        "SELECT 1",
        "SELECT * FROM guest",
        "SELECT * FROM role.partition",
        "SELECT * FROM load, d0r2",
        "WITH load AS (SELECT * FROM d0r2) SELECT * FROM load",
        "SELECT (SELECT count(*) FROM d0r2) FROM load",
    ):
        assert not engine._reads_made(query), query
