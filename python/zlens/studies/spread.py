"""Arithmetic of many ratios: how they spread, and which of them stand apart."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

#: Median distance from the median, for a normal distribution, in standard deviations.
_NORMAL_MEDIAN = 0.6745
#: Mean distance from the mean, for a normal distribution, in standard deviations.
_NORMAL_MEAN = 0.7979


@dataclass(frozen=True, slots=True)
class Spread:
    """deviation: standard deviation of a sample, None of fewer than two; geometric: mean of logarithms."""

    count: int
    mean: float | None
    deviation: float | None
    geometric: float | None
    median: float | None
    least: float | None
    most: float | None


def spread(values: Sequence[float]) -> Spread:
    """How ratios above 0 spread."""
    if not values:
        return Spread(0, None, None, None, None, None, None)
    return Spread(
        len(values),
        statistics.fmean(values),
        statistics.stdev(values) if len(values) > 1 else None,
        math.exp(statistics.fmean(map(math.log, values))),
        statistics.median(values),
        min(values),
        max(values),
    )


def scores(values: Sequence[float | None]) -> list[float | None]:
    """How far each ratio stands from the others: modified z scores of their logarithms.

    In logarithms 2 is as far from 1 as 1/2 is. Median and median distance hold still where a few ratios are
    far off. Where more than half of them are alike the mean distance takes the place of the median one; where
    all are alike every score is 0.
    """
    logs = [None if value is None else math.log(value) for value in values]
    known = [value for value in logs if value is not None]
    if not known:
        return logs
    middle = statistics.median(known)
    far = [abs(value - middle) for value in known]
    scale = statistics.median(far) / _NORMAL_MEDIAN
    if scale <= 1e-9:
        scale = statistics.fmean(far) / _NORMAL_MEAN
    return [None if value is None else (value - middle) / scale if scale > 1e-12 else 0.0 for value in logs]
