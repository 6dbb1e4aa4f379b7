"""Student's distribution: confidence intervals and tests of few observations."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

#: Steps of the continued fraction and of Newton's method: far more than needed.
_MOST = 500
_TINY = 1e-300


@lru_cache(maxsize=1000)
def quantile(probability: float, freedom: float) -> float:
    """Return the quantile of Student's t with `freedom` degrees of freedom; probability from 0 to 1."""
    if probability == 0.5:
        return 0.0
    if probability < 0.5:
        return -quantile(1 - probability, freedom)
    # From the left the distribution is concave: Newton's steps approach the quantile and do not pass it.
    value = NormalDist().inv_cdf(probability)
    for _ in range(_MOST):
        following = value + (probability - cumulative(value, freedom)) / _density(value, freedom)
        if following <= value or math.isclose(following, value, rel_tol=1e-15):
            break
        value = following
    return value


def _density(value: float, freedom: float) -> float:
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
    return scale * math.pow(1 + value * value / freedom, -(freedom + 1) / 2)


def cumulative(value: float, freedom: float) -> float:
    """Return the probability that Student's t with `freedom` degrees of freedom is at most a value."""
    tail = two_sided(value, freedom) / 2
    return 1 - tail if value >= 0 else tail


def two_sided(value: float, freedom: float) -> float:
    """Return the probability that Student's t is at least as far from 0 as a value."""
    return _beta(freedom / (freedom + value * value), freedom / 2, 0.5)


def _beta(x: float, a: float, b: float) -> float:
    """Return the regularized incomplete beta function by its continued fraction (Lentz)."""
    if not 0 < x < 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(1 - x, b, a)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    upper, lower = 1.0, 0.0
    fraction = 1.0
    for step in range(_MOST):
        half = step // 2
        if step == 0:
            term = 1.0
        elif step % 2:
            term = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            term = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        lower = 1 / _nonzero(1 + term * lower)
        upper = _nonzero(1 + term / upper)
        change = upper * lower
        fraction *= change
        if step and abs(change - 1) < 1e-15:
            break
    return front * (fraction - 1) / a


def _nonzero(value: float) -> float:
    """Return the value, or a tiny one for zero, with which the continued fraction would fail."""
    return value if abs(value) > _TINY else _TINY
