"""Arithmetic of capability and scaling: what n processors bring, and how runs of a workload compare with it.

A curve is a list of points (processors, capacity adjustment factor). A factor says what each of n processors
brings where a single one brings 1, so that n of them have a capability of n x c(n). Source: IBM, "z/VM for
eighty logical processors": CAF values, effective capability, tables 2 to 9.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from zlens.catalog.machines import Point

#: A curve that is known for every number of processors.
Curve = Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Factor:
    """A capacity adjustment factor.

    value  what each of the processors brings, a single one bringing 1; None where the curve does not reach
    error  estimated error of the value; 0 where it is stated, None where there is too little to tell
    how    "stated", "between" (interpolated) or "beyond" (extrapolated)
    """

    value: float | None
    error: float | None
    how: str


@dataclass(frozen=True, slots=True)
class Deployment:
    """Processors spread evenly over partitions.

    sizes       processors of each partition, largest first
    capability  of all of them together, in single processors; None where the curve does not reach
    how         the worst way a factor was found: "stated", "between", "beyond"
    error       estimated error of the capability
    """

    partitions: int
    sizes: tuple[int, ...]
    capability: float | None
    error: float | None
    how: str


@dataclass(frozen=True, slots=True)
class Run:
    """A run of a workload. etr: transactions per second; busy: average logical processor, percent."""

    processors: int
    etr: float | None = None
    busy: float | None = None
    itr: float | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Scaled:
    """A run beside the smallest one, and beside what the curve lets one expect.

    etrr, itrr   ETR and ITR, each divided by that of the base run
    ratio        capability divided by that of the base run; without a curve, the processors
    efficiency   itrr / ratio: 1 where the workload scales as the reference workloads do
    gain         what the ITR gained since the run before, of what the ratio gained; None at the base
    """

    run: Run
    itr: float | None
    etrr: float | None
    itrr: float | None
    ratio: float | None
    efficiency: float | None
    gain: float | None


@dataclass(frozen=True, slots=True)
class Rolloff:
    """Where the curve of a workload bends: between two sizes of partition the ITR gains too little."""

    after: int
    until: int
    gain: float

    @property
    def falls(self) -> bool:
        """More processors did less work."""
        return self.gain < 0


# The curve ----------------------------------------------------------------------------------------


def factor(curve: Sequence[Point], processors: int, complete: Sequence[Curve] = ()) -> Factor:
    """The factor of so many processors: stated, or on the straight line in ln n through its neighbors.

    The curve is sorted by processors. Beyond twice its last point nothing is said. The error is the larger of
    what such a line misses where the curve bends as it does at the neighbors (second divided difference) and
    what it misses at most between the same neighbors on curves that are known completely.
    """
    at = bisect_left(curve, processors, key=lambda point: point[0])
    if at < len(curve) and curve[at][0] == processors:
        return Factor(curve[at][1], 0.0, "stated")
    how = "between" if 0 < at < len(curve) else "beyond"
    if len(curve) < 2 or at == 0 or processors > 2 * curve[-1][0]:
        return Factor(None, None, how)
    right = min(at, len(curve) - 1)
    value = _line(curve[right - 1], curve[right], processors)
    if value <= 0:
        return Factor(None, None, how)
    bends = [_bend(curve, middle) for middle in (right - 1, right) if 0 < middle < len(curve) - 1]
    x, left, end = math.log(processors), math.log(curve[right - 1][0]), math.log(curve[right][0])
    errors = [max(bends) * abs((x - left) * (x - end))] if bends else []
    missed = [_missed(curve[right - 1][0], curve[right][0], processors, other) for other in complete]
    errors += [value * part for part in missed if part is not None]
    return Factor(value, max(errors) if errors else None, how)


def _line(left: Point, right: Point, processors: int) -> float:
    """Straight in ln n through two points."""
    (low, first), (high, last) = left, right
    return first + (last - first) * math.log(processors / low) / math.log(high / low)


def _bend(curve: Sequence[Point], middle: int) -> float:
    """How much the curve bends at a point: its second divided difference over ln n."""
    (a, fa), (b, fb), (c, fc) = curve[middle - 1 : middle + 2]
    xa, xb, xc = math.log(a), math.log(b), math.log(c)
    return abs(((fc - fb) / (xc - xb) - (fb - fa) / (xb - xa)) / (xc - xa))


def _missed(low: int, high: int, processors: int, other: Curve) -> float | None:
    """The most that a line misses of another curve, from low to high and on to so many processors."""
    last = max(high, processors)
    if low not in other or last not in other:
        return None
    left, right = (low, other[low]), (high, other[high])
    return max(abs(_line(left, right, n) / other[n] - 1) for n in range(low + 1, last + 1) if n in other)


def capability(curve: Sequence[Point], processors: int) -> float | None:
    """Effective capability of a partition of so many processors, n x c(n), in single processors."""
    value = factor(curve, processors).value
    return None if value is None else processors * value


def capability_ratio(curve: Sequence[Point], processors: int, base: int) -> float | None:
    """(m x c(m)) / (n x c(n)): what may be expected of m processors, those of the base being 1."""
    ours, theirs = capability(curve, processors), capability(curve, base)
    return None if ours is None or theirs is None else ours / theirs


def deployment(
    curve: Sequence[Point], processors: int, partitions: int, complete: Sequence[Curve] = ()
) -> Deployment:
    """So many processors over so many partitions, as evenly as it goes; 1 <= partitions <= processors."""
    each, more = divmod(processors, partitions)
    parts = [(each + 1, more)] * bool(more) + [(each, partitions - more)]
    found = [(size, count, factor(curve, size, complete)) for size, count in parts]
    how = max((one.how for _, _, one in found), key=("stated", "between", "beyond").index)
    sizes = tuple(size for size, count in parts for _ in range(count))
    total, error = 0.0, 0.0
    known = True
    for size, count, one in found:
        if one.value is None:
            return Deployment(partitions, sizes, None, None, how)
        total += size * count * one.value
        known = known and one.error is not None
        error += size * count * (one.error or 0.0)
    return Deployment(partitions, sizes, total, error if known else None, how)


# Runs ---------------------------------------------------------------------------------------------


def itr(etr: float, busy: float) -> float | None:
    """Internal throughput rate: transactions per second of a fully busy partition. busy: percent."""
    return etr / (busy / 100) if busy > 0 else None


def ratio(value: float | None, base: float | None) -> float | None:
    """One value divided by another; None where that says nothing."""
    return value / base if value is not None and base else None


def compared(runs: Sequence[Run], curve: Sequence[Point] | None = None) -> list[Scaled]:
    """The runs by size, each beside the smallest; without a curve, linear scaling is what is expected."""
    found: list[Scaled] = []
    base: Scaled | None = None
    for run in sorted(runs, key=lambda one: one.processors):
        own = run.itr
        if own is None and run.etr is not None and run.busy is not None:
            own = itr(run.etr, run.busy)
        first = base.run if base else run
        expected = (
            run.processors / first.processors
            if curve is None
            else capability_ratio(curve, run.processors, first.processors)
        )
        itrr = ratio(own, base.itr if base else own)
        scaled = Scaled(
            run,
            own,
            ratio(run.etr, first.etr),
            itrr,
            expected,
            ratio(itrr, expected),
            _gain(found[-1], itrr, expected) if found else None,
        )
        found.append(scaled)
        base = base or scaled
    return found


def _gain(before: Scaled, itrr: float | None, expected: float | None) -> float | None:
    if itrr is None or expected is None or before.itrr is None or before.ratio is None:
        return None
    return ratio(itrr - before.itrr, expected - before.ratio)


def rolloffs(runs: Sequence[Scaled], below: float) -> list[Rolloff]:
    """Where the ITR gains less than `below` of what the expected ratio gains: a sharp bend of the curve.

    A workload that runs short of the curve all the way, but as evenly, has none while it gains enough at each
    step.
    """
    return [
        Rolloff(before.run.processors, after.run.processors, after.gain)
        for before, after in pairwise(runs)
        if after.gain is not None and after.gain < below
    ]
