"""Tests of inputs that threads share: answers are those of a single thread, whatever others read."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from iterations import iterations
from zlens import lake
from zlens.catalog import expressions, measures
from zlens.compiler.lineage import LineageGraph
from zlens.engine import sql_parser
from zlens.engine.statement_reads import StatementReader
from zlens.inputs.options import Options
from zlens.session.session import CoreSession

THREADS = 4


@pytest.fixture
def impatient() -> Iterator[None]:
    """Threads change turns all the time."""
    usual_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual_s)


def in_threads(*tasks: Callable[[], object]) -> None:
    """Run tasks at the same time; the first error of one is raised."""
    errors: list[BaseException] = []

    def run(task: Callable[[], object]) -> None:
        try:
            task()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def counts(session: CoreSession) -> list[str]:
    """Return queries of some raw tables, each of which needs a decoder of its own."""
    names = random.sample(session.engine.raw_tables(), 30)
    return [f"SELECT count(*) FROM {expressions.quote(name)}" for name in names]


def problems(session: CoreSession) -> set[str]:
    return {str(problem) for problem in session.problems}


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("is_lake", [False, True])
def test_threads_read_one_input(demo_folder: Path, tmp_path: Path, is_lake: bool) -> None:
    if is_lake:
        lake.add([demo_folder], tmp_path / "lake")
    folder = tmp_path / "lake" if is_lake else demo_folder
    with CoreSession([folder]) as alone:
        queries = [*counts(alone), "SELECT sum(busy_pct) FROM load", "SELECT count(*) FROM guest"]
        expected = {query: alone.sql(query).rows for query in queries}
        expected_problems = problems(alone)
    for _ in range(iterations(2, 20)):
        with CoreSession([folder]) as session:
            answers: list[dict[str, object]] = []

            def read(session: CoreSession = session, answers: list[dict[str, object]] = answers) -> None:
                own: dict[str, object] = {}
                try:
                    for query in random.sample(queries, len(queries)):
                        own[query] = session.sql(query).rows
                finally:
                    answers.append(own)

            def watch(session: CoreSession = session, answers: list[dict[str, object]] = answers) -> None:
                # The server prints the number of problems with every response.
                while len(answers) < THREADS:
                    assert problems(session) <= expected_problems

            in_threads(*[read] * THREADS, watch)
            assert answers == [expected] * THREADS
            assert problems(session) == expected_problems


def test_threads_share_narrower_sessions(sim_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads that narrow a session at the same time get the same one, which is closed with it."""
    both = threading.Barrier(2)
    narrow = CoreSession.narrow

    def slow(session: CoreSession, options: Options) -> CoreSession:
        both.wait(60)
        return narrow(session, options)

    with CoreSession([sim_file], Options(every_s=600)) as session:
        monkeypatch.setattr(CoreSession, "narrow", slow)
        found: set[int] = set()
        in_threads(*[lambda: found.add(id(session.without_buckets))] * 2)
        monkeypatch.undo()
        assert found == {id(session.without_buckets)}


class Cleared(dict[str, Any]):
    """A cache that another thread clears after every entry."""

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        self.clear()


def test_threads_may_clear_a_cache(sim_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with CoreSession([sim_file]) as session:
        monkeypatch.setattr(sql_parser, "_TREES", Cleared())
        reader: StatementReader = session.queries._reader
        monkeypatch.setattr(reader, "_statements", Cleared())
        monkeypatch.setattr(reader, "_planned", Cleared())
        # Its columns are known only from a plan.
        reads = reader.reads(reader.parse("SELECT * FROM (FROM load)"))
        assert {*reads.columns["load"]} >= {"busy_pct", "interval_end"}
        assert "busy_pct" in session.engine.parser.parse("SELECT busy_pct FROM load")


@pytest.mark.usefixtures("impatient")
def test_threads_share_lineage(sim_file: Path) -> None:
    with CoreSession([sim_file]) as session:
        columns = [column.name for column in measures.load_measure("guest").columns]
        nodes = session.queries.compiler.nodes
        expected = {column: LineageGraph(nodes).roles("guest", [column]) for column in columns}
        for _ in range(iterations(2, 20)):
            graph = LineageGraph(nodes)

            def look(graph: LineageGraph = graph) -> None:
                for column in random.sample(columns, len(columns)):
                    assert graph.roles("guest", [column]) == expected[column]

            in_threads(*[look] * THREADS)
