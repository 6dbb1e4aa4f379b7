"""Tests of queries that the engine cannot interrupt or limit: they block no other query and are canceled."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from server_process import Program, program

from iterations import quick_subset
from patience import until
from zlens.server.limits import RequestLimits
from zlens.server.sql_workers import MAX_WORKERS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are bounded on Linux only")

#: The engine runs most of them for minutes, some without checking for interrupts, and rejects deep nesting.
DEAF = {
    "a constant": "SELECT levenshtein(repeat('a', 200000), repeat('b', 200000))",
    "nesting": f"SELECT {'(' * 90_000}1{')' * 90_000}",
    "a row": "SELECT levenshtein(repeat('a', 200000 + range::INT), 'b' || repeat('b', 200000)) FROM range(3)",
    "a list": "SELECT len(generate_series(TIMESTAMP '1900-01-01', TIMESTAMP '2100-01-01', "
    "INTERVAL 1 MICROSECOND)) + levenshtein(repeat('a', 200000), repeat('b', 200000))",
    "padding": "SELECT " + ", ".join(f"length(lpad('', {50_000_000 + n}, 'ab'))" for n in range(900)),
    "a plan": " UNION ALL ".join(["SELECT 1"] * 8000),
}
ENDLESS = {
    "a cross join": "SELECT count(*) FROM range(10000000) a, range(10000000) b",
    "a long range": "SELECT count(*) FROM range(1000000000000) t(a) WHERE a % 7 = 3",
    "a recursion": "WITH RECURSIVE t(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM t) SELECT count(*) FROM t",
}
LARGE = {
    "a list": "SELECT list_sum(range(3000000000))",
    "lists": "SELECT list(range) FROM range(3000000000)",
    "texts": "SELECT length(repeat('x', 1900000000 + range::INT)) FROM range(20)",
    "text on text": "SELECT length(a || a || a) "
    "FROM (SELECT repeat('x', 1300000000 + range::INT) a FROM range(4))",
}


@pytest.fixture(scope="module")
def served(demo_files: list[Path]) -> Iterator[Program]:
    with program(str(demo_files[0])) as found:
        yield found


def in_background(work: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    return thread, found


def is_running(served: Program, id: str) -> bool:
    with served.client() as client:
        return any(row["id"] == id for row in client.get("/running").json())


def test_worker_results_equal_single_process(served: Program) -> None:
    answer = served.sql("SELECT count(*) AS n, min(interval_end) AS t FROM load")
    assert answer.status_code == 200
    assert answer.json()["types"] == ["int", "time"]
    assert answer.json()["rows"][0][0] > 0
    assert "zlens-problems" in answer.headers
    error = served.sql("SELECT * FROM loads")
    assert error.status_code == 400
    assert "did you mean load" in error.json()["error"]["cure"]


@pytest.mark.parametrize(
    "query", [*quick_subset(2, DEAF.values()), *quick_subset(1, ENDLESS.values())], ids=[*DEAF, *ENDLESS]
)
def test_any_query_can_be_canceled(served: Program, query: str) -> None:
    thread, found = in_background(lambda: served.sql(query, id="deaf"))
    until(lambda: is_running(served, "deaf"))
    # Other SQL queries and endpoints are answered in the meantime.
    assert served.sql("SELECT count(*) FROM load").status_code == 200
    with served.client() as client:
        assert client.post("/rows", json={"table": "load", "limit": 5}).status_code == 200
    assert thread.is_alive()
    assert served.cancel("deaf") == 1
    thread.join(20)
    assert found
    assert found[0].json()["error"]["kind"] == "Cancelled"


@pytest.mark.parametrize("query", quick_subset(2, LARGE.values()), ids=LARGE)
def test_query_memory_limit_is_named_in_error(served: Program, query: str) -> None:
    before = served.megabytes()
    most = [before]
    thread, found = in_background(lambda: served.sql(query))
    while thread.is_alive():
        most.append(served.megabytes())
        thread.join(0.05)
    error = found[0].json()["error"]
    assert (found[0].status_code, error["kind"]) == (400, "QueryError")
    assert "2 GB of memory" in error["message"]
    assert "fewer rows" in error["cure"]
    assert max(most) - before < 1.1 * RequestLimits().memory / 1e6
    assert served.sql("SELECT 1").status_code == 200


def test_worker_query_ends_on_disconnect(served: Program) -> None:
    with served.client(1) as client, pytest.raises(Exception, match="timed out"):
        client.post("/sql", json={"query": DEAF["a constant"], "id": "left"})
    until(lambda: not is_running(served, "left"))


def test_queries_wait_for_free_worker(served: Program) -> None:
    deaf = [
        in_background(lambda n=n: served.sql(DEAF["a constant"], id=f"deaf{n}")) for n in range(MAX_WORKERS)
    ]
    until(lambda: all(is_running(served, f"deaf{n}") for n in range(MAX_WORKERS)))
    thread, found = in_background(lambda: served.sql("SELECT 1 AS one"))
    gone, nothing = in_background(lambda: served.sql("SELECT 2", id="gone"))
    until(lambda: is_running(served, "gone"))
    assert served.cancel("gone") == 1
    gone.join(10)
    assert nothing[0].json()["error"]["kind"] == "Cancelled"
    assert thread.is_alive()
    for n in range(MAX_WORKERS):
        served.cancel(f"deaf{n}")
    thread.join(20)
    assert found[0].json()["rows"] == [[1]]
    for thread, _ in deaf:
        thread.join(20)


def test_server_stops_during_query(demo_files: list[Path]) -> None:
    with program(str(demo_files[0])) as served:
        in_background(lambda: served.sql(DEAF["a constant"], id="deaf"))
        # The server, the fork server and the worker.
        until(lambda: is_running(served, "deaf") and len(served.numbers()) == 3)
        numbers = served.numbers()
        status, err = served.end(seconds=15)
        assert (status, err) == (143, "")
        until(lambda: not any(os.path.exists(f"/proc/{number}") for number in numbers[1:]))


def test_killed_worker_leaves_others_running(demo_files: list[Path]) -> None:
    with program(str(demo_files[0])) as served:
        thread, found = in_background(lambda: served.sql(DEAF["a constant"], id="deaf"))
        until(lambda: is_running(served, "deaf") and len(served.numbers()) == 3)
        time.sleep(0.1)
        os.kill(served.numbers()[-1], 9)
        thread.join(120)
        assert found[0].status_code == 400
        assert served.sql("SELECT 1 AS one").json()["rows"] == [[1]]


@pytest.mark.long
def test_fifty_clients_get_answers_in_constant_memory(served: Program) -> None:
    queries = [
        ("SELECT count(*) FROM load", 200),
        ("SELECT * FROM cpu ORDER BY busy_pct DESC LIMIT 100", 200),
        ("SELECT range, range * 2 FROM range(20000)", 200),
        ("SELECT nothing FROM load", 400),
    ]
    end = time.monotonic() + 30
    lost: list[str] = []
    counts: list[int] = []

    def ask(number: int) -> None:
        count = 0
        with served.client(120) as client:
            while time.monotonic() < end:
                query, status = queries[(number + count) % len(queries)]
                answer = client.post("/sql", json={"query": query, "rows": 20000})
                if answer.status_code != status:
                    lost.append(f"{answer.status_code} {answer.text[:200]}")
                count += 1
        counts.append(count)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    samples = []
    while any(thread.is_alive() for thread in threads):
        time.sleep(0.5)
        samples.append(served.megabytes())
    assert lost == []
    assert len(counts) == 50
    assert min(counts) > 0
    # Memory stays constant after all processes have warmed up.
    third = len(samples) // 3
    assert max(samples[2 * third :]) < 1.2 * max(samples[third : 2 * third])
    print(f"{sum(counts)} answers, {max(samples):.0f} MB")
