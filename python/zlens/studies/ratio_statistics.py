"""Statistics of ratios: spread and outlier scores."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from msgspec import Struct

#: Median distance from the median of a normal distribution, in standard deviations.
_NORMAL_MEDIAN = 0.6745
#: Mean distance from the mean of a normal distribution, in standard deviations.
_NORMAL_MEAN = 0.7979
#: Part of the ratios that are never outliers, and the distance in a normal distribution that contains them.
_REGULAR, _NORMAL_REGULAR = 0.9, 1.6449


class RatioSpread(Struct, frozen=True):
    """Spread of ratios. deviation: of the sample, None for fewer than two; geometric: geometric mean."""

    count: int
    mean: float | None
    deviation: float | None
    geometric: float | None
    median: float | None
    least: float | None
    most: float | None


def ratio_spread(values: Sequence[float]) -> RatioSpread:
    """Spread of ratios above 0."""
    if not values:
        return RatioSpread(0, None, None, None, None, None, None)
    deviation = statistics.stdev(values) if len(values) > 1 else None
    geometric = math.exp(statistics.fmean(map(math.log, values)))
    middle = (statistics.median(values), min(values), max(values))
    return RatioSpread(len(values), statistics.fmean(values), deviation, geometric, *middle)


def outlier_scores(values: Sequence[float | None]) -> list[float | None]:
    """Return the distance of each ratio from the others: modified z scores of their logarithms.

    In logarithms 2 is as far from 1 as 1/2 is. Median and median distance are robust against a few outliers.
    Outliers are few: if the distance that contains nine tenths of the ratios is larger than in a normal
    distribution, it is the spread. If nine tenths of the ratios are equal, the mean distance is; if all are
    equal, every score is 0.
    """
    logs = [None if value is None else math.log(value) for value in values]
    present = [value for value in logs if value is not None]
    if not present:
        return logs
    middle = statistics.median(present)
    distances = sorted(abs(value - middle) for value in present)
    regular = distances[max(math.floor(_REGULAR * len(distances)) - 1, 0)]
    scale = max(statistics.median(distances) / _NORMAL_MEDIAN, regular / _NORMAL_REGULAR)
    if scale <= 1e-9:
        scale = statistics.fmean(distances) / _NORMAL_MEAN
    return [None if value is None else (value - middle) / scale if scale > 1e-12 else 0.0 for value in logs]
