"""Tests whether two sides differ by more than noise, for autocorrelated measurements.

Intervals of one run are not independent samples, because load changes over minutes, not between intervals. A
test that treats sixty intervals as sixty samples finds differences everywhere. Therefore:

- If a side has three runs or more, runs are the samples (Student's t; Welch, Biometrika 34, 1947, if both
  sides do).
- Otherwise the standard error of each run comes from a moving block bootstrap over intervals (Kuensch, Annals
  of Statistics 17, 1989). Its lower bound follows from the effective sample size: the number of intervals
  divided by 1 + 2 x the sum of autocorrelations. The first one is corrected for its bias in short series
  (Marriott and Pope, Biometrika 41, 1954) and taken as large as they may hide (Bartlett, Supplement to the
  Journal of the Royal Statistical Society 8, 1946): otherwise the level would not hold.
- A side with fewer than one and a half independent samples does not show its own noise. Then a difference is
  beyond it if the strongest autocorrelation considered does not explain it; otherwise no test is made.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, pairwise

from msgspec import Struct
from msgspec.structs import replace

from zlens.models import t_distribution
from zlens.schema.plain_text import format_count

#: Samples of the bootstrap, which determine the standard error to about 3%.
DRAWS = 500
#: Maximum blocks of a run: a month of minutes gets longer blocks, not a longer run time.
MOST_BLOCKS = 100
#: Minimum intervals and independent samples of a side for a test.
FEWEST_INTERVALS = 10
FEWEST_EFFECTIVE = 1.5
#: Standard errors by which a first autocorrelation may exceed its estimate; 95% do not.
UPPER = 1.645
#: Maximum first autocorrelation considered. A series with a stronger one amounts to one sample.
STRONGEST = 0.99
#: Minimum runs of a side for runs to be the samples.
FEWEST_RUNS = 3
#: Significance level: the probability of reporting noise as a difference, for each metric.
LEVEL = 0.01
#: Relative differences below this are rounding errors.
ROUNDING = 1e-9


class RatioEstimate(Struct, frozen=True, dict=True):
    """A ratio of sums over a run: value, bound of its standard error, and number of independent samples.

    rounding   maximum change of the value by rounding in print
    most       standard error at the strongest autocorrelation considered; infinite if unknown
    resampled  intervals, block length and seed of the bootstrap; None if there are too few intervals
    """

    value: float
    least_error: float
    intervals: int
    effective: float
    rounding: float = 0.0
    most: float = math.inf
    resampled: tuple[Sequence[tuple[float, float]], int, str] | None = None

    @cached_property
    def error(self) -> float:
        """The standard error. The bootstrap takes long, and only tests by intervals need it."""
        if self.resampled is None:
            return self.least_error
        pairs, length, seed = self.resampled
        return max(self.least_error, _bootstrap_error(pairs, length, random.Random(seed)))


class NoiseVerdict(Struct, frozen=True):
    """Result of a test. by: `runs`, `intervals`, `rounding` or `none` (with the reason in `why`).

    noise: the smallest difference (new - base) beyond the noise. samples: of base and of the other side, runs
    or effective intervals.
    """

    by: str
    why: str = ""
    p: float | None = None
    noise: float | None = None
    samples: tuple[float, float] | None = None

    @property
    def beyond(self) -> bool | None:
        """Whether the difference is beyond the noise; None if not tested."""
        return None if self.p is None else self.p < LEVEL


def estimate(pairs: Sequence[tuple[float, float]], seed: str) -> RatioEstimate | None:
    """Return the value of a run from (numerator, denominator) by interval in order of time; None if empty."""
    usable = [(above, below) for above, below in pairs if below > 0]
    total = math.fsum(below for _, below in usable)
    if not usable or total <= 0:
        return None
    value = math.fsum(above for above, _ in usable) / total
    number = len(usable)
    mean = total / number
    # Contribution of each interval to the error of the ratio, to first order.
    deviations = [(above - value * below) / mean for above, below in usable]
    spread = math.fsum(deviation * deviation for deviation in deviations)
    if spread <= (ROUNDING * value) ** 2 * number:
        return RatioEstimate(value, 0.0, number, float(number))
    first = _correlation(deviations, spread, 1)
    per_sample = autocorrelation_time(deviations)
    error = math.sqrt(spread / max(1, number - 1) * per_sample / number)
    resampled = (usable, _block(number, first), seed) if number >= FEWEST_INTERVALS else None
    return RatioEstimate(
        value, error, number, number / per_sample, most=_most(deviations), resampled=resampled
    )


def _most(deviations: Sequence[float]) -> float:
    """Return the standard error of a mean at the strongest autocorrelation considered.

    A mean does not vary more than its intervals do. In a first-order autoregression the mean square of
    successive differences is 2 (1 - autocorrelation) of their variance. A steady drift may continue for as
    much as it has changed.
    """
    steps = [after - before for before, after in pairwise(deviations)]
    square = math.fsum(step * step for step in steps) / max(1, len(steps))
    return max(math.sqrt(square / (2 * (1 - STRONGEST))), max(deviations) - min(deviations))


def autocorrelation_time(deviations: Sequence[float]) -> float:
    """Return the number of intervals equal to one independent sample: 1 for uncorrelated noise."""
    number = len(deviations)
    spread = math.fsum(deviation * deviation for deviation in deviations)
    if number < 3 or spread <= 0:
        return 1.0
    first = _correlation(deviations, spread, 1)
    corrected = min(STRONGEST, max(-STRONGEST, first + (1 + 4 * first) / number))
    upper = min(STRONGEST, corrected + UPPER * math.sqrt((1 - corrected * corrected) / number))
    from_first = (1 + upper) / (1 - upper)
    total = 1.0
    for lag in range(1, number // 3 + 1):
        correlation = _correlation(deviations, spread, lag)
        if correlation <= 0:
            break
        total += 2 * correlation
    return min(float(number), max(1.0, from_first, total))


def _correlation(deviations: Sequence[float], spread: float, lag: int) -> float:
    return math.fsum(a * b for a, b in zip(deviations, deviations[lag:], strict=False)) / spread


def _block(number: int, first: float) -> int:
    """Return the block length, longer for stronger autocorrelation (optimal for first-order models)."""
    correlation = min(0.97, max(0.0, first))
    best: float = (math.sqrt(6) * correlation / (1 - correlation * correlation)) ** (2 / 3) * number ** (
        1 / 3
    )
    min_length = math.ceil(number ** (1 / 3))
    fitting: int = min(max(min_length, math.ceil(best)), number // 4)
    return max(1, math.ceil(number / MOST_BLOCKS), fitting)


def _bootstrap_error(pairs: Sequence[tuple[float, float]], length: int, draw: random.Random) -> float:
    """Return the standard error of the ratio over resampled blocks."""
    number = len(pairs)
    above = [0.0, *accumulate(a for a, _ in pairs)]
    below = [0.0, *accumulate(b for _, b in pairs)]
    start_count = number - length + 1
    numerators = [above[start + length] - above[start] for start in range(start_count)]
    denominators = [below[start + length] - below[start] for start in range(start_count)]
    blocks = max(1, round(number / length))
    # Draw all samples in one call, which is faster than one call each.
    start_indices = draw.choices(range(start_count), k=DRAWS * blocks)
    drawn_numerators, drawn_denominators = (
        [numerators[start] for start in start_indices],
        [denominators[start] for start in start_indices],
    )
    values = [
        sum(drawn_numerators[start : start + blocks]) / total
        for start in range(0, len(start_indices), blocks)
        if (total := sum(drawn_denominators[start : start + blocks])) > 0
    ]
    middle = math.fsum(values) / len(values)
    variance = math.fsum((value - middle) ** 2 for value in values) / max(1, len(values) - 1)
    # Correct the bias: blocks of a short run vary less than new runs would.
    return math.sqrt(variance * number / (number - length))


def judge(base: Sequence[RatioEstimate], other: Sequence[RatioEstimate]) -> NoiseVerdict:
    """Return whether two sides, each of one run or several, differ by more than noise."""
    if not base or not other:
        return NoiseVerdict("none", "only one side has a value")
    printed = math.fsum(max(run.rounding for run in side) for side in (base, other))
    if not printed:
        return _judge(base, other)
    difference = _difference([run.value for run in base], [run.value for run in other])
    if abs(difference) <= printed * (1 + ROUNDING):
        return NoiseVerdict("rounding", "no more than what printing rounds", p=1.0, noise=printed)
    # The minimum difference for any rounding of the numbers must exceed the noise.
    nearer = math.copysign(printed, difference)
    verdict = _judge(base, [replace(run, value=run.value - nearer) for run in other])
    return verdict if verdict.noise is None else replace(verdict, noise=verdict.noise + printed)


def _judge(base: Sequence[RatioEstimate], other: Sequence[RatioEstimate]) -> NoiseVerdict:
    if max(len(base), len(other)) >= FEWEST_RUNS:
        return _by_runs([run.value for run in base], [run.value for run in other])
    return _by_intervals(base, other)


def _by_runs(base: Sequence[float], other: Sequence[float]) -> NoiseVerdict:
    samples = (float(len(base)), float(len(other)))
    difference = _difference(base, other)
    parts = [(len(side), _variance(side)) for side in (base, other)]
    usable = [(number, variance) for number, variance in parts if number >= FEWEST_RUNS]
    if len(usable) == 2:
        return _verdict("runs", difference, [(v / n, n - 1.0) for n, v in usable], samples)
    # The runs of one side estimate the variance of the other.
    number, variance = usable[0]
    parts_of_error = [(variance * (1 / len(base) + 1 / len(other)), number - 1.0)]
    return _verdict("runs", difference, parts_of_error, samples)


def _by_intervals(base: Sequence[RatioEstimate], other: Sequence[RatioEstimate]) -> NoiseVerdict:
    samples = (sum(run.effective for run in base), sum(run.effective for run in other))
    fewest = min(sum(run.intervals for run in side) for side in (base, other))
    if fewest < FEWEST_INTERVALS:
        return NoiseVerdict("none", f"only {format_count(fewest, 'interval')}", samples=samples)
    difference = _difference([run.value for run in base], [run.value for run in other])
    sides = (base, other)
    if min(samples) >= FEWEST_EFFECTIVE:
        parts = [
            (math.fsum(run.error**2 for run in side) / len(side) ** 2, effective - 1)
            for side, effective in zip(sides, samples, strict=True)
        ]
        return _verdict("intervals", difference, parts, samples)
    parts = [
        (math.fsum(run.most**2 for run in side) / len(side) ** 2, sum(run.intervals - 1.0 for run in side))
        for side in sides
    ]
    if all(math.isfinite(variance) for variance, _ in parts):
        verdict = _verdict("intervals", difference, parts, samples)
        if verdict.beyond:
            return verdict
    return NoiseVerdict("none", f"only {min(samples):.1f} independent samples", samples=samples)


def _verdict(
    by: str, difference: float, parts: Sequence[tuple[float, float]], samples: tuple[float, float]
) -> NoiseVerdict:
    """Return the verdict on a difference; parts: variance and degrees of freedom of each side."""
    variance = math.fsum(part for part, _ in parts)
    if variance <= 0:
        return NoiseVerdict(by, p=1.0 if difference == 0 else 0.0, noise=0.0, samples=samples)
    # Degrees of freedom by Welch and Satterthwaite.
    freedom = variance**2 / math.fsum(part**2 / free for part, free in parts if part > 0)
    error = math.sqrt(variance)
    return NoiseVerdict(
        by,
        p=t_distribution.two_sided(abs(difference) / error, freedom),
        noise=error * t_distribution.quantile(1 - LEVEL / 2, freedom),
        samples=samples,
    )


def _difference(base: Sequence[float], other: Sequence[float]) -> float:
    """Return the difference of the means; 0 if it is a rounding error."""
    before, after = _mean(base), _mean(other)
    return 0.0 if math.isclose(before, after, rel_tol=ROUNDING) else after - before


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _variance(values: Sequence[float]) -> float:
    if len(values) < 2:
        return 0.0
    middle = _mean(values)
    if all(math.isclose(value, middle, rel_tol=ROUNDING) for value in values):
        return 0.0
    return math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1)
