"""Tests of tables in the compressed database."""

from __future__ import annotations

from pathlib import Path

import pytest

from zlens.engine.compressed_table import CompressedTable
from zlens.engine.connection import COMPRESSED, Connection, Error, open_database

FIRST = """
SELECT 'A' AS system, NULL::VARCHAR AS flag, NULL::DOUBLE AS unknown, i AS n, 1.5 AS same FROM range(3) t(i)
"""


@pytest.fixture
def cursor(tmp_path: Path) -> Connection:
    return open_database(str(tmp_path), compressed=True)


def stored(cursor: Connection) -> list[str]:
    text = (
        f"SELECT column_name FROM duckdb_columns() WHERE database_name = '{COMPRESSED}' ORDER BY column_index"
    )
    return [row[0] for row in cursor.execute(text).fetchall()]


def test_columns_with_one_value_are_not_stored(cursor: Connection) -> None:
    table = CompressedTable(cursor, f"{COMPRESSED}.main.t")
    table.create(FIRST)
    table.insert(FIRST.replace("range(3)", "range(3, 5)"))
    table.compress()
    # Only of texts and unknown values, whose literals are exact.
    assert stored(cursor) == ["n", "same"]
    result = cursor.execute(table.select())
    assert [column[0] for column in result.description] == ["system", "flag", "unknown", "n", "same"]
    rows = result.fetchall()
    assert rows == cursor.execute(FIRST.replace("range(3)", "range(5)")).fetchall()


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        ("'A' AS system", "'B' AS system", ["n", "same", "system"]),
        ("'A' AS system", "NULL AS system", ["n", "same", "system"]),
        ("NULL::VARCHAR AS flag", "'gap' AS flag", ["n", "same", "flag"]),
        ("NULL::DOUBLE AS unknown", "0.5 AS unknown", ["n", "same", "unknown"]),
        ("'A' AS system, NULL::VARCHAR", "'B' AS system, 'gap'", ["n", "same", "system", "flag"]),
    ],
)
def test_column_with_another_value_is_stored(cursor: Connection, old: str, new: str, left: list[str]) -> None:
    table = CompressedTable(cursor, f"{COMPRESSED}.main.t")
    other = FIRST.replace(old, new).replace("range(3)", "range(3, 5)")
    table.create(FIRST)
    table.compress()
    table.insert(other)
    table.compress()
    table.insert(FIRST)
    assert sorted(stored(cursor)) == sorted(left)
    expected = cursor.execute(f"{FIRST} UNION ALL {other} UNION ALL {FIRST}").fetchall()
    assert sorted(cursor.execute(table.select()).fetchall(), key=str) == sorted(expected, key=str)


def test_table_of_one_value_keeps_a_column(cursor: Connection) -> None:
    table = CompressedTable(cursor, f"{COMPRESSED}.main.t")
    table.create("SELECT 'A' AS system, NULL::VARCHAR AS flag FROM range(3)")
    assert cursor.execute(table.select()).fetchall() == [("A", None)] * 3


def test_empty_first_rows_store_all_columns(cursor: Connection) -> None:
    table = CompressedTable(cursor, f"{COMPRESSED}.main.t")
    table.create(f"{FIRST} WHERE false")
    table.insert(FIRST)
    assert cursor.execute(table.select()).fetchall() == cursor.execute(FIRST).fetchall()


def test_other_errors_of_rows_are_raised(cursor: Connection) -> None:
    table = CompressedTable(cursor, f"{COMPRESSED}.main.t")
    table.create(FIRST)
    with pytest.raises(Error, match="broken"):
        table.insert(FIRST.replace("i AS n", "error('broken') AS n"))
