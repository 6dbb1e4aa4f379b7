"""Growth over time: median slope of all pairs of points, with its confidence interval.

Sources: H. Theil, "A rank-invariant method of linear and polynomial regression analysis" (1950): the slope.
P. K. Sen, "Estimates of the regression coefficient based on Kendall's tau", JASA 63 (1968), 1379-1389: its
confidence interval. Outliers, such as holidays, hardly change either.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from statistics import NormalDist, median
from typing import NamedTuple

#: Maximum number of points, because all pairs are compared; of more, evenly spaced ones are used.
_MOST = 400
#: Confidence level of the bounds of a slope.
_CONFIDENCE = 0.95


class Growth(NamedTuple):
    """A line through points: its value at x = 0, its slope, and the bounds of the slope."""

    at_zero: float
    slope: float
    low: float
    high: float

    def value(self, x: float) -> float:
        return self.at_zero + self.slope * x

    def limit_crossing(self, limit: float, start: float) -> tuple[float | None, float | None, float | None]:
        """Return where the line and its steepest and flattest bounds reach a limit; None if never.

        All three have the value of the line at `start`; if that has reached the limit, the result is `start`.
        """
        now = self.value(start)

        def crossing(slope: float) -> float | None:
            if now >= limit:
                return start
            return start + (limit - now) / slope if slope > 0 else None

        return crossing(self.slope), crossing(self.high), crossing(self.low)


def fit_growth(x: Sequence[float], y: Sequence[float], min_points: int) -> Growth | None:
    """Return the growth of y with x, which must ascend; None with fewer than `min_points` points."""
    if len(x) < min_points:
        return None
    if len(x) > _MOST:
        indexes = [round(index * (len(x) - 1) / (_MOST - 1)) for index in range(_MOST)]
        x, y = [x[index] for index in indexes], [y[index] for index in indexes]
    count = len(x)
    slopes = sorted(
        (y[b] - y[a]) / (x[b] - x[a]) for a in range(count) for b in range(a + 1, count) if x[b] > x[a]
    )
    if not slopes:
        return None
    slope = median(slopes)
    # Variance of Kendall's S, corrected for ties.
    ties = sum(times * (times - 1) * (2 * times + 5) for times in Counter(y).values())
    variance = (count * (count - 1) * (2 * count + 5) - ties) / 18
    width = NormalDist().inv_cdf((1 + _CONFIDENCE) / 2) * math.sqrt(variance)
    first = max(math.floor((len(slopes) - width) / 2) - 1, 0)
    last = min(math.ceil((len(slopes) + width) / 2), len(slopes) - 1)
    at_zero = median(b - slope * a for a, b in zip(x, y, strict=True))
    return Growth(at_zero, slope, slopes[first], slopes[last])
