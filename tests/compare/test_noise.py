"""Tests of autocorrelated noise, against scipy and with synthetic series without a difference."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from scipy import stats

from iterations import iterations, quick_subset
from zlens.compare import noise
from zlens.compare.noise import RatioEstimate
from zlens.models import t_distribution


def remembering(
    memory: float, number: int, draw: random.Random, level: float = 100.0
) -> list[tuple[float, float]]:
    """Return a first-order autoregression with variance 1 / (1 - memory squared)."""
    value = draw.gauss(0, 1) / (1 - memory * memory) ** 0.5
    found = []
    for _ in range(number):
        value = memory * value + draw.gauss(0, 1)
        found.append((level + value, 1.0))
    return found


def estimated(pairs: list[tuple[float, float]], seed: str = "x") -> RatioEstimate:
    one = noise.estimate(pairs, seed)
    assert one is not None
    return one


def critical_value(freedom: float) -> float:
    return t_distribution.quantile(1 - noise.LEVEL / 2, freedom)


@pytest.mark.parametrize(("t", "freedom"), [(0.0, 3.0), (0.1, 1.0), (2.0, 3.3), (12.0, 40.0), (3.0, 200.5)])
def test_student_quantiles_against_scipy(t: float, freedom: float) -> None:
    assert t_distribution.two_sided(t, freedom) == pytest.approx(2 * stats.t.sf(t, freedom), rel=1e-10)
    assert critical_value(freedom) == pytest.approx(stats.t.isf(0.005, freedom), rel=1e-9)


def test_runs_against_scipy() -> None:
    base, other = [30.0, 31.0, 32.5, 29.0], [33.0, 36.0, 35.0]
    verdict = noise.judge(
        [RatioEstimate(v, 0, 3, 3) for v in base], [RatioEstimate(v, 0, 3, 3) for v in other]
    )
    assert verdict.by == "runs"
    assert verdict.samples == (4, 3)
    assert verdict.p == pytest.approx(stats.ttest_ind(base, other, equal_var=False).pvalue)


def test_one_run_is_tested_against_spread_of_three() -> None:
    base = [RatioEstimate(v, 0, 3, 3) for v in (30.0, 31.0, 32.0)]
    # t = 2 / (1 x sqrt(1 + 1/3)), two degrees of freedom
    verdict = noise.judge(base, [RatioEstimate(33.0, 0, 3, 3)])
    assert verdict.p == pytest.approx(2 * stats.t.sf(2 / (4 / 3) ** 0.5, 2))
    assert verdict.beyond is False
    # The smallest difference beyond the noise.
    assert noise.judge(base, [RatioEstimate(31 + 1.001 * (verdict.noise or 0), 0, 3, 3)]).beyond
    assert not noise.judge(base, [RatioEstimate(31 + 0.999 * (verdict.noise or 0), 0, 3, 3)]).beyond


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.7])
def test_steady_halves_rarely_differ(memory: float) -> None:
    """At 1%; a test that treats intervals as independent samples is wrong at least every seventh time."""
    draw = random.Random(f"steady {memory}")
    wrong = naive = tested = 0
    for number in range(150):
        series = remembering(memory, 120, draw)
        halves = series[:60], series[60:]
        verdict = noise.judge(*([estimated(half, f"{number}")] for half in halves))
        tested += verdict.p is not None
        wrong += bool(verdict.beyond)
        naive += stats.ttest_ind(*([value for value, _ in half] for half in halves)).pvalue < noise.LEVEL
    assert tested >= 120
    assert wrong <= 5
    if memory:
        assert naive >= 12


@pytest.mark.parametrize(
    "series",
    quick_subset(
        4,
        [
            *((0.0, 60), (0.5, 15), (0.9, 120), (0.97, 240)),
            *((memory, number) for memory in (0.0, 0.5, 0.9, 0.97) for number in (15, 30, 60, 120, 240)),
        ],
    ),
)
def test_false_positive_rate_stays_within_level(series: tuple[float, int]) -> None:
    """Of series without a difference, the binomial distribution at 1% bounds those beyond the noise.

    The bound holds for all series, and for tested ones unless these are a few exceptions: a tested series of
    fifteen intervals that hardly move does not show its autocorrelation.
    """
    memory, number = series
    draw = random.Random(f"level {memory} {number}")
    count = iterations(400, 200)
    tested = wrong = 0
    for at in range(count):
        verdict = noise.judge(*([estimated(remembering(memory, number, draw), f"{at}")] for _ in range(2)))
        tested += verdict.p is not None
        wrong += bool(verdict.beyond)
    assert wrong <= stats.binom.ppf(0.999, count, noise.LEVEL)
    if tested > count / 50:
        assert wrong <= stats.binom.ppf(0.999, tested, noise.LEVEL)
    if memory == 0 and number >= 60:
        # Series with enough data are tested.
        assert tested == count


def test_difference_above_drift_is_significant() -> None:
    """Fifteen steady intervals that drift by a percent have at most two or three independent samples."""
    before = [(10 + 0.005 * at, 10.0) for at in range(15)]
    after = [(15.5 + 0.005 * at, 10.0) for at in range(15)]
    base, other = estimated(before), estimated(after)
    assert min(base.effective, other.effective) < noise.FEWEST_EFFECTIVE
    verdict = noise.judge([base], [other])
    assert (verdict.by, verdict.beyond) == ("intervals", True)
    # By hand: 0.001 x (15.5 - 10) / 10 is negligible in 0.55; the range of both is 0.007.
    assert verdict.noise == pytest.approx(stats.t.isf(0.005, 28) * 0.007 * 2**0.5)
    # A difference as large as the drift is not significant.
    near = estimated([(10.05 + 0.005 * at, 10.0) for at in range(15)])
    assert noise.judge([base], [near]).why.endswith("independent samples")


def test_real_difference_is_significant() -> None:
    draw = random.Random("different")
    found = 0
    for number in range(40):
        base = estimated(remembering(0.5, 60, draw), f"{number}")
        other = estimated(remembering(0.5, 60, draw, 102.0), f"{number}")
        found += bool(noise.judge([base], [other]).beyond)
    assert found >= 36


def test_effective_samples_of_autoregression() -> None:
    """n (1 - r) / (1 + r) of an autoregression, within sampling error."""
    draw = random.Random("effective")
    for memory in (0.0, 0.5, 0.8):
        one = estimated(remembering(memory, 2000, draw))
        assert one.effective == pytest.approx(2000 * (1 - memory) / (1 + memory), rel=0.25)
        assert one.error == pytest.approx(1 / (1 - memory) / 2000**0.5, rel=0.25)


def test_value_is_ratio_of_sums() -> None:
    one = estimated([(10.0, 1.0), (10.0, 4.0), (0.0, 0.0)] * 5)
    assert one.value == pytest.approx(4.0)
    assert one.intervals == 10


def test_too_few_samples_are_not_tested() -> None:
    draw = random.Random("few")
    short = estimated(remembering(0, 9, draw))
    assert noise.judge([short], [short]).why == "only 9 intervals"
    ramp = estimated([(float(minute), 1.0) for minute in range(60)])
    verdict = noise.judge([ramp], [ramp])
    assert (verdict.by, verdict.beyond) == ("none", None)
    assert verdict.why.endswith("independent samples")
    assert noise.judge([short], []).why == "only one side has a value"
    assert noise.estimate([], "x") is None
    assert noise.estimate([(1.0, 0.0)], "x") is None


def test_constant_sides_are_tested() -> None:
    four, six = estimated([(4.0, 1.0)] * 12), estimated([(6.0, 1.0)] * 12)
    assert noise.judge([four], [six]).beyond is True
    assert noise.judge([four], [four]).beyond is False
    # A difference in the last digit of a sum is not significant.
    nearly = estimated([(4.0 + 1e-13 * (at % 2), 1.0) for at in range(12)])
    assert noise.judge([four], [nearly]).beyond is False
    runs = [[RatioEstimate(value, 0, 3, 3)] * 3 for value in (4.0, 4.0 + 1e-13)]
    assert noise.judge(*runs).beyond is False


def test_bootstrap_is_reproducible() -> None:
    pairs = remembering(0.6, 40, random.Random("seed"))
    assert noise.estimate(pairs, "1") == noise.estimate(pairs, "1")


def test_month_of_minutes_is_tested_quickly() -> None:
    """Blocks grow instead of their number: a month takes hardly longer than a day."""
    assert noise._block(43_200, 0.0) == 432
    assert noise._block(60, 0.0) == 4
    assert noise._block(60, 0.8) > 4
    assert noise._block(60, 0.99) <= 15


def test_autocorrelation_time_by_hand() -> None:
    """Twenty values + + - -: the first correlation is 1/20, corrected by (1 + 4/20)/20; the second < 0.

    It is at most 0.11 + 1.645 sqrt((1 - 0.11 x 0.11) / 20) = 0.4756 in 95% of series.
    """
    assert noise.autocorrelation_time([1, 1, -1, -1] * 5) == pytest.approx(1.4756 / 0.5244, rel=1e-3)
    # Eight values: 1/8, corrected by (1 + 4/8)/8. They are too few for a bootstrap, so this is the error.
    one = estimated([(100.0 + off, 1.0) for off in [1, 1, -1, -1] * 2])
    # At a correlation of up to 0.8649, eight intervals are one sample.
    assert one.effective == 1
    assert one.error == pytest.approx((8 / 7) ** 0.5)


def test_long_weak_autocorrelation_is_detected() -> None:
    """A level that shifts once under noise has many small correlations."""
    draw = random.Random("shift")
    off = [(1.0 if at < 60 else -1.0) + draw.gauss(0, 1.5) for at in range(120)]
    mean = sum(off) / len(off)
    off = [each - mean for each in off]
    first = sum(a * b for a, b in pairwise(off)) / sum(each**2 for each in off)
    corrected = first + (1 + 4 * first) / 120
    assert noise.autocorrelation_time(off) > 1.5 * (1 + corrected) / (1 - corrected)


def test_ten_intervals_or_two_runs_are_tested() -> None:
    pairs = [(100.0 + off, 1.0) for off in (1, -1, 2, -2, 1, -1, -2, 2, -1, 1)]
    one = estimated(pairs)
    single = noise.judge([one], [one])
    assert single.p == 1
    double = noise.judge([one, one], [one, one])
    assert double.samples == (2 * one.effective, 2 * one.effective)
    # Half the variance, and more degrees of freedom.
    assert single.noise == pytest.approx(critical_value(2 * (one.effective - 1)) * one.error * 2**0.5)
    assert double.noise == pytest.approx(critical_value(2 * (2 * one.effective - 1)) * one.error)


def test_untested_intervals_are_not_resampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A side that amounts to one sample has no test by intervals; two equal sides of many samples do."""
    draws: list[int] = []
    bootstrap = noise._bootstrap_error

    def counted(pairs: list[tuple[float, float]], length: int, draw: random.Random) -> float:
        draws.append(len(pairs))
        return bootstrap(pairs, length, draw)

    monkeypatch.setattr(noise, "_bootstrap_error", counted)
    drifting = estimated([(float(minute), 1.0) for minute in range(30)])
    changing = estimated([(float(minute % 2), 1.0) for minute in range(30)])
    assert noise.judge([drifting], [drifting]).by == "none"
    assert draws == []
    assert noise.judge([changing], [changing]).by == "intervals"
    assert draws == [30]
