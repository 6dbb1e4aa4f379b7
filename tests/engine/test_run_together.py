"""Tests of running several queries with the same columns as one statement."""

from __future__ import annotations

from pathlib import Path

import pytest

import zlens
from zlens._native import count_rows
from zlens.compiler import nodes
from zlens.engine.connection import Connection
from zlens.errors import QueryError
from zlens.session.queries import Queries

QUERIES = (
    "SELECT system, count(busy_pct) FROM cpu GROUP BY system",
    "SELECT system, count(cpu_s) FROM guest GROUP BY system",
    "SELECT system, count(busy_pct) FROM cpu WHERE busy_pct > 1000 GROUP BY system",
    "SELECT system, count(cpu_id) FROM role.processor GROUP BY system",
    "SELECT system, count(*) FROM (SELECT * FROM load) GROUP BY system",
)


def test_run_together_returns_rows_of_each_query(demo_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zlens.open(demo_folder / "zldemo.monwrite") as session:
        alone = [session.sql(query).rows for query in QUERIES]
        monkeypatch.delattr(Queries, "answer")
        assert session._core.queries.select_together(QUERIES) == alone


def test_run_together_of_no_queries(demo_folder: Path) -> None:
    with zlens.open(demo_folder / "zldemo.monwrite") as session:
        assert session._core.queries.select_together([]) == []


def test_names_of_helpers_columns_need_no_data(demo_folder: Path) -> None:
    with zlens.open(demo_folder / "zlzos.smf") as session:
        store, schema = session._core.engine.store, session._core.queries.schema
        assert nodes.is_helper("_counter_problems")
        assert schema.column_names("_counter_problems") == ["system", "source", "kind", "detail"]
        assert not store.has_columns("_contradicting_systems", ())
        assert not store.has_columns("_counter", ())


def test_rows_of_own_select_are_bound_once(demo_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A view would be bound when it is created and again when it is read."""
    executed: list[str] = []
    execute = Connection.execute

    def recorded(connection: Connection, sql: str, *arguments: object) -> Connection:
        executed.append(sql)
        return execute(connection, sql, *arguments)

    with zlens.open(demo_folder / "zldemo.monwrite") as session:
        counted = session.sql("SELECT count(*) FROM role.processor").rows
        monkeypatch.setattr(Connection, "execute", recorded)
        query, reads = 'SELECT count(*) FROM "role.processor"', {"role.processor": ["cpu_id"]}
        assert session._core.queries.select(query, reads).rows == counted
        assert [sql[:17] for sql in executed if "role.processor" in sql] == ["CREATE TEMP TABLE"]


def test_streamed_answers_are_bound_once(demo_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = [*QUERIES, "SELECT system, NULL, NULL FROM cpu LIMIT 2", "SELECT max(busy_pct) FROM cpu;"]
    bound: list[str] = []
    connect_sql = Connection.sql

    def recorded(connection: Connection, sql: str, *arguments: object) -> object:
        bound.append(sql)
        return connect_sql(connection, sql, *arguments)

    with zlens.open(demo_folder / "zldemo.monwrite") as session:
        alone = [session.sql(query) for query in queries]
        expected = [(answer.columns, answer.types, answer.rows) for answer in alone]
        monkeypatch.setattr(Connection, "sql", recorded)
        answers = [*session._core.answers(queries, streamed=True)]
        assert [(answer.columns, answer.types, answer.rows) for answer in answers[:-2]] == expected[:-2]
        assert [answer.rows for answer in answers[-2:]] == [rows for _, _, rows in expected[-2:]]
        assert [answer.read(count_rows) for answer in answers] == [len(rows) for _, _, rows in expected]
        assert not [sql for sql in bound if "busy_pct > 1000" in sql]


def test_streamed_answer_names_an_invalid_column(demo_folder: Path) -> None:
    with zlens.open(demo_folder / "zldemo.monwrite") as session:
        query = "SELECT busy_pc FROM cpu"
        with pytest.raises(QueryError) as alone:
            session.sql(query).rows  # noqa: B018
        with pytest.raises(QueryError) as together:
            [*session._core.answers([query], streamed=True)]
        assert (str(together.value), together.value.position) == (str(alone.value), alone.value.position)
