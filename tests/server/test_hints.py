"""Tests of the workload hint's regions against the catalog's conditions."""

from __future__ import annotations

import duckdb
import pytest

from zlens.catalog import cpumf
from zlens.server.schema import hint_regions


def _category(l1mp: float, rni: float) -> str:
    """Return the category of the first region that contains the point, bounds included."""
    for one in hint_regions()["regions"]:
        inside = True
        for value, (low, high) in ((l1mp, one["l1mp"]), (rni, one["rni"])):
            inside &= (low is None or value >= low) and (high is None or value <= high)
        if inside:
            return str(one["category"])
    raise AssertionError("no region")


@pytest.mark.parametrize("l1mp", [0.0, 2.9, 3.1, 4.5, 5.9, 6.1, 12.0])
@pytest.mark.parametrize("rni", [0.0, 0.59, 0.61, 0.74, 0.76, 0.99, 1.01, 3.0])
def test_hint_regions_equal_catalog_conditions(l1mp: float, rni: float) -> None:
    cases = " ".join(f"WHEN {hint.when} THEN '{hint.category}'" for hint in cpumf.HintTable.load().hints)
    category = duckdb.sql(
        f"SELECT CASE {cases} END FROM (SELECT {l1mp}::DOUBLE AS l1mp, {rni}::DOUBLE AS rni)"
    ).fetchall()
    assert category == [(_category(l1mp, rni),)]


def test_hint_table_names_generations() -> None:
    found = hint_regions()
    assert "z196" in found["generations"]
    assert found["status"] == cpumf.HintTable.load().status
