"""Divides the change in CPU time per transaction into parts that add up to it.

The change of a product is divided among its factors by logarithmic means (Ang's LMDI-I, Energy Policy 32,
2004): exact, the same in either direction, and independent of the order of the factors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec import Struct

Values = Mapping[str, float | None]
_COST = "per_transaction."


class Contribution(Struct, frozen=True):
    """A part of the change, in the unit of its waterfall."""

    name: str
    change: float


class Waterfall(Struct, frozen=True):
    """The change of `title` from one value to another, and its parts."""

    title: str
    unit: str
    start: float
    end: float
    parts: tuple[Contribution, ...]
    note: str = ""


def logarithmic_mean(a: float, b: float) -> float:
    """Return the logarithmic mean of two positive numbers, between the geometric and the arithmetic mean."""
    if math.isclose(a, b, rel_tol=1e-9):
        return (a + b) / 2
    return (b - a) / math.log(b / a)


def build_waterfalls(base: Values, other: Values) -> list[Waterfall]:
    """Return the waterfalls that the values of two sides allow; values by `table.column`."""
    waterfalls = (cpu_time_by_location(base, other), cpu_time_by_cause(base, other), busy(base, other))
    return [waterfall for waterfall in waterfalls if waterfall]


def cpu_time_by_location(base: Values, other: Values) -> Waterfall | None:
    """Return CPU time per transaction by guests and CP, from timers."""
    names = (
        ("guests", "guest_s"),
        ("CP, chargeable", "chargeable_cp_s"),
        ("CP, non-chargeable", "nonchargeable_cp_s"),
    )
    values = _both(base, other, _COST + "cpu_s", *(_COST + name for _, name in names))
    if values is None:
        return None
    (start, *before), (end, *after) = values
    parts = [Contribution(text, 1000 * (b - a)) for (text, _), a, b in zip(names, before, after, strict=True)]
    return _of_cost("CPU time of a transaction, by where it was spent", start, end, parts)


def cpu_time_by_cause(base: Values, other: Values) -> Waterfall | None:
    """Return CPU time per transaction by instructions, the two parts of CPI, and speed, from counters."""
    values = _both(base, other, *(_COST + name for name in ("cpu_s", "instructions", "cpi")))
    if values is None:
        # Without timers of the processors, use the counters.
        values = _both(base, other, *(_COST + name for name in ("counted_cpu_s", "instructions", "cpi")))
    if values is None:
        return None
    (start, i0, c0), (end, i1, c1) = values
    if min(start, i0, c0, end, i1, c1) <= 0:
        return None
    speeds = _both(base, other, _COST + "ghz")
    # If the speed is unknown, use the cycles per second of CPU time.
    g0, g1 = (speeds[0][0] * 1e9, speeds[1][0] * 1e9) if speeds else (i0 * c0 / start, i1 * c1 / end)
    split = _both(base, other, _COST + "est_instr_cmplx_cpi", _COST + "est_finite_cpi")
    terms = [("CPI", c0, c1)]
    if split is not None and min(*split[0], *split[1]) > 0:
        terms = [
            ("complexity CPI", c0 - split[0][1], c1 - split[1][1]),
            ("finite CPI", split[0][1], split[1][1]),
        ]
    instructions = speed = 0.0
    parts = []
    for name, x0, x1 in terms:
        mean = logarithmic_mean(i0 * x0 / g0, i1 * x1 / g1)
        instructions += mean * math.log(i1 / i0)
        speed -= mean * math.log(g1 / g0)
        parts.append(Contribution(name, 1000 * mean * math.log(x1 / x0)))
    speed_name = "speed" if speeds else "cycles per busy second"
    parts = [
        Contribution("instructions", 1000 * instructions),
        *parts,
        Contribution(speed_name, 1000 * speed),
    ]
    note = "" if speeds else "no record contains the speed of the processors"
    return _of_cost("CPU time of a transaction, by cause", start, end, parts, note)


def busy(base: Values, other: Values) -> Waterfall | None:
    """Return the change of processor busy by guests and CP, if there are no transactions."""
    if base.get(_COST + "cpu_s") is not None:
        return None
    names = (
        ("guests", "load.guest_pct"),
        ("CP, chargeable", "load.chargeable_cp_pct"),
        ("CP, non-chargeable", "load.nonchargeable_cp_pct"),
    )
    values = _both(base, other, "load.busy_pct", *(name for _, name in names))
    if values is None:
        return None
    (start, *before), (end, *after) = values
    parts = tuple(Contribution(text, b - a) for (text, _), a, b in zip(names, before, after, strict=True))
    return Waterfall("Busy of a processor, by where it was spent", "%", start, end, parts)


def _of_cost(title: str, start: float, end: float, parts: list[Contribution], note: str = "") -> Waterfall:
    """Return a waterfall in milliseconds from seconds, with an unexplained part if it exceeds rounding."""
    start, end = 1000 * start, 1000 * end
    rest = end - start - math.fsum(part.change for part in parts)
    if abs(rest) > 1e-6 * max(end, start):
        parts.append(Contribution("not explained", rest))
    return Waterfall(title, "ms", start, end, tuple(parts), note)


def _both(base: Values, other: Values, *names: str) -> tuple[list[float], list[float]] | None:
    sides = [[side.get(name) for name in names] for side in (base, other)]
    if any(value is None for side in sides for value in side):
        return None
    return [float(value) for value in sides[0] if value is not None], [
        float(value) for value in sides[1] if value is not None
    ]
