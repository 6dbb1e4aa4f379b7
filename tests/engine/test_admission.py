"""Tests that queries of every form only read: a lake and the measures do not change."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

import zlens
from fakes import FakeSource, intervals, processors, session, system
from zlens import demo
from zlens.cli import main
from zlens.errors import QueryError

WRITING = (
    "WITH t AS (UPDATE load SET busy_pct = 1.5 RETURNING 1) SELECT count(*) FROM t",
    "WITH t AS (DELETE FROM load RETURNING 1) SELECT count(*) FROM t",
    "WITH t AS (INSERT INTO load SELECT * FROM load RETURNING 1) SELECT count(*) FROM t",
    "SELECT * FROM (WITH t AS (DELETE FROM load RETURNING 1) SELECT count(*) FROM t) AS u",
    "SELECT 1 WHERE EXISTS (WITH t AS (DELETE FROM load RETURNING 1) FROM t)",
    "SELECT 1 UNION ALL (WITH t AS (DELETE FROM load RETURNING 1) SELECT count(*) FROM t)",
    "EXPLAIN ANALYZE WITH t AS (DELETE FROM load RETURNING 1) SELECT count(*) FROM t",
    "EXPLAIN ANALYZE DROP TABLE load",
    "EXPLAIN ANALYZE DELETE FROM load",
    "EXPLAIN ANALYZE CREATE OR REPLACE TABLE load AS SELECT 1 AS busy_pct",
    "EXPLAIN (ANALYZE) DELETE FROM load",
    "EXPLAIN /* ( */ ANALYZE -- )\n DELETE FROM load",
    "CREATE OR REPLACE TABLE load AS SELECT 1 AS busy_pct",
    "DROP TABLE load",
    "UPDATE load SET busy_pct = 1.5",
    "COPY (SELECT 1) TO 'x.csv'",
    "EXPLAIN COPY (SELECT 1) TO 'x.csv'",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO 'x.csv'",
    "SELECT 1; DROP TABLE load",
    "EXPLAIN SELECT 1; DROP TABLE load",
    "ATTACH 'x.db'",
    "SET memory_limit = '100GB'",
    "PRAGMA enable_profiling",
    "CALL range(3)",
    "EXECUTE something",
    "EXPLAIN",
    "EXPLAIN ANALYZE",
    "EXPLAIN (",
)
HIDDEN = (
    "SELECT * FROM duckdb_settings()",
    'SELECT * FROM "DUCKDB_SETTINGS"()',
    "SELECT * FROM pg_catalog.pg_settings",
    "SELECT * FROM pg_settings",
    "SELECT current_setting('allowed_paths')",
    "SELECT getvariable('files')",
    "SELECT * FROM duckdb_variables()",
    "SELECT * FROM duckdb_databases()",
    "SELECT * FROM pragma_database_list",
    "SELECT * FROM glob('*')",
    "SELECT * FROM read_text('/etc/hostname')",
    "SELECT * FROM read_csv('/etc/hostname')",
    "SELECT * FROM parquet_scan('x.parquet')",
    "SELECT * FROM query('DELETE FROM load')",
    "SELECT * FROM query_table('load')",
    "SELECT * FROM json_execute_serialized_sql('{}')",
    "SELECT * FROM arrow_scan(1, 2, 3)",
    "SELECT (SELECT count(*) FROM duckdb_settings())",
    "WITH t AS (FROM duckdb_settings()) FROM t",
    "SELECT pg_sleep(100)",
    "SHOW VARIABLES",
)
READING = (
    "SELECT count(*) FROM load",
    "FROM load",
    "TABLE load",
    "VALUES (1)",
    "WITH t AS (FROM load) SELECT count(*) FROM t",
    "WITH RECURSIVE t AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM t WHERE i < 3) SELECT * FROM t",
    "SELECT 1 UNION SELECT 2 ORDER BY 1",
    "SELECT (SELECT count(*) FROM load), EXISTS (FROM load)",
    "SELECT * FROM (PIVOT load ON flag IN ('gap') USING count(*))",
    "SELECT * FROM (UNPIVOT load ON busy_pct, guest_pct)",
    "SELECT COLUMNS('busy.*') FROM load",
    "SELECT * FROM range(3), unnest([1, 2]), (VALUES (1)) AS v(x)",
    "DESCRIBE load",
    "DESCRIBE SELECT 1",
    "SUMMARIZE load",
    "SHOW TABLES",
    "SHOW ALL TABLES",
    "EXPLAIN SELECT * FROM load",
    "EXPLAIN ANALYZE SELECT count(*) FROM load",
    "explain /* why */ analyze select 1",
    "EXPLAIN (FORMAT json) SELECT 1",
    "EXPLAIN (FORMAT json) (SELECT 1)",
    "EXPLAIN (SELECT 1)",
    "SELECT table_name FROM information_schema.tables",
    "SELECT table_name FROM duckdb_tables()",
    "SELECT 1 -- ; DROP TABLE load",
    "SELECT 'DROP TABLE load; COPY' AS text;",
)


@pytest.fixture(scope="module")
def open_session():
    info = system()
    info.intervals = intervals(3)
    opened = session([FakeSource([info], [processors(info.system, [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])])])
    opened.sql("FROM load").rows  # noqa: B018
    yield opened
    opened.close()


@pytest.mark.parametrize("query", WRITING + HIDDEN)
def test_writing_statements_are_refused(open_session, query):
    before = open_session.sql("SELECT busy_pct FROM load").rows
    with pytest.raises(QueryError) as refused:
        open_session.sql(query).rows  # noqa: B018
    assert refused.value.message
    assert open_session.sql("SELECT busy_pct FROM load").rows == before


@pytest.mark.parametrize("query", READING)
def test_reading_statements_are_allowed(open_session, query):
    assert open_session.sql(query).columns


def test_refusal_names_clause_and_fix(open_session):
    with pytest.raises(QueryError, match=r"not allowed in a query: UPDATE"):
        open_session.sql(WRITING[0])
    with pytest.raises(QueryError, match="table function duckdb_settings"):
        open_session.sql(HIDDEN[0])


def test_python_variables_are_not_tables(open_session):
    secret = open_session.sql("SELECT 42 AS answer")
    assert secret.rows == [(42,)]
    with pytest.raises(QueryError, match="secret does not exist"):
        open_session.sql("SELECT * FROM secret").rows  # noqa: B018


def test_deep_query_error_does_not_suggest_settings(open_session):
    with pytest.raises(QueryError, match="nested too deeply; expected at most 1,000") as caught:
        _ = open_session.sql(f"SELECT {'1 + ' * 3000}1").rows
    assert "SET" not in str(caught.value)


def test_very_deep_query_is_rejected(open_session):
    with pytest.raises(QueryError, match="nested too deeply; expected at most 1,000 expressions"):
        open_session.sql("SELECT " + "(" * 2000 + "1" + ")" * 2000).rows  # noqa: B018
    with pytest.raises(QueryError, match="characters"):
        open_session.sql("SELECT '" + "x" * 2_000_000 + "'").rows  # noqa: B018


def _digests(folder: Path) -> dict[str, str]:
    return {
        p.relative_to(folder).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


def test_queries_cannot_change_lake(tmp_path, demo_folder, capsys):
    """A query cannot write to paths that the engine may read."""
    lake = tmp_path / "lake"
    assert main(["import", str(demo_folder / demo.MONWRITE_NAME), "--lake", str(lake)]) == 0
    before = _digests(lake)
    victim = next(path for path in lake.rglob("*.parquet") if "d0r2" in path.as_posix())
    copy = f"COPY (SELECT 'evil') TO '{victim}' (FORMAT csv, USE_TMP_FILE false)"
    with zlens.open(lake) as opened:
        for query in (copy, f"EXPLAIN ANALYZE {copy}", f"EXPLAIN (ANALYZE) {copy}", f"EXPLAIN {copy}"):
            with pytest.raises(QueryError, match="this is not a single query; expected a single SELECT"):
                opened.sql(query).rows  # noqa: B018
            assert main(["sql", str(lake), "-q", query]) == 2
    assert _digests(lake) == before
    assert "Traceback" not in capsys.readouterr().err
