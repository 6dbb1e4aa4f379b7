"""Tests of the allow list of queries: every name of the engine is allowed or refused."""

from __future__ import annotations

import duckdb
import pytest

from zlens.catalog import measures
from zlens.catalog.admitted import AllowList
from zlens.engine.connection import connect

#: Syntax that the engine's list of functions does not have.
_SYNTAX = frozenset({"unnest"})


@pytest.fixture(scope="module")
def engine() -> duckdb.DuckDBPyConnection:
    return connect(None, threads=1)


def names(engine: duckdb.DuckDBPyConnection, select: str) -> set[str]:
    return {str(name).lower() for (name,) in engine.execute(select).fetchall()}


def test_every_function_of_engine_is_allowed_or_refused(engine):
    known = names(
        engine,
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type <> 'pragma'",
    )
    allowed = AllowList.load()
    listed = allowed.functions | allowed.table_functions
    refused = {name for entry in allowed.refused for name in entry.names}
    prefixes = tuple(prefix for entry in allowed.refused for prefix in entry.prefixes)
    assert not {name for name in known - listed - refused if not name.startswith(prefixes)}, "decide"
    assert not (listed | refused) - known - _SYNTAX, "the engine has no such functions"
    assert not listed & refused
    assert not {name for name in listed if name.startswith(prefixes)}


def test_every_type_of_engine_is_listed(engine):
    types = "SELECT DISTINCT type_name FROM duckdb_types() WHERE database_name = 'system'"
    assert names(engine, types) == AllowList.load().expressions.types


def test_functions_with_side_effects_are_refused():
    allowed = AllowList.load()
    for name in allowed.functions | allowed.table_functions:
        assert not name.startswith(("read_", "parquet", "pragma_", "pg_get", "current_s", "copy_", "sniff"))
        assert not name.endswith(("_scan", "nextval", "_sql", "_plan", "_profiling", "_logging"))


def test_no_setting_has_name_of_table(engine):
    assert not names(engine, "SELECT name FROM duckdb_settings()") & {*measures.measure_names()}, (
        "SHOW shows it"
    )
