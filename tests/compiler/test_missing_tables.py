"""Tests of LEFT JOINs with tables without rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import duckdb
import pytest

import zlens
from zlens import demo
from zlens.catalog import measures
from zlens.compiler import missing_tables, nodes
from zlens.compiler.sql_tree import Reads, narrow

TABLES = {
    "here": {"k": "BIGINT", "a": "DOUBLE"},
    "role.gone": {"k": "BIGINT", "x": "DOUBLE", "w": "VARCHAR"},
    "role.other": {"k": "BIGINT", "y": "DOUBLE"},
}


def parse(sql: str) -> dict[str, object]:
    rows = duckdb.execute("SELECT json_serialize_sql(?)", [sql]).fetchall()
    tree: dict[str, object] = json.loads(rows[0][0])
    assert not tree["error"], tree
    return tree


def rendered(tree: Mapping[str, object]) -> str:
    return str(duckdb.execute("SELECT json_deserialize_sql(?)", [json.dumps(tree)]).fetchall()[0][0])


def gone(name: str) -> Mapping[str, str] | None:
    return {"role.gone": TABLES["role.gone"], "_helper": {}}.get(name)


def dropped(sql: str, wanted: list[str]) -> tuple[str, Reads]:
    tree = parse(sql)
    reads = narrow(tree, wanted, lambda name: [*TABLES.get(name, {"k": "", "x": ""})])
    missing_tables.drop_missing_joins(tree, reads, gone, parse)
    return rendered(tree), reads


def test_join_with_missing_table_gives_typed_nulls() -> None:
    sql, reads = dropped(
        "SELECT k, a, gone.x, w FROM here LEFT JOIN role.gone USING (k)", ["k", "a", "x", "w"]
    )
    assert reads == {"here": {"k", "a"}}
    assert "gone" in sql
    assert "USING" not in sql
    connection = duckdb.connect()
    connection.execute("CREATE TABLE here AS SELECT 1::BIGINT AS k, 2.5 AS a")
    answer = connection.sql(sql)
    assert answer.fetchall() == [(1, 2.5, None, None)]
    assert [str(type) for type in answer.types[2:]] == ["DOUBLE", "VARCHAR"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a, x FROM here LEFT JOIN (SELECT * FROM role.gone WHERE x > 1) AS gone USING (k)",
        "SELECT a, h.x FROM here LEFT JOIN _helper AS h USING (k)",
        "SELECT a, x FROM here LEFT JOIN role.gone ON gone.k = here.k AND gone.x > 3",
        "SELECT a, x, y FROM here LEFT JOIN role.gone USING (k) LEFT JOIN role.other USING (k)",
    ],
)
def test_dropped_joins_keep_rows(sql: str) -> None:
    text, reads = dropped(sql, ["a", "x", "y"])
    assert {*reads} <= {"here", "role.other"}
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA role")
    for name, columns in {**TABLES, "_helper": {"k": "BIGINT", "x": "DOUBLE"}}.items():
        connection.execute(f"CREATE TABLE {name} ({', '.join(f'{c} {t}' for c, t in columns.items())})")
    connection.execute("INSERT INTO here VALUES (1, 1.5), (2, 2.5), (2, NULL)")
    connection.execute("INSERT INTO role.other VALUES (1, 7)")
    assert sorted(map(repr, connection.sql(text).fetchall())) == sorted(
        map(repr, connection.sql(sql).fetchall())
    )


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a, x FROM here JOIN role.gone USING (k)",
        "SELECT a, x FROM here FULL JOIN role.gone USING (k)",
        "SELECT a, x FROM role.gone RIGHT JOIN here USING (k)",
        "SELECT a, gone.k AS x FROM here LEFT JOIN role.gone USING (k)",
        "SELECT a, x FROM here LEFT JOIN (SELECT 1 AS k, count(x) AS x FROM role.gone) AS gone USING (k)",
    ],
)
def test_joins_that_can_affect_rows_are_retained(sql: str) -> None:
    assert "role.gone" in dropped(sql, ["a", "x"])[1]


@pytest.mark.parametrize(
    ("sql", "nothing"),
    [
        ("SELECT x FROM role.gone", True),
        ("SELECT k, max(x) FROM role.gone GROUP BY k", True),
        ("SELECT max(x) FROM role.gone", False),
        ("SELECT x FROM role.gone LEFT JOIN here USING (k)", True),
        ("SELECT x FROM here JOIN role.gone USING (k)", True),
        ("SELECT x FROM role.gone RIGHT JOIN here USING (k)", False),
        ("SELECT x FROM role.gone FULL JOIN here USING (k)", False),
        ("SELECT x FROM role.gone UNION ALL SELECT a FROM here", False),
        ("SELECT x FROM role.gone UNION ALL SELECT x FROM (SELECT x FROM role.gone)", True),
        ("WITH role AS (SELECT 1 AS x) SELECT x FROM role", False),
    ],
)
def test_returns_no_rows(sql: str, nothing: bool) -> None:
    node = parse(sql)["statements"][0]["node"]  # type: ignore[index]
    assert missing_tables.returns_no_rows(node, gone) is nothing


@pytest.mark.long
def test_measures_are_same_with_all_their_joins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = demo.write(tmp_path)

    def answers() -> dict[str, list[tuple[object, ...]]]:
        with zlens.open(files[:1]) as opened:
            return {
                name: sorted(opened.sql(f"FROM {name}").rows, key=repr)
                for name in measures.measure_names()
                if nodes.is_joined(name) and opened._core.has_data(name)
            }

    monkeypatch.setattr("zlens.schema.cache._root", lambda *_: tmp_path / "cache")
    short = answers()
    dropped: list[object] = []
    monkeypatch.setattr("zlens.schema.cache._root", lambda *_: tmp_path / "other")
    monkeypatch.setattr(missing_tables, "drop_missing_joins", lambda *args: dropped.append(args))
    assert answers() == short
    assert dropped
