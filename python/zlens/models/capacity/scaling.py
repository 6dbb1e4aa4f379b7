"""Arithmetic of capability and scaling: capability of n processors, and runs compared with it.

A curve is a list of points (processors, capacity adjustment factor). A factor is the capability of each
of n processors relative to a single one, so n of them have a capability of n x c(n). Source: IBM, "z/VM for
eighty logical processors": CAF values, effective capability, tables 2 to 9.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from zlens.catalog.capacity_curves import Point
from zlens.models.optional_numbers import difference, product, ratio, total

#: A curve with a value for every number of processors.
Curve = Mapping[int, float]


class Factor(Struct, frozen=True):
    """A capacity adjustment factor, or the capability that follows from factors.

    value  capability of each processor relative to a single one; None beyond the reach of the curve
    error  estimated error of the value; 0 if stated, None if it cannot be estimated
    how    "stated", "between" (interpolated) or "beyond" (extrapolated); of several the least certain
    """

    value: float | None
    error: float | None
    how: str

    @property
    def shown_how(self) -> str:
        return "unknown" if self.value is None else self.how

    @property
    def error_pct(self) -> float | None:
        """Estimated error in percent of the value."""
        return ratio(product(100, self.error), self.value)


class Deployment(Factor, frozen=True):
    """Capability of processors spread evenly over partitions: sizes are their processors, largest first."""

    sizes: tuple[int, ...]


class ScalingRun(Struct, frozen=True):
    """A run of a workload. etr: transactions per second; busy: average logical processor, percent."""

    processors: int
    etr: float | None = None
    busy: float | None = None
    itr: float | None = None
    name: str = ""


class Scaled(Struct, frozen=True):
    """A run compared with the smallest one and with the curve.

    etrr, itrr   ETR and ITR relative to the base run
    ratio        capability relative to the base run; without a curve, of processors
    efficiency   itrr / ratio: 1 if the workload scales like the reference workloads
    gain         gain in itrr since the previous run over the gain in ratio; None for the base
    """

    run: ScalingRun
    itr: float | None
    etrr: float | None
    itrr: float | None
    ratio: float | None
    efficiency: float | None
    gain: float | None


class Rolloff(Struct, frozen=True):
    """A bend in the curve of a workload: between two partition sizes the ITR gains too little."""

    after: int
    until: int
    gain: float

    @property
    def falls(self) -> bool:
        """Whether more processors did less work."""
        return self.gain < 0


def factor(curve: Sequence[Point], processors: int, complete: Sequence[Curve] = ()) -> Factor:
    """Return the factor of a number of processors: stated, or interpolated linearly in ln n.

    The curve is sorted by processors; beyond twice its last point there is no factor. The error is the larger
    of the interpolation error if the curve bends as at the neighbors (second divided difference) and the
    largest error of such a line between the same neighbors on complete curves.
    """
    index = bisect_left(curve, processors, key=lambda point: point[0])
    if index < len(curve) and curve[index][0] == processors:
        return Factor(curve[index][1], 0.0, "stated")
    how = "between" if 0 < index < len(curve) else "beyond"
    if len(curve) < 2 or index == 0 or processors > 2 * curve[-1][0]:
        return Factor(None, None, how)
    right = min(index, len(curve) - 1)
    value = _line(curve[right - 1], curve[right], processors)
    if value <= 0:
        return Factor(None, None, how)
    bends = [_bend(curve, middle) for middle in (right - 1, right) if 0 < middle < len(curve) - 1]
    x, left, end = math.log(processors), math.log(curve[right - 1][0]), math.log(curve[right][0])
    errors = [max(bends) * abs((x - left) * (x - end))] if bends else []
    missed = [
        _line_error(curve[right - 1][0], curve[right][0], processors, reference) for reference in complete
    ]
    errors += [value * part for part in missed if part is not None]
    return Factor(value, max(errors) if errors else None, how)


def _line(left: Point, right: Point, processors: int) -> float:
    """Interpolate linearly in ln n through two points."""
    (low, first), (high, last) = left, right
    return first + (last - first) * math.log(processors / low) / math.log(high / low)


def _bend(curve: Sequence[Point], middle: int) -> float:
    """Return the bend of the curve at a point: second divided difference over ln n."""
    (a, fa), (b, fb), (c, fc) = curve[middle - 1 : middle + 2]
    xa, xb, xc = math.log(a), math.log(b), math.log(c)
    return abs(((fc - fb) / (xc - xb) - (fb - fa) / (xb - xa)) / (xc - xa))


def _line_error(low: int, high: int, processors: int, reference: Curve) -> float | None:
    """Return the largest relative error of a line through low and high on a curve, up to `processors`."""
    last = max(high, processors)
    if low not in reference or last not in reference:
        return None
    left, right = (low, reference[low]), (high, reference[high])
    return max(
        abs(_line(left, right, n) / reference[n] - 1) for n in range(low + 1, last + 1) if n in reference
    )


def capability(curve: Sequence[Point], processors: int) -> float | None:
    """Return the effective capability n x c(n) of a partition of n processors, in single processors."""
    return product(processors, factor(curve, processors).value)


def capability_ratio(curve: Sequence[Point], processors: int, base: int) -> float | None:
    """Return (m x c(m)) / (n x c(n)): expected ratio of m processors to the base of n."""
    return ratio(capability(curve, processors), capability(curve, base))


def deployment(
    curve: Sequence[Point], processors: int, partitions: int, complete: Sequence[Curve] = ()
) -> Deployment:
    """Spread processors over partitions as evenly as possible; 1 <= partitions <= processors."""
    size_each, larger = divmod(processors, partitions)
    parts = [(size_each + 1, larger)] * bool(larger) + [(size_each, partitions - larger)]
    factors = [(size, count, factor(curve, size, complete)) for size, count in parts]
    how = max((point.how for _, _, point in factors), key=("stated", "between", "beyond").index)
    sizes = tuple(size for size, count in parts for _ in range(count))
    value = total(product(size * count, point.value) for size, count, point in factors)
    error = total(product(size * count, point.error) for size, count, point in factors)
    return Deployment(value, None if value is None else error, how, sizes)


def itr(etr: float, busy: float) -> float | None:
    """Return the internal throughput rate: transactions per second at 100% busy. busy: percent."""
    return etr / (busy / 100) if busy > 0 else None


def compared(runs: Sequence[ScalingRun], curve: Sequence[Point] | None = None) -> list[Scaled]:
    """Compare runs with the smallest, by size; without a curve, linear scaling is expected."""
    results: list[Scaled] = []
    for run in sorted(runs, key=lambda run: run.processors):
        run_itr = run.itr
        if run_itr is None and run.etr is not None and run.busy is not None:
            run_itr = itr(run.etr, run.busy)
        first = results[0].run if results else run
        expected: float | None = run.processors / first.processors
        if curve is not None:
            expected = capability_ratio(curve, run.processors, first.processors)
        itrr = ratio(run_itr, results[0].itr if results else run_itr)
        gain = None
        if results:
            previous = results[-1]
            gain = ratio(difference(itrr, previous.itrr), difference(expected, previous.ratio))
        etrr = ratio(run.etr, first.etr)
        results.append(Scaled(run, run_itr, etrr, itrr, expected, ratio(itrr, expected), gain))
    return results


def rolloffs(runs: Sequence[Scaled], below: float) -> list[Rolloff]:
    """Return sharp bends: steps where the ITR gains less than `below` of the gain in the expected ratio.

    A workload that falls short of the curve evenly has no rolloff as long as each step gains enough.
    """
    return [
        Rolloff(previous.run.processors, current.run.processors, current.gain)
        for previous, current in pairwise(runs)
        if current.gain is not None and current.gain < below
    ]
