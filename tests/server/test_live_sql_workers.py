"""Tests of SQL in a live server: worker processes see the newest data, and the monitor survives them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from server_process import Program, program
from test_sql_workers import DEAF, in_background, is_running

from iterations import iterations, quick_subset
from monwrite_builder import beginning
from patience import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are bounded on Linux only")

LIST = "SELECT list_sum(range(450000000))"
#: Memory limit of the processes, in GB.
MEMORY = "0.5"


class Growing:
    """A program that follows a file, to which the test appends intervals."""

    def __init__(self, served: Program, path: Path, recording: Path) -> None:
        self.served = served
        self._path, self._recording = path, recording
        self._count = 1

    def grow(self, count: int = 1) -> None:
        """Append intervals and wait until the server has them."""
        before = self.end()
        self._count += count
        self._path.write_bytes(beginning(self._recording, self._count))
        until(lambda: self.end() != before)

    def end(self) -> str | None:
        """Return the newest interval end in the schema."""
        with self.served.client() as client:
            systems = client.get("/schema").json()["systems"]
        return systems[0]["end"] if systems else None

    def newest(self) -> str:
        """Return the newest interval end in SQL."""
        rows = self.served.sql("SELECT max(interval_end) FROM load").json()["rows"]
        return str(rows[0][0])

    def workers(self) -> list[int]:
        """Return the worker processes; the first two processes are the monitor and the fork server."""
        return self.served.numbers()[2:]


@pytest.fixture(scope="module")
def growing(demo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Growing]:
    path = tmp_path_factory.mktemp("growing") / "growing"
    path.touch()
    # Retain as few raw records as possible.
    limits = ["--query-memory", MEMORY, "--part", "2m", "--raw", "2m"]
    with program(str(path), *limits, command="live") as served:
        found = Growing(served, path, demo_folder / "zldemo.monwrite")
        found.grow()
        yield found


def deleted(process: int) -> list[str]:
    """Return the deleted spool files that a process has open."""
    found = []
    for descriptor in Path(f"/proc/{process}/fd").glob("*"):
        try:
            found.append(os.readlink(descriptor))
        except FileNotFoundError:
            continue
    return [file for file in found if "part-" in file and file.endswith(" (deleted)")]


def resident(process: int) -> float:
    """Return resident memory in MB."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096 / 1e6


def error_of(found: list[Any]) -> dict[str, Any]:
    error: dict[str, Any] = found[0].json()["error"]
    return error


def test_queries_see_newest_intervals(growing: Growing) -> None:
    assert growing.newest() == growing.end()
    growing.grow(2)
    assert growing.newest() == growing.end()
    assert growing.served.sql("SELECT count(*) FROM d0r2").json()["rows"][0][0] > 0


@pytest.mark.parametrize("query", quick_subset(1, [LIST, DEAF["nesting"]]), ids=["list", "nesting"])
def test_memory_limit_fails_query_and_not_monitor(growing: Growing, query: str) -> None:
    monitor = growing.served.process.pid
    before = resident(monitor)
    thread, found = in_background(lambda: growing.served.sql(query))
    most = [before]
    while thread.is_alive():
        most.append(resident(monitor))
        thread.join(0.02)
    message, cure = f"{MEMORY} GB of memory", "fewer rows"
    if query == DEAF["nesting"]:
        # The engine rejects it before it uses memory.
        message, cure = "the query is nested too deeply", "split"
    assert message in error_of(found)["message"]
    assert cure in error_of(found)["cure"]
    assert max(most) - before < 200
    assert growing.newest() == growing.end()


@pytest.mark.long
@pytest.mark.parametrize(
    "query", quick_subset(1, [DEAF["a constant"], DEAF["padding"]]), ids=["constant", "padding"]
)
def test_monitor_continues_during_query_and_worker_kill(growing: Growing, query: str) -> None:
    thread, found = in_background(lambda: growing.served.sql(query, id="deaf"))
    until(lambda: is_running(growing.served, "deaf") and growing.workers())
    worker = growing.workers()
    growing.grow()
    assert growing.newest() == growing.end()
    assert thread.is_alive()
    assert growing.served.cancel("deaf") == 1
    thread.join(20)
    assert error_of(found)["kind"] == "Cancelled"
    until(lambda: not {*worker} & {*growing.workers()})
    growing.grow()
    assert growing.newest() == growing.end()


def scenario(stations: int) -> str:
    """Return a scenario of three exactly solved classes: time and memory grow with the stations."""
    names = [f"s{number}" for number in range(stations)]
    demand = ", ".join(f"{name} = 0.1" for name in names)
    return "".join(
        [
            *(f'[[station]]\nname = "{name}"\n' for name in names),
            *(f'[[class]]\nname = "c{n}"\ncustomers = 110\ndemand = {{ {demand} }}\n' for n in range(3)),
        ]
    )


def solve(served: Program, stations: int, id: str | None = None) -> httpx.Response:
    with served.client() as client:
        body = {"model": "queueing", "scenario": scenario(stations), "id": id}
        return client.post("/solve", json=body)


@pytest.mark.long
def test_scenario_has_limits_of_query(growing: Growing) -> None:
    monitor = growing.served.process.pid
    before = resident(monitor)
    error = error_of([solve(growing.served, 2000)])
    assert f"{MEMORY} GB of memory" in error["message"]
    assert resident(monitor) - before < 200
    thread, found = in_background(lambda: solve(growing.served, 40, id="long"))
    until(lambda: is_running(growing.served, "long") and growing.workers())
    worker = growing.workers()
    assert growing.served.cancel("long") == 1
    thread.join(20)
    assert error_of(found)["kind"] == "Cancelled"
    until(lambda: not {*worker} & {*growing.workers()})


def test_live_query_ends_on_disconnect(growing: Growing) -> None:
    with growing.served.client(1) as client, pytest.raises(Exception, match="timed out"):
        client.post("/sql", json={"query": DEAF["padding"], "id": "left"})
    until(lambda: not is_running(growing.served, "left") and not growing.workers())


@pytest.mark.long
def test_workers_end_with_their_files(growing: Growing) -> None:
    earlier: set[int] = set()
    for _ in range(iterations(3, 2)):
        assert growing.served.sql("SELECT count(*) FROM d0r2").status_code == 200
        workers = {*growing.workers()}
        assert workers
        assert not workers & earlier
        earlier |= workers
        growing.grow(2)
        until(lambda: not growing.workers())
    growing.served.sql("SELECT count(*) FROM d0r2")
    assert [file for worker in growing.workers() for file in deleted(worker)] == []


@pytest.mark.long
def test_monitor_stops_during_query(tmp_path: Path) -> None:
    path = tmp_path / "growing"
    path.touch()
    with program(str(path), command="live") as served:
        in_background(lambda: served.sql(DEAF["a constant"], id="deaf"))
        # The monitor, the fork server and the worker.
        until(lambda: is_running(served, "deaf") and len(served.numbers()) == 3)
        numbers = served.numbers()
        status, err = served.end()
        assert (status, err) == (130, "")
        until(lambda: not any(os.path.exists(f"/proc/{number}") for number in numbers[1:]))
