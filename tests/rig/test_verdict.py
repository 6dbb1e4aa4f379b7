"""Tests of the comparator: errors, bands, order and confidence intervals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from zlens.rig.definition import ExpectedNumber, Observation
from zlens.rig.verdict import judge, mean

ONE = Observation(
    name="CPU", unit="%", measure="guest", column="cpu_pct", statistic="mean", by="userid", where={},
    sql=None, relative_to=None, scale=1.0, expected="published", largest=1.0, rms=None,
    misallocated=None, of="sum", order=False, band=None,
)  # fmt: skip
FOUR = {
    "": {"A": ExpectedNumber(25), "B": ExpectedNumber(50), "C": ExpectedNumber(25), "D": ExpectedNumber(100)}
}


def seen(*values: float | None) -> dict[str, dict[str, list[float | None]]]:
    return {"": {name: [value] for name, value in zip("ABCD", values, strict=True)}}


def test_largest_difference_is_percent_of_sum() -> None:
    assert judge(ONE, FOUR, seen(25, 51.9, 25, 98.1)).passed
    off = judge(ONE, FOUR, seen(25, 52.1, 25, 97.9))
    assert off.worst == pytest.approx(1.05)
    assert off.failures == (
        "B: 52.1 for 50, off by 1.05%",
        "D: 97.9 for 100, off by 1.05%",
    )


def test_difference_of_expected_value_or_in_points() -> None:
    assert judge(replace(ONE, of="expected"), FOUR, seen(25.2, 50, 25, 100)).passed
    assert not judge(replace(ONE, of="expected"), FOUR, seen(25.3, 50, 25, 100)).passed
    points = judge(replace(ONE, of="points"), FOUR, seen(25, 50, 25, 101.5))
    assert points.failures == ("D: 101.5 for 100, off by 1.5 points",)


def test_expected_zero_allows_no_difference() -> None:
    """Zero has no percentage: every difference is too large."""
    zero = {"": {"A": ExpectedNumber(0)}}
    assert judge(replace(ONE, of="expected"), zero, {"": {"A": [0.0]}}).passed
    assert not judge(replace(ONE, of="expected"), zero, {"": {"A": [0.1]}}).passed


def test_root_mean_square_and_misallocation() -> None:
    """Differences 2, 2, 0, 0 have a root mean square of 1.41 points; 2 of 200 are misallocated."""
    one = replace(ONE, of="points", largest=None, rms=1.0, misallocated=0.5)
    found = judge(one, FOUR, seen(27, 48, 25, 100))
    assert found.rms == pytest.approx(2**0.5)
    assert found.misallocated == pytest.approx(1.0)
    assert found.failures == (
        "root mean square 1.41 points, at most 1 points",
        "1% misallocated, at most 0.5%",
    )


def test_bands_go_before_differences() -> None:
    expected = {"": {"A": ExpectedNumber(50, 48.2, 51.8), "B": ExpectedNumber(None, 73, None)}}
    assert judge(ONE, expected, {"": {"A": [51.7], "B": [99.0]}}).passed
    off = judge(ONE, expected, {"": {"A": [51.9], "B": [72.9]}})
    assert off.failures == ("A: 51.9, at most 51.8", "B: 72.9, at least 73")


def test_order_follows_expected_values() -> None:
    one = replace(ONE, largest=None, order=True)
    cases = {
        "slow": {"": ExpectedNumber(0.649)},
        "same": {"": ExpectedNumber(1.065)},
        "fast": {"": ExpectedNumber(1.303)},
    }
    assert judge(one, cases, {"slow": {"": [1.0]}, "same": {"": [1.4]}, "fast": {"": [1.5]}}).passed
    off = judge(one, cases, {"slow": {"": [1.0]}, "same": {"": [1.5]}, "fast": {"": [1.5]}})
    assert off.failures == ("same has 1.5, not less than fast with 1.5",)


def test_ranks_have_order_but_no_difference() -> None:
    """Throughputs of 29,817 and 29,900 are in the order of the ranks 1 and 2, and not 2,981,600% off."""
    ranks = {"one": {"": ExpectedNumber(1)}, "two": {"": ExpectedNumber(2)}}
    seen = {"one": {"": [29_817.0]}, "two": {"": [29_900.0]}}
    ordered = judge(replace(ONE, of="expected", largest=None, order=True), ranks, seen)
    assert ordered.passed
    assert (ordered.worst, ordered.rms, ordered.misallocated) == (None, None, None)
    assert [row.error for row in ordered.compared] == [None, None]
    banded = judge(replace(ONE, of="expected", largest=50.0, order=True), ranks, seen)
    assert banded.worst == pytest.approx(2_981_600)


def test_no_order_within_uncertainty() -> None:
    one = replace(ONE, largest=None, order=True)
    cases = {"slow": {"": ExpectedNumber(0.649)}, "fast": {"": ExpectedNumber(1.303)}}
    # Half-widths of 0.0908 each (12.706 / sqrt(2) times 0.0101): 0.128 for the difference.
    near = {"slow": {"": [1.0, 1.014286]}, "fast": {"": [1.1, 1.114286]}}
    assert judge(one, cases, near).failures == ("slow and fast do not differ: 1.0071 and 1.1071",)
    assert judge(one, cases, {**near, "fast": {"": [1.2, 1.214286]}}).passed


def test_missing_observation_fails() -> None:
    assert judge(ONE, FOUR, seen(25, 50, 25, None)).failures == ("D: not observed",)
    assert len(judge(ONE, FOUR, {}).failures) == 4


def test_confidence_interval_is_students() -> None:
    """Values 9, 10, 11: 4.303 / sqrt(3) times their standard deviation of 1."""
    average, half = mean([9.0, 10.0, 11.0])
    assert average == 10
    assert half == pytest.approx(4.3027 / 3**0.5, rel=1e-4)
    assert mean([9.0]) == (9.0, None)
    assert mean([9.0, None]) == (None, None)


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=8))
def test_exact_observation_passes(values: list[float]) -> None:
    expected = {"": {str(at): ExpectedNumber(value) for at, value in enumerate(values)}}
    found = judge(ONE, expected, {"": {str(at): [value, value] for at, value in enumerate(values)}})
    assert found.passed
    assert found.worst == 0
