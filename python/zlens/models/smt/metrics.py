"""Arithmetic of multithreading: the metrics of a core, the three CPU times, and what is left.

A core is seen in two states: one thread active, or two. Sources: IBM, "z/VM and simultaneous multithreading",
2015 and 2020 (definitions of the metrics and of the three times); RMF CPU Activity and Workload Activity
reports printed there; IBM's patent US 9417927 (cycles and instructions by thread density); Linux
arch/s390/kernel/vtime.c; "SMT: What utilization in real?", linux.mainframe.blog (real use from hyptop).
Factors are ratios here, not percent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Counted:
    """What a core did in each state.

    one, two            time with one and with two threads active, any unit
    work_one, work_two  work of the core in that time, any unit: both threads together
    wall                elapsed time in the unit of one and two, None where it is not known
    """

    one: float
    two: float
    work_one: float
    work_two: float
    wall: float | None = None


@dataclass(frozen=True, slots=True)
class Metrics:
    """Ratios; None for what cannot be computed.

    busy          core-busy time of elapsed time
    density       threads active on average while the core was busy, 1 to 2
    factor        work rate of the busy core against its rate with one thread
    maximum       the same with two threads always active
    productivity  work against what two threads would have done in the core-busy time
    utilization   work against what two threads would have done in the elapsed time
    """

    busy: float | None = None
    density: float | None = None
    factor: float | None = None
    maximum: float | None = None
    productivity: float | None = None
    utilization: float | None = None


def counted(threads: Sequence[Sequence[float]], sample: float = 1.0) -> Counted:
    """From samples of one or two threads: the work of each in each sample, 0 where it was idle.

    sample: length of a sample
    """
    one = two = 0
    work_one = work_two = 0.0
    for works in zip(*threads, strict=True):
        active = sum(work > 0 for work in works)
        if active == 1:
            one += 1
            work_one += sum(works)
        elif active == 2:
            two += 1
            work_two += sum(works)
    return Counted(one * sample, two * sample, work_one, work_two, len(threads[0]) * sample)


def measured(core: Counted, maximum: float | None = None) -> Metrics:
    """Metrics of a core whose work is known. maximum: its largest capacity factor, if that is known besides.

    IBM's definitions: density = (one + 2 two) / (one + two); factor = work / busy time / rate with one
    thread; maximum = rate with two / rate with one; productivity = work / (busy time x rate with two);
    utilization the same over elapsed time. Where one state never was, its rate follows from `maximum`.
    """
    busy = core.one + core.two
    if not busy:
        return Metrics(busy=_over(0.0, core.wall), maximum=maximum, utilization=_over(0.0, core.wall))
    single = _over(core.work_one, core.one) or None
    double = _over(core.work_two, core.two) or None
    if maximum is not None:
        single = single or (double and double / maximum)
        double = double or (single and single * maximum)
    work = core.work_one + core.work_two
    return Metrics(
        busy=_over(busy, core.wall),
        density=(core.one + 2.0 * core.two) / busy,
        factor=single and work / busy / single,
        maximum=double / single if single and double else maximum,
        productivity=double and work / busy / double,
        utilization=work / core.wall / double if core.wall and double else None,
    )


def by_density(density: float, maximum: float | None, busy: float | None = None) -> Metrics:
    """Metrics from thread density and largest capacity factor by the two-state identity.

    factor = 1 + (density - 1)(maximum - 1), productivity = factor / maximum, utilization = busy x that.
    It holds for the published rows of busy systems, not for nearly idle ones.
    """
    if maximum is None:
        return Metrics(busy=busy, density=density)
    factor = 1.0 + (density - 1.0) * (maximum - 1.0)
    productivity = factor / maximum
    used = None if busy is None else busy * productivity
    return Metrics(busy, density, factor, maximum, productivity, used)


def by_productivity(productivity: float, maximum: float | None, busy: float) -> Metrics:
    """The same from productivity, as RMF prints it: utilization = busy x productivity."""
    used = busy * productivity
    if maximum is None:
        return Metrics(busy=busy, productivity=productivity, utilization=used)
    factor = productivity * maximum
    density = 1.0 + (factor - 1.0) / (maximum - 1.0) if maximum > 1.0 else None
    return Metrics(busy, density, factor, maximum, productivity, used)


def density_of(core_busy: float, threads_busy: Sequence[float]) -> float | None:
    """Thread density from the busy time of a core and of its threads, in one unit; None for an idle core."""
    return sum(threads_busy) / core_busy if core_busy else None


@dataclass(frozen=True, slots=True)
class Times:
    """CPU time of whatever ran on threads, in one unit.

    raw       on a thread, as ever
    mt1       MT-1 equivalent: what raw time would have been on a core for itself
    prorated  prorated core time: half of it where another thread was active beside
    """

    raw: float
    mt1: float | None
    prorated: float

    @property
    def scale(self) -> float | None:
        """Prorated time of raw time: what Linux multiplies by for its scaled CPU time."""
        return self.prorated / self.raw if self.raw else None


def times(alone: float, beside: float, maximum: float | None) -> Times:
    """The three times of what ran alone on a core and beside another active thread.

    A thread beside another runs at half the largest capacity factor (the firmware estimates it otherwise).
    """
    mt1 = alone if not beside else None if maximum is None else alone + beside * maximum / 2.0
    return Times(alone + beside, mt1, alone + beside / 2.0)


def of_threads(threads: Sequence[Sequence[float]], maximum: float | None, sample: float = 1.0) -> list[Times]:
    """The three times of each thread of a core from samples of the work of each."""
    found = []
    for at, works in enumerate(threads):
        others = threads[1 - at] if len(threads) == 2 else [0.0] * len(works)
        beside = sum(work > 0 and other > 0 for work, other in zip(works, others, strict=True))
        alone = sum(work > 0 for work in works) - beside
        found.append(times(alone * sample, beside * sample, maximum))
    return found


def appl(mt1: float, interval: float, maximum: float) -> float:
    """RMF's APPL %, as a ratio: MT-1 equivalent time of the interval at the largest capacity factor."""
    return mt1 / (interval * maximum)


def real_use(core: float, thread: float, management: float, maximum: float) -> float:
    """Use of cores from core, thread and management time (hyptop).

    Core time with one thread active counts one over the largest capacity factor, with two it counts whole:
    equal to busy x productivity; and management.
    """
    return (2.0 * core - thread) / maximum + (thread - core) + management


def together(cores: Sequence[tuple[Metrics, float]]) -> tuple[Metrics, float | None, float | None]:
    """Cores of one type, each with its share: metrics of all of them, used and available in cores.

    Densities are weighted by busy time, as in RMF's multithreading analysis; available = shares - used.
    """
    alone = [metrics for metrics, _ in cores]
    busy = _sum([one.busy for one in alone])
    used = _sum([one.utilization for one in alone])
    running = [one for one in alone if one.busy != 0]
    density = _weighted(running, "density")
    maxima = {one.maximum for one in running}
    maximum = maxima.pop() if len(maxima) == 1 else None
    whole = Metrics(
        busy=None if busy is None else busy / len(cores),
        density=density,
        factor=_weighted(running, "factor"),
        maximum=maximum,
        productivity=used / busy if used is not None and busy else None,
        utilization=None if used is None else used / len(cores),
    )
    if maximum is None and whole.factor and whole.productivity:
        whole = replace(whole, maximum=whole.factor / whole.productivity)
    share = sum(share for _, share in cores)
    return whole, used, None if used is None else share - used


def _weighted(cores: Sequence[Metrics], name: str) -> float | None:
    """Mean of a metric weighted by core-busy time; None where one of them is not known."""
    values = [getattr(core, name) for core in cores]
    busy = _sum([core.busy for core in cores])
    if not busy or None in values:
        return None
    parts = [value * (one.busy or 0.0) for value, one in zip(values, cores, strict=True)]
    return math.fsum(parts) / busy


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _over(value: float, by: float | None) -> float | None:
    return value / by if by else None
