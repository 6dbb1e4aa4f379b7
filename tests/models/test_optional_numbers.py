"""Tests of arithmetic with unknown numbers."""

from __future__ import annotations

from zlens.models.optional_numbers import difference, product, ratio, total


def test_unknown_operands_make_results_unknown() -> None:
    for compute in (ratio, product, difference):
        assert compute(6.0, 3.0) is not None
        assert compute(None, 3.0) is None
        assert compute(6.0, None) is None
    assert total([1.0, None, 2.0]) is None


def test_known_operands_are_computed() -> None:
    assert (ratio(6.0, 3.0), product(6.0, 3.0), difference(6.0, 3.0)) == (2.0, 18.0, 3.0)
    assert total(value for value in (1.0, 0.0, 2.0)) == 3.0
    # Zero is a number, but nothing is divided by it.
    assert (ratio(0.0, 3.0), product(0.0, 3.0), difference(0.0, 3.0)) == (0.0, 0.0, -3.0)
    assert ratio(6.0, 0.0) is None
