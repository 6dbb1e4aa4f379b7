"""Number of different pages of a guest that change in a given time.

Each model is a list of kinds of pages: n pages, each written at random (Poisson) at a rate of r per second.
After T seconds such a page has changed with probability 1 - exp(-r T), so sum(n (1 - exp(-r T))) pages have
changed. `SequentialWrites` is the other extreme: every write goes to another page until all are written.
"""

from __future__ import annotations

import math

from msgspec import Struct

#: Ranks of Zipf's law that are summed individually; the rest is integrated.
_ONE_BY_ONE = 200
#: Ratio of the ends of each segment of the integral.
_GROWTH = 1.6
#: Nodes and weights of 5-point Gauss-Legendre quadrature on -1 to 1.
_GAUSS = (
    (0.0, 128 / 225),
    (math.sqrt(5 - 2 * math.sqrt(10 / 7)) / 3, (322 + 13 * math.sqrt(70)) / 900),
    (-math.sqrt(5 - 2 * math.sqrt(10 / 7)) / 3, (322 + 13 * math.sqrt(70)) / 900),
    (math.sqrt(5 + 2 * math.sqrt(10 / 7)) / 3, (322 - 13 * math.sqrt(70)) / 900),
    (-math.sqrt(5 + 2 * math.sqrt(10 / 7)) / 3, (322 - 13 * math.sqrt(70)) / 900),
)


class SequentialWrites(Struct, frozen=True):
    """Writes go to the pages in turn, `rate` per second: min(pages, rate T).

    The recurrence of Clark et al., Live Migration of Virtual Machines (NSDI 2005), with a working set.
    """

    pages: float
    rate: float

    def changed(self, seconds: float) -> float:
        """Return the number of different pages written in this time."""
        return min(self.pages, self.rate * seconds)


class RandomWrites(Struct, frozen=True):
    """Kinds of pages: number of pages, and writes per second of each."""

    kinds: tuple[tuple[float, float], ...]

    def changed(self, seconds: float) -> float:
        """Return the number of different pages written in this time."""
        if seconds <= 0:
            return 0.0
        return math.fsum(-pages * math.expm1(-rate * seconds) for pages, rate in self.kinds)


WriteModel = SequentialWrites | RandomWrites


def uniform(pages: float, rate: float) -> RandomWrites:
    """Return the model of `rate` writes per second, each to a random page."""
    return RandomWrites(((pages, rate / pages),) if pages > 0 else ())


def hot_set(pages: float, rate: float, hot_pages: float, hot_writes: float) -> RandomWrites:
    """Return the model of a part of the pages (0 to 1) with a part of the writes (0 to 1), each uniform."""
    parts = ((pages * hot_pages, rate * hot_writes), (pages * (1 - hot_pages), rate * (1 - hot_writes)))
    return RandomWrites(tuple((count, writes / count) for count, writes in parts if count > 0))


def zipf(pages: float, rate: float, exponent: float) -> RandomWrites:
    """Return the model of writes to the page of rank k in proportion to k^-exponent.

    Beyond the first ranks the sum is replaced by an integral (midpoint rule) in segments that grow with rank:
    accurate to six digits for any number of pages.
    """
    ranks: list[tuple[float, float]] = [
        (1.0, float(rank)) for rank in range(1, min(int(pages), _ONE_BY_ONE) + 1)
    ]
    start, end = len(ranks) + 0.5, pages + 0.5
    while start < end:
        stop = min(start * _GROWTH, end)
        middle, half = (start + stop) / 2, (stop - start) / 2
        ranks += [(weight * half, middle + node * half) for node, weight in _GAUSS]
        start = stop
    total = math.fsum(count * rank**-exponent for count, rank in ranks)
    return RandomWrites(tuple((count, rate * rank**-exponent / total) for count, rank in ranks))
