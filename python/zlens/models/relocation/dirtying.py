"""How many different pages of a guest change in a while.

Each model is a list of kinds of pages: so many pages, each of them written so many times a second at random
(Poisson). After T seconds a page written r times a second has changed with probability 1 - exp(-r T), so that
sum(n (1 - exp(-r T))) pages have changed. `Sweep` is the other extreme: every write is to another page, until
all have been written.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

#: Ranks of Zipf's law that are counted one by one; those behind are integrated.
_ONE_BY_ONE = 200
#: Width of the pieces of the integral: so much from end to end.
_GROWTH = 1.6
#: Places and weights of Gauss and Legendre on -1 to 1, 5 points.
_GAUSS = (
    (0.0, 128 / 225),
    (math.sqrt(5 - 2 * math.sqrt(10 / 7)) / 3, (322 + 13 * math.sqrt(70)) / 900),
    (-math.sqrt(5 - 2 * math.sqrt(10 / 7)) / 3, (322 + 13 * math.sqrt(70)) / 900),
    (math.sqrt(5 + 2 * math.sqrt(10 / 7)) / 3, (322 - 13 * math.sqrt(70)) / 900),
    (-math.sqrt(5 + 2 * math.sqrt(10 / 7)) / 3, (322 - 13 * math.sqrt(70)) / 900),
)


class Dirtying(Protocol):
    """A model of writes."""

    def changed(self, seconds: float) -> float:
        """Different pages written within so many seconds."""
        ...


@dataclass(frozen=True, slots=True)
class Sweep:
    """Writes go to one page after the other, `rate` pages a second of `pages`: min(pages, rate T).

    The recurrence of Clark et al., Live Migration of Virtual Machines (NSDI 2005), with a working set.
    """

    pages: float
    rate: float

    def changed(self, seconds: float) -> float:
        return min(self.pages, self.rate * seconds)


@dataclass(frozen=True, slots=True)
class AtRandom:
    """Kinds of pages: how many, and how often each of them is written in a second."""

    kinds: tuple[tuple[float, float], ...]

    def changed(self, seconds: float) -> float:
        if seconds <= 0:
            return 0.0
        return math.fsum(-pages * math.expm1(-rate * seconds) for pages, rate in self.kinds)


def uniform(pages: float, rate: float) -> AtRandom:
    """`rate` writes a second, each to any of the pages."""
    return AtRandom(((pages, rate / pages),) if pages > 0 else ())


def hot_set(pages: float, rate: float, hot_pages: float, hot_writes: float) -> AtRandom:
    """A part of the pages (0 to 1) has a part of the writes (0 to 1); both are even within themselves."""
    parts = ((pages * hot_pages, rate * hot_writes), (pages * (1 - hot_pages), rate * (1 - hot_writes)))
    return AtRandom(tuple((many, writes / many) for many, writes in parts if many > 0))


def zipf(pages: float, rate: float, exponent: float) -> AtRandom:
    """The page of rank k has writes in proportion to k to the power of -exponent.

    Beyond the first ranks the sum over pages is integrated from half a rank before to half a rank after, in
    pieces that grow with the rank: as good as the sum to six digits, for any number of pages.
    """
    ranks: list[tuple[float, float]] = [
        (1.0, float(rank)) for rank in range(1, min(int(pages), _ONE_BY_ONE) + 1)
    ]
    begin, end = len(ranks) + 0.5, pages + 0.5
    while begin < end:
        stop = min(begin * _GROWTH, end)
        middle, half = (begin + stop) / 2, (stop - begin) / 2
        ranks += [(weight * half, middle + place * half) for place, weight in _GAUSS]
        begin = stop
    whole = math.fsum(many * rank**-exponent for many, rank in ranks)
    return AtRandom(tuple((many, rate * rank**-exponent / whole) for many, rank in ranks))
