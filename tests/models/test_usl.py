"""Tests of fits of the Universal Scalability Law with scipy as oracle, and of rejected fits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy.optimize import least_squares, linprog  # type: ignore[import-untyped]
from scipy.stats import t as student_t  # type: ignore[import-untyped]

from iterations import draws, iterations
from zlens.catalog import capacity_curves
from zlens.models import t_distribution
from zlens.models.capacity import usl

SIZES = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]


def law(n: Any, gamma: float, alpha: float, beta: float) -> Any:
    return gamma * n / (1 + alpha * (n - 1) + beta * n * (n - 1))


def fitted(sizes: Sequence[float], rates: Sequence[float], **options: float) -> usl.UslFit | None:
    return usl.fit(tuple(sizes), tuple(rates), **options)


def values(fit: usl.UslFit) -> list[float]:
    return [one.value for one in fit.parameters]


# The law ------------------------------------------------------------------------------------------


def test_fit_recovers_parameters() -> None:
    rng = draws(4)
    for _ in range(300):
        gamma, alpha, beta = 10 ** rng.uniform(-3, 6), rng.uniform(0, 0.3), 10 ** rng.uniform(-5, -2)
        fit = fitted(SIZES, [law(n, gamma, alpha, beta) for n in SIZES])
        assert fit is not None
        assert values(fit) == pytest.approx([gamma, alpha, beta], rel=1e-5, abs=1e-9)
        assert fit.largest_error < 1e-6
        assert fit.peak == pytest.approx(math.sqrt((1 - alpha) / beta), rel=1e-4)
        assert fit.throughput_at(24) == pytest.approx(law(24, gamma, alpha, beta), rel=1e-6)


def test_fit_is_optimal() -> None:
    """Bounded least squares of scipy, from two starts, never find a smaller sum of squares."""
    rng = draws(1)
    checked = 0
    tried = iterations(120, 24)
    for _ in range(tried):
        sizes = np.array(sorted(rng.sample(range(1, 128), rng.randint(4, 12))), float)
        gamma, alpha, beta = 10 ** rng.uniform(-2, 5), rng.choice([0, 0.1]), rng.choice([0, 1e-5, 1e-3])
        noise = rng.choice([0.01, 0.05, 0.15])
        rates = np.array([law(n, gamma, alpha, beta) * rng.gauss(1, noise) for n in sizes])
        if (rates <= 0).any():
            continue
        fit = fitted(list(sizes), list(rates))
        assert fit is not None
        top, start = rates.max(), max(rates / sizes)

        other = min(
            _least(sizes, rates / top, begin, start / top) for begin in ([1, 0.02, 1e-4], [0.8, 0.2, 1e-3])
        )
        ours = sum((np.array(fit.values) - rates) ** 2) / top**2
        assert ours <= other * (1 + 1e-6)
        checked += 1
    assert checked > tried * 0.9


def _least(sizes: Any, rates: Any, begin: list[float], unit: float) -> float:
    """Return the smallest sum of squares that scipy finds from a start."""

    def miss(p: Any) -> Any:
        return law(sizes, p[0] * unit, p[1], p[2]) - rates

    found = least_squares(miss, begin, bounds=([1e-9, 0, 0], [1e9, 1, 1e9]), x_scale=[1, 0.01, 1e-4])
    return 2.0 * float(found.cost)


def test_intervals_are_those_of_linear_theory() -> None:
    """The oracle is scipy: covariance from its Jacobian, quantile of its Student distribution."""
    rng = draws(8)
    rates = [law(n, 50, 0.05, 0.001) * rng.gauss(1, 0.01) for n in SIZES]
    for confidence in (0.9, 0.95):
        fit = fitted(SIZES, rates, confidence=confidence)
        assert fit is not None
        assert fit.freedom == 3
        found = least_squares(
            lambda p: law(np.array(SIZES), *p) - rates,
            [50, 0.05, 0.001],
            x_scale=[50, 0.05, 1e-3],
            xtol=1e-15,
            ftol=1e-15,
        )
        variance = 2 * found.cost / 3
        covariance = variance * np.linalg.inv(found.jac.T @ found.jac)
        wide = student_t.ppf((1 + confidence) / 2, 3)
        for at, one in enumerate(fit.parameters):
            half = wide * math.sqrt(covariance[at, at])
            assert one.low == pytest.approx(one.value - half, rel=1e-3)
            assert one.high == pytest.approx(one.value + half, rel=1e-3)
        bands = np.sqrt(np.einsum("ij,jk,ik->i", found.jac, covariance, found.jac)) * wide
        highs = [high - value for high, value in zip(fit.highs, fit.values, strict=True) if high]
        assert highs == pytest.approx(list(bands), rel=1e-3)
        lows = [value - low for low, value in zip(fit.lows, fit.values, strict=True) if low]
        assert lows == pytest.approx(list(bands), rel=1e-3)


def test_confidence_interval_has_95_percent_coverage() -> None:
    rng = draws(12)
    sizes = [float(n) for n in (1, 2, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64)]
    held = 0
    for _ in range(300):
        fit = fitted(sizes, [law(n, 100, 0.03, 0.0005) + rng.gauss(0, 10) for n in sizes])
        assert fit is not None
        alpha = fit.parameters[1]
        held += alpha.low is not None and alpha.high is not None and alpha.low <= 0.03 <= alpha.high
    assert 0.90 < held / 300 < 0.985


def test_fixed_gamma_is_preserved() -> None:
    fit = fitted(SIZES, [law(n, 10, 0.1, 0.001) for n in SIZES], gamma=10.0)
    assert fit is not None
    assert values(fit) == pytest.approx([10, 0.1, 0.001])
    assert (fit.parameters[0].how, fit.parameters[0].low) == ("given", None)
    assert fit.freedom == 4


def test_superlinear_contention_is_zero() -> None:
    fit = fitted([1, 2, 4, 8], [10, 21, 43, 90])
    assert fit is not None
    assert values(fit)[1:] == [0, 0]
    assert [one.how for one in fit.parameters] == ["fitted", "at 0", "at 0"]
    assert fit.peak is None
    assert fit.parameters[1].low is None


def test_contention_is_at_most_all_of_work() -> None:
    """A contention of more than all work is limited to 1."""
    fit = fitted(SIZES, [law(n, 100, 2.5, 0) for n in SIZES], gamma=100)
    assert fit is not None
    assert fit.parameters[1].value == 1
    assert fit.parameters[1].how == "at 1"


def test_fit_needs_enough_sizes() -> None:
    assert fitted([], []) is None
    assert fitted([4], [10]) is None
    assert fitted([1, 2], [10, 19]) is None
    assert fitted([2, 2, 2, 4], [10, 10, 10, 19]) is None
    exact = fitted([1, 4, 16], [10, 30, 60])
    assert exact is not None
    assert exact.freedom == 0
    assert exact.largest_error < 1e-6
    assert all(one.low is None for one in exact.parameters)
    assert exact.lows == (None,) * 3
    given = fitted([2, 4], [19, 30], gamma=10)
    assert given is not None
    assert given.freedom == 0


def test_peak_is_where_throughput_is_greatest() -> None:
    rng = draws(3)
    for _ in range(200):
        alpha, beta = rng.uniform(0, 0.6), 10 ** rng.uniform(-5, -1)
        at = usl.peak_size(alpha, beta)
        assert at is not None
        best = usl.throughput(at, 1, alpha, beta)
        assert at == 1 or best >= usl.throughput(at * 1.01, 1, alpha, beta)
        assert at == 1 or best >= usl.throughput(max(1, at / 1.01), 1, alpha, beta) - 1e-12
    assert usl.peak_size(0.1, 0) is None
    assert usl.peak_size(1.0, 0.1) == 1


# The negative control -----------------------------------------------------------------------------


def test_z14_curve_does_not_fit_usl() -> None:
    """The error of the fit to IBM's curve is 17.6%; no law has an error below 14.6%."""
    curve = capacity_curves.capacity_curves()["z14-m05"].curve
    sizes, rates = [float(n) for n, _ in curve], [n * value for n, value in curve]
    fit = fitted(sizes, rates, gamma=1.0)
    assert fit is not None
    assert fit.largest_error >= 0.14
    assert fit.largest_error == pytest.approx(0.176, abs=0.001)
    assert values(fit)[2] == 0
    assert fit.errors[3] == fit.largest_error  # above the machine, at 16 processors
    assert fit.errors[-1] == pytest.approx(fit.throughput_at(80) / rates[-1] - 1)
    assert fit.errors[-1] < 0
    free = fitted(sizes, rates)
    assert free is not None
    assert free.largest_error >= 0.14
    # For laws with X(1) = 1, a bound on the relative error is linear in alpha and beta.
    low, high = 0.0, 0.5
    for _ in range(40):
        middle = (low + high) / 2
        rows, right = [], []
        for n, rate in zip(sizes, rates, strict=True):
            rows += [[n - 1, n * (n - 1)], [-(n - 1), -n * (n - 1)]]
            right += [n / ((1 - middle) * rate) - 1, 1 - n / ((1 + middle) * rate)]
        fits = linprog([0, 0], A_ub=rows, b_ub=right, bounds=[(0, None)] * 2).status == 0
        low, high = (low, middle) if fits else (middle, high)
    assert high == pytest.approx(0.146, abs=0.001)
    assert fit.largest_error >= high


# Student's distribution ---------------------------------------------------------------------------


def test_student_probabilities_against_scipy() -> None:
    for freedom in (1, 2, 3, 7, 30, 1000):
        for value in (-40, -2, -0.3, 0, 0.1, 1, 5):
            assert t_distribution.cumulative(value, freedom) == pytest.approx(
                student_t.cdf(value, freedom), abs=1e-10
            )
        for probability in (0.001, 0.05, 0.4, 0.5, 0.75, 0.975, 0.9999):
            expected = student_t.ppf(probability, freedom)
            assert t_distribution.quantile(probability, freedom) == pytest.approx(
                expected, rel=1e-8, abs=1e-12
            )
