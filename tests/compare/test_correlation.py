"""Rank correlation of metrics."""

from __future__ import annotations

import pytest

from zlens.compare.correlation import ranked


def test_ranks_need_no_straight_line():
    assert ranked([(n, n**3) for n in range(12)]) == pytest.approx(1)
    assert ranked([(n, -(2.0**n)) for n in range(12)]) == pytest.approx(-1)


def test_equal_values_share_their_rank():
    # Worked by hand: ranks 1.5 1.5 3 ... 10 beside 1 ... 10.
    pairs = [(max(1, n), float(n)) for n in range(10)]
    # 1 - 6 * sum of d^2 / (n (n^2 - 1)), corrected for one tie of two.
    assert ranked(pairs) == pytest.approx((82.5 - 0.5) / (82.0 * 82.5) ** 0.5)


def test_what_never_changes_or_is_too_short_has_none():
    assert ranked([(n, 5.0) for n in range(12)]) is None
    assert ranked([(n, float(n)) for n in range(9)]) is None
