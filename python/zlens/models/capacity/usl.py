"""Universal Scalability Law fitted to throughput by size: X(n) = g n / (1 + a (n - 1) + b n (n - 1)).

g is the throughput of one processor, a the contention (part of the work that waits for others, 0 to 1), b the
coherency (cost of keeping consistent, 0 or more). Source: N. J. Gunther, "Guerrilla Capacity Planning"
(2007), chapters 4 to 6. It is fitted by least squares of the throughput and meant for workloads: the factors
that machines state do not follow it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import product

from msgspec import Struct

from zlens.models import t_distribution

#: Maximum steps of a search, the relative change of the sum of squares that ends it, and the part of the
#: squares that is negligible.
_STEPS = 200
_NEAR = 1e-14
_EXACT = 1e-24
_NAMES = ("gamma", "alpha", "beta")

Parameters = tuple[float, float, float]


class Parameter(Struct, frozen=True):
    """One of gamma, alpha, beta. low, high: its confidence interval, if any.

    how  "fitted", "given", or "at 0", "at 1" if the best allowed value is a bound
    """

    name: str
    value: float
    low: float | None
    high: float | None
    how: str


class UslFit(Struct, frozen=True):
    """A fitted law.

    freedom  degrees of freedom; with 0 the fit cannot be checked
    values   fitted throughput of each observation
    lows, highs  confidence interval of the fitted curve at each observation
    errors   (fitted - observed) / observed of each observation
    peak     processors at which throughput is greatest; None if it always rises
    """

    parameters: tuple[Parameter, Parameter, Parameter]
    freedom: int
    values: tuple[float, ...]
    lows: tuple[float | None, ...]
    highs: tuple[float | None, ...]
    errors: tuple[float, ...]
    peak: float | None

    @property
    def largest_error(self) -> float:
        """Largest relative error of an observation."""
        return max(map(abs, self.errors))

    def throughput_at(self, processors: float) -> float:
        """Return the throughput by the law with a number of processors."""
        gamma, alpha, beta = (parameter.value for parameter in self.parameters)
        return throughput(processors, gamma, alpha, beta)


def throughput(n: float, gamma: float, alpha: float, beta: float) -> float:
    """Return X(n) of the law."""
    return gamma * n / (1 + alpha * (n - 1) + beta * n * (n - 1))


@lru_cache(maxsize=64)
def fit(
    sizes: tuple[float, ...],
    rates: tuple[float, ...],
    *,
    gamma: float | None = None,
    confidence: float = 0.95,
) -> UslFit | None:
    """Fit the law to (size, throughput) by least squares; None with fewer sizes than parameters.

    sizes are 1 or more, rates above 0. gamma: throughput of one processor if known; fitted otherwise.
    Cached, because a sweep over another key fits the same observations repeatedly.
    """
    unknown = 2 + (gamma is None)
    if len(set(sizes)) < unknown:
        return None
    start = max(rate / size for size, rate in zip(sizes, rates, strict=True))
    best: tuple[float, Parameters, tuple[int, ...]] | None = None
    # The constrained optimum is free in some parameters and has the others at their bounds.
    for alpha, beta in product((None, 0.0, 1.0), (None, 0.0)):
        free = tuple(n for n, value in enumerate((gamma, alpha, beta)) if value is None)
        initial = (gamma or start, 0.02 if alpha is None else alpha, 1e-4 if beta is None else beta)
        solution = _least_squares(sizes, rates, initial, free)
        if 0 <= solution[1] <= 1 and solution[2] >= 0:
            squares = _squares(sizes, rates, solution)
            if best is None or squares < best[0] * (1 - 1e-9):
                best = (squares, solution, free)
            if alpha is None and beta is None:
                # No parameter is at a bound: no other solution can be better.
                break
    if best is None:
        return None
    squares, solution, free = best
    freedom = len(sizes) - unknown
    covariance = _covariance(sizes, solution, free, squares / freedom) if freedom > 0 else None
    t_quantile = t_distribution.quantile((1 + confidence) / 2, freedom) if freedom > 0 else 0.0
    values = tuple(throughput(n, *solution) for n in sizes)
    spreads = [_spread(n, solution, free, covariance, t_quantile) for n in sizes]
    lows, highs = zip(*map(_interval, values, spreads), strict=True)
    errors = tuple(value / rate - 1 for value, rate in zip(values, rates, strict=True))
    parameters = _parameters(solution, free, covariance, t_quantile, gamma is not None)
    return UslFit(parameters, freedom, values, lows, highs, errors, peak_size(solution[1], solution[2]))


def _interval(value: float, spread: float | None) -> tuple[float | None, float | None]:
    return (None, None) if spread is None else (value - spread, value + spread)


def peak_size(alpha: float, beta: float) -> float | None:
    """Return the size with the greatest throughput, sqrt((1 - a) / b); None if it always rises."""
    if beta <= 0:
        return None
    return math.sqrt((1 - alpha) / beta) if alpha < 1 - beta else 1.0


def _parameters(
    solution: Parameters,
    free: tuple[int, ...],
    covariance: list[list[float]] | None,
    t_quantile: float,
    gamma_given: bool,
) -> tuple[Parameter, Parameter, Parameter]:
    parameters = []
    for n, (name, value) in enumerate(zip(_NAMES, solution, strict=True)):
        spread = None
        if covariance is not None and n in free:
            index = free.index(n)
            spread = t_quantile * math.sqrt(max(0.0, covariance[index][index]))
        how = "fitted" if n in free else "given" if n == 0 and gamma_given else f"at {value:g}"
        parameters.append(Parameter(name, value, *_interval(value, spread), how))
    return parameters[0], parameters[1], parameters[2]


def _squares(sizes: Sequence[float], rates: Sequence[float], parameters: Parameters) -> float:
    return sum((throughput(n, *parameters) - rate) ** 2 for n, rate in zip(sizes, rates, strict=True))


def _slopes(n: float, parameters: Parameters, free: tuple[int, ...]) -> list[float]:
    """Return the derivatives of the throughput of n by each free parameter."""
    gamma, alpha, beta = parameters
    below = 1 + alpha * (n - 1) + beta * n * (n - 1)
    by_alpha = -gamma * n * (n - 1) / below**2
    slopes = (n / below, by_alpha, n * by_alpha)
    return [slopes[index] for index in free]


def _least_squares(
    sizes: Sequence[float], rates: Sequence[float], initial: Parameters, free: tuple[int, ...]
) -> Parameters:
    """Minimize the squares by Levenberg-Marquardt; alpha and beta may become negative."""
    parameters, damping = initial, 1e-3
    squares = _squares(sizes, rates, parameters)
    negligible = _EXACT * sum(rate * rate for rate in rates)
    for _ in range(_STEPS if free else 0):
        rows = [_slopes(n, parameters, free) for n in sizes]
        misses = [rate - throughput(n, *parameters) for n, rate in zip(sizes, rates, strict=True)]
        normal = _products(rows)
        pull = [sum(row[k] * miss for row, miss in zip(rows, misses, strict=True)) for k in range(len(free))]
        better = None
        while better is None and damping < 1e10:
            damped = [
                [value * (1 + damping * (k == j)) for j, value in enumerate(row)]
                for k, row in enumerate(normal)
            ]
            step = _solve_linear(damped, pull)
            if step is not None:
                tried = list(parameters)
                for index, change in zip(free, step, strict=True):
                    tried[index] += change
                better = _improved(sizes, rates, (tried[0], tried[1], tried[2]), squares)
            damping = damping / 10 if better is not None else damping * 10
        if better is None:
            break
        gained = squares - better[0]
        squares, parameters = better
        if gained <= _NEAR * squares or squares <= negligible:
            break
    return parameters


def _improved(
    sizes: Sequence[float], rates: Sequence[float], parameters: Parameters, squares: float
) -> tuple[float, Parameters] | None:
    """Return the squares and parameters of a step if it is valid and improves the fit; None otherwise."""
    gamma, alpha, beta = parameters
    if gamma <= 0 or any(1 + alpha * (n - 1) + beta * n * (n - 1) <= 0 for n in sizes):
        return None
    lower = _squares(sizes, rates, parameters)
    return (lower, parameters) if lower < squares else None


def _products(rows: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return the transpose of the rows times the rows."""
    width = range(len(rows[0]))
    return [[sum(row[k] * row[j] for row in rows) for j in width] for k in width]


def _solve_linear(matrix: Sequence[Sequence[float]], right_side: Sequence[float]) -> list[float] | None:
    """Solve by Gaussian elimination with the unknowns scaled; None if the matrix is singular."""
    size = len(right_side)
    scale = [math.sqrt(matrix[k][k]) for k in range(size)]
    if not all(value > 0 and math.isfinite(value) for value in scale):
        return None
    rows = [
        [*(matrix[k][j] / scale[k] / scale[j] for j in range(size)), right_side[k] / scale[k]]
        for k in range(size)
    ]
    for k in range(size):
        top = max(range(k, size), key=lambda row: abs(rows[row][k]))
        if abs(rows[top][k]) < 1e-15:
            return None
        rows[k], rows[top] = rows[top], rows[k]
        for below in range(k + 1, size):
            times = rows[below][k] / rows[k][k]
            for j in range(k, size + 1):
                rows[below][j] -= times * rows[k][j]
    unknowns = [0.0] * size
    for k in reversed(range(size)):
        known = sum(rows[k][j] * unknowns[j] for j in range(k + 1, size))
        unknowns[k] = (rows[k][size] - known) / rows[k][k]
    return [value / scale[k] for k, value in enumerate(unknowns)]


def _covariance(
    sizes: Sequence[float], parameters: Parameters, free: tuple[int, ...], variance: float
) -> list[list[float]] | None:
    """Return the covariance of the free parameters: observation variance times the inverse normal matrix."""
    normal = _products([_slopes(n, parameters, free) for n in sizes])
    columns = [_solve_linear(normal, [float(k == j) for j in range(len(free))]) for k in range(len(free))]
    if any(column is None for column in columns):
        return None
    return [[variance * value for value in column or ()] for column in columns]


def _spread(
    n: float,
    parameters: Parameters,
    free: tuple[int, ...],
    covariance: list[list[float]] | None,
    t_quantile: float,
) -> float | None:
    """Return half the width of the confidence interval of the curve at n."""
    if covariance is None:
        return None
    slopes = _slopes(n, parameters, free)
    variance = sum(a * b * covariance[k][j] for k, a in enumerate(slopes) for j, b in enumerate(slopes))
    return t_quantile * math.sqrt(max(0.0, variance))
