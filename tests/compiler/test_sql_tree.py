"""Tests of statements of the catalog reduced to the requested columns."""

from __future__ import annotations

import json

import duckdb
import pytest

from zlens.compiler import sql_tree
from zlens.errors import CatalogError

COLUMNS = {
    "a": ["k", "t", "x", "y"],
    "b": ["k", "t", "x", "z"],
    "c": ["k", "w"],
    "role.r": ["k", "p", "q"],
}


@pytest.fixture(scope="module")
def connection():
    database = duckdb.connect()
    database.execute("CREATE SCHEMA role")
    for name, columns in COLUMNS.items():
        typed = ", ".join(f"{column} INTEGER" for column in columns)
        database.execute(f"CREATE TABLE {name} ({typed})")
        values = ", ".join(
            f"({', '.join(str((row * 7 + at * 3) % 5) for at in range(len(columns)))})" for row in range(6)
        )
        database.execute(f"INSERT INTO {name} VALUES {values}")
    # A LEFT JOIN may require a key with one row each.
    database.execute(
        "CREATE OR REPLACE TABLE b AS SELECT k, t, x, z FROM b QUALIFY row_number() OVER (PARTITION BY k) = 1"
    )
    database.execute(
        "CREATE OR REPLACE TABLE c AS SELECT k, w FROM c QUALIFY row_number() OVER (PARTITION BY k) = 1"
    )
    yield database
    database.close()


def parsed(connection, sql):
    return json.loads(connection.execute("SELECT json_serialize_sql(?)", [sql]).fetchall()[0][0])


def narrowed(connection, sql, *wanted):
    tree = parsed(connection, sql)
    reads = sql_tree.narrow(tree, wanted, COLUMNS.__getitem__)
    text = connection.execute("SELECT json_deserialize_sql(?)", [json.dumps(tree)]).fetchall()[0][0]
    return text, reads


@pytest.mark.parametrize(
    ("sql", "wanted", "reads"),
    [
        ("SELECT x, y FROM a", ["y"], {"a": {"y"}}),
        ("SELECT x + y AS s, k FROM a WHERE t > 1", ["k"], {"a": {"k", "t"}}),
        ("SELECT * FROM a", ["x"], {"a": {"x"}}),
        ("SELECT a.* EXCLUDE (x) REPLACE (t + y AS y) FROM a", ["y"], {"a": {"t", "y"}}),
        ("SELECT a.x, b.z FROM a LEFT JOIN b USING (k)", ["x"], {"a": {"x"}}),
        ("SELECT a.x, b.z FROM a LEFT JOIN b USING (k)", ["z"], {"a": {"k"}, "b": {"k", "z"}}),
        ("SELECT a.x, b.z FROM a JOIN b USING (k)", ["x"], {"a": {"k", "x"}, "b": {"k"}}),
        (
            "SELECT a.x, c.w FROM a LEFT JOIN b USING (k) LEFT JOIN c ON c.k = b.z",
            ["w"],
            {"a": {"k"}, "b": {"k", "z"}, "c": {"k", "w"}},
        ),
        ("SELECT a.x FROM a ASOF LEFT JOIN b ON a.k = b.k AND a.t >= b.t", ["x"], {"a": {"x"}}),
        ("SELECT k, sum(x) AS s, sum(y) AS u FROM a GROUP BY k", ["u"], {"a": {"k", "y"}}),
        ("SELECT DISTINCT k, x FROM a", ["k"], {"a": {"k", "x"}}),
        ("SELECT k, x FROM a GROUP BY ALL", ["k"], {"a": {"k", "x"}}),
        ("SELECT k, x FROM a UNION ALL SELECT z, t FROM b", ["x"], {"a": {"x"}, "b": {"t"}}),
        ("SELECT k, x FROM a UNION SELECT z, t FROM b", ["x"], {"a": {"k", "x"}, "b": {"z", "t"}}),
        ("SELECT k, x FROM a UNION ALL BY NAME SELECT z, x FROM b", ["x"], {"a": {"x"}, "b": {"x"}}),
        ("WITH q AS (SELECT * FROM a), r AS (FROM q) SELECT x FROM r", ["x"], {"a": {"x"}}),
        ("WITH q AS (SELECT * FROM a), r AS (FROM b) SELECT x FROM q", ["x"], {"a": {"x"}}),
        ("SELECT p AS one, q AS two FROM role.r", ["one"], {"role.r": {"p"}}),
        ("SELECT x AS one, one + 1 AS two, y AS three FROM a", ["two"], {"a": {"x"}}),
        (
            "SELECT k FROM a QUALIFY row_number() OVER (PARTITION BY x ORDER BY y) = 1",
            ["k"],
            {"a": {"k", "x", "y"}},
        ),
        (
            "SELECT k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.t)",
            ["k"],
            {"a": {"k", "t"}, "b": {"k"}},
        ),
        ("SELECT k FROM a WHERE (k, x) IN (SELECT (k, z) FROM b)", ["k"], {"a": {"k", "x"}, "b": {"k", "z"}}),
        ("SELECT v.n, v.m FROM a, LATERAL (VALUES (1, a.x), (2, a.y)) AS v(n, m)", ["n"], {"a": {"x", "y"}}),
        ("SELECT * FROM a ANTI JOIN b USING (k)", ["x"], {"a": {"k", "x"}, "b": {"k"}}),
        ("SELECT k, x FROM a FULL JOIN b USING (k)", ["k"], {"a": {"k"}, "b": {"k"}}),
        ("SELECT count(*) AS n FROM a", ["n"], {"a": set()}),
    ],
)
def test_narrowed_query_reads_requested_columns(connection, sql, wanted, reads):
    if "FULL JOIN" in sql:
        sql = sql.replace("k, x", "k, a.x")
    text, found = narrowed(connection, sql, *wanted)
    assert found == reads
    columns = sql_tree.names(parsed(connection, sql), COLUMNS.__getitem__)
    # The reduced statement returns the same rows.
    named = ", ".join(f'"{name}"' for name in wanted)
    whole = connection.execute(f"SELECT {named} FROM ({sql}) ORDER BY ALL").fetchall()
    assert connection.execute(f"SELECT {named} FROM ({text}) ORDER BY ALL").fetchall() == whole
    assert set(wanted) <= set(columns)


def test_names_are_those_of_columns(connection):
    shape = "SELECT * EXCLUDE (t), x + 1 AS one FROM a LEFT JOIN c USING (k)"
    assert sql_tree.names(parsed(connection, shape), COLUMNS.__getitem__) == ["k", "x", "y", "w", "one"]


def test_roles_are_read_by_query_names(connection):
    tree = parsed(connection, "WITH a AS (SELECT 1 AS one) SELECT r.p, b.z FROM role.r JOIN b USING (k), a")
    sql_tree.rename(tree, {"role.r": "role.r", "b": "unsummed.b", "a": "nothing"})
    text = connection.execute("SELECT json_deserialize_sql(?)", [json.dumps(tree)]).fetchall()[0][0]
    assert '"role.r" AS r' in text
    assert '"unsummed.b" AS b' in text
    assert "nothing" not in text


def test_catalog_sql_rejects_query_only_syntax(connection):
    with pytest.raises(CatalogError, match="RECURSIVE"):
        sql_tree.names(
            parsed(connection, "WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i FROM r) FROM r"),
            COLUMNS.__getitem__,
        )
