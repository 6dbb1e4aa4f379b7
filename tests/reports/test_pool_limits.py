"""Tests of CPU pools: what they use of their limits."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from cluster_records import cpu_pools

import zlens
from zlens.catalog import aggregation
from zlens.catalog.measures import load_measure


def test_pool_use_of_capacity_and_of_processors(tmp_path: Path) -> None:
    """75 s of 60 are 125% and 83.3% of 1.5 IFLs; 15 s are 25%, half of a quarter of two IFLs."""
    with zlens.open(cpu_pools(tmp_path)) as session:
        rows = session.sql(
            "SELECT pool, limit_kind, limit_amount, limit_processors, cpu_pct, of_limit_pct, limited_pct "
            "FROM cpu_pool WHERE cpu_pct IS NOT NULL ORDER BY pool, interval_end"
        ).rows
    assert rows[:3] == [
        ("BATCH", "NOLIMIT", None, None, 25.0, None, 0.0),
        *[("BATCH", "LIMITHARD", 25.0, 0.5, 25.0, pytest.approx(50.0), 0.0)] * 2,
    ]
    assert rows[3:] == [("WEB", "CAPACITY", 1.5, 1.5, 125.0, pytest.approx(250 / 3), 10.0)] * 3


def test_mean_use_of_changed_limit_is_of_sums() -> None:
    """90% of one processor for 60 s, 10% of four for 30 s: 66 of 180 processor seconds, not 63.3%."""
    column = load_measure("cpu_pool").column("of_limit_pct")
    assert column is not None
    values = "(VALUES (90, 1, 60, NULL), (10, 4, 30, NULL))"
    rows = f"{values} AS t(of_limit_pct, limit_processors, seconds, flag)"
    ((mean,),) = duckdb.sql(f"SELECT {aggregation.mean_sql(column)} FROM {rows}").fetchall()
    assert mean == pytest.approx(100 * (0.9 * 60 + 0.1 * 4 * 30) / (60 + 4 * 30))
