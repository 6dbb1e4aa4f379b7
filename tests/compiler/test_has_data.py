"""Tests of `has_data`: a measure is empty if the input has no table that its rows require."""

from __future__ import annotations

import json

import duckdb
import pytest

import zlens
from zlens.catalog import measures
from zlens.compiler import sql_tree


def needed(sql):
    [(text,)] = duckdb.execute("SELECT json_serialize_sql(?)", [sql]).fetchall()
    return sql_tree.required_tables(json.loads(text))


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("SELECT * FROM a", "a"),
        ("SELECT * FROM role.a LEFT JOIN b USING (x)", "role.a"),
        ("SELECT * FROM a JOIN b USING (x)", ["#all", "a", "b"]),
        ("SELECT * FROM a ANTI JOIN b USING (x)", "a"),
        ("SELECT * FROM a FULL JOIN b USING (x)", ["#any", "a", "b"]),
        ("SELECT * FROM a UNION ALL SELECT * FROM b", ["#any", "a", "b"]),
        ("WITH c AS (SELECT * FROM a) SELECT * FROM (SELECT * FROM c)", "a"),
        ("FROM (UNPIVOT a ON b, c)", "a"),
        ("SELECT 1", ["#all"]),
    ],
)
def test_tables_required_by_rows(sql, tables):
    assert needed(sql) == tables


#: Measures without rows whose records the demo files have: multithreading, events, problems, and parts that
#: only some of the records have.
WITHOUT_ROWS = {
    "sim.monwrite": "problem",
    "zldemo.monwrite": "core core_type problem",
    "zlzos-rmf-cpu.xml": "address_spaces core core_type event ready_work work_units",
    "zlzos.smf": """core coupling_link coupling_path environment event partition_use power_comparison
        power_meter problem""",
}


@pytest.mark.long
def test_has_data_agrees_with_rows(demo_files):
    for path in demo_files:
        with zlens.open(str(path)) as session:
            filled = {name for name in measures.measure_names() if session._core.has_data(name)}
            rows = {
                name
                for name in measures.measure_names()
                if session.sql(f'SELECT 1 FROM "{name}" LIMIT 1').rows
            }
        assert rows <= filled, path
        assert filled - rows == {*WITHOUT_ROWS[path.name].split()}, path
