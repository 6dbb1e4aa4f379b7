"""Settings of the engine's connections that answers depend on."""

from __future__ import annotations

import pytest

from zlens.engine.connection import connect


@pytest.mark.parametrize("kind", ["ASOF JOIN", "ASOF LEFT JOIN"])
def test_the_row_before_in_time_is_found_without_comparing_all_pairs(kind: str) -> None:
    """Rows of selected times are estimated to be few, however many there are."""
    connection = connect(None)
    connection.execute("CREATE TABLE sought AS SELECT i AS at FROM range(10) AS numbers(i)")
    connection.execute("CREATE TABLE known AS SELECT i AS at FROM range(10_000) AS numbers(i)")
    query = f"EXPLAIN SELECT count(*) FROM sought {kind} known ON known.at <= sought.at"
    [(_, plan)] = connection.execute(query).fetchall()
    assert "Asof Join" in plan
    assert "Nested" not in plan
