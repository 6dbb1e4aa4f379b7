"""Tests of connection settings that results depend on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from zlens.engine.connection import connect, write_parquet
from zlens.engine.results import ResultStream


@pytest.mark.parametrize("kind", ["ASOF JOIN", "ASOF LEFT JOIN"])
def test_asof_join_does_not_compare_all_pairs(kind: str) -> None:
    """The engine estimates few rows in selected times, whatever their number."""
    connection = connect(None)
    connection.execute("CREATE TABLE sought AS SELECT i AS at FROM range(10) AS numbers(i)")
    connection.execute("CREATE TABLE known AS SELECT i AS at FROM range(10_000) AS numbers(i)")
    query = f"EXPLAIN SELECT count(*) FROM sought {kind} known ON known.at <= sought.at"
    [(_, plan)] = connection.execute(query).fetchall()
    assert "Asof Join" in plan
    assert "Nested" not in plan


class _Counted:
    """A relation that counts how often it is computed."""

    def __init__(self, relation: Any) -> None:
        self.columns, self.types = relation.columns, relation.types
        self.computed = 0
        self._relation = relation

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        self.computed += 1
        return self._relation.__arrow_c_stream__(requested_schema)


def test_result_is_computed_once_for_output(tmp_path: Path) -> None:
    source = duckdb.connect()
    source.execute("SET TimeZone = 'UTC'")
    types = "1::BIGINT AS i, 2.5::DOUBLE AS f, 'x' AS t, true AS b, TIMESTAMPTZ '2026-01-05' AS time"
    counted = _Counted(source.sql(f"SELECT {types} FROM range(3)"))
    path = tmp_path / "answer.parquet"
    write_parquet(ResultStream(counted), str(path))
    assert counted.computed == 1
    written = source.sql(f"SELECT *, epoch_us(time) AS us FROM '{path}'")
    assert [str(type) for type in written.types][:5] == [str(type) for type in counted.types]
    assert [row[:4] for row in written.project("* EXCLUDE (time)").fetchall()] == [(1, 2.5, "x", True)] * 3
