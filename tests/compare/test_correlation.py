"""Tests of rank correlation of metrics."""

from __future__ import annotations

import datetime as dt

import pytest

from zlens.catalog.comparison_metrics import compared_metrics
from zlens.compare.correlation import correlated_metrics, rank_correlation
from zlens.compare.sides import SystemRun


def test_ranks_need_no_straight_line():
    assert rank_correlation([(n, n**3) for n in range(12)]) == pytest.approx(1)
    assert rank_correlation([(n, -(2.0**n)) for n in range(12)]) == pytest.approx(-1)


def test_equal_values_share_rank():
    # Computed by hand: ranks 1.5 1.5 3 ... 10 and 1 ... 10.
    pairs = [(max(1, n), float(n)) for n in range(10)]
    # 1 - 6 * sum of d^2 / (n (n^2 - 1)), corrected for one tie of two.
    assert rank_correlation(pairs) == pytest.approx((82.5 - 0.5) / (82.0 * 82.5) ** 0.5)


def test_constant_or_short_series_has_no_correlation():
    assert rank_correlation([(n, 5.0) for n in range(12)]) is None
    assert rank_correlation([(n, float(n)) for n in range(9)]) is None


def test_total_and_subject_columns_have_headings() -> None:
    start = dt.datetime(2026, 3, 2, 9, tzinfo=dt.UTC)
    ends = [start + dt.timedelta(minutes=minute) for minute in range(12)]
    points = [(end, float(number), 1.0) for number, end in enumerate(ends)]
    keys = [("load.busy_pct", ()), ("device.rate", ()), ("device.rate", ("0120",))]
    run = SystemRun("SYSA", series=dict.fromkeys(keys, points))
    window = (start - dt.timedelta(minutes=1), ends[-1])
    results = correlated_metrics(run, "load.busy_pct", compared_metrics(), window, (ends[5], ends[8]))
    assert {" ".join([result.metric.heading, *result.subject]) for result in results} == {
        "Device I/O",
        "I/O of device 0120",
    }
