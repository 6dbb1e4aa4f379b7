"""Tests of SMT bounds with demands for which no bound is a number."""

from __future__ import annotations

import math

import pytest

from zlens.models.smt.bounds import ThroughputBound, lowest_bound


@pytest.mark.parametrize("most", [math.nan, math.inf, -1.0, 0.0, 1e308])
def test_first_of_equal_bounds_is_lowest(most: float) -> None:
    bounds = [
        ThroughputBound("none", 0.0, 1, None),
        ThroughputBound("first", 1.0, 1, most),
        ThroughputBound("second", 1.0, 1, most),
    ]
    found = lowest_bound(bounds)
    assert found is not None
    assert found.held_by == "first"
