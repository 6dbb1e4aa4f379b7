"""Arithmetic of multithreading: metrics of a core, the three CPU times, and capacity left.

A core has two states: one thread active, or two. Sources: IBM, "z/VM and simultaneous multithreading",
2015 and 2020 (definitions of the metrics and of the three times); RMF CPU Activity and Workload Activity
reports printed there; IBM's patent US 9417927 (cycles and instructions by thread density); Linux
arch/s390/kernel/vtime.c; "SMT: What utilization in real?", linux.mainframe.blog (real use from hyptop).
Factors are ratios here, not percent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from zlens.models.optional_numbers import difference, product, ratio, total


class StateTimes(Struct, frozen=True):
    """Time and work of a core in each state.

    one, two            time with one and with two threads active, any unit
    work_one, work_two  work of both threads in that time, any unit
    wall                elapsed time in the unit of one and two; None if unknown
    """

    one: float
    two: float
    work_one: float
    work_two: float
    wall: float | None = None


class CoreMetrics(Struct, frozen=True):
    """Ratios; None if they cannot be computed.

    busy          core-busy time over elapsed time
    density       threads active on average while the core was busy, 1 to 2
    factor        work rate of the busy core relative to its rate with one thread
    maximum       the same with two threads always active
    productivity  work relative to two threads always active in core-busy time
    utilization   work relative to two threads always active in elapsed time
    """

    busy: float | None = None
    density: float | None = None
    factor: float | None = None
    maximum: float | None = None
    productivity: float | None = None
    utilization: float | None = None


def state_times(threads: Sequence[Sequence[float]], sample: float = 1.0) -> StateTimes:
    """Return time and work from samples of one or two threads: work of each in each sample, 0 if idle.

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
    return StateTimes(one * sample, two * sample, work_one, work_two, len(threads[0]) * sample)


def measured(core: StateTimes, maximum: float | None = None) -> CoreMetrics:
    """Return metrics of a core whose work is known. maximum: its largest capacity factor, if also known.

    IBM's definitions: density = (one + 2 two) / (one + two); factor = work / busy time / rate with one
    thread; maximum = rate with two / rate with one; productivity = work / (busy time x rate with two);
    utilization is the same over elapsed time. If a state never occurred, its rate follows from `maximum`.
    """
    busy = core.one + core.two
    if not busy:
        idle = ratio(0.0, core.wall)
        return CoreMetrics(busy=idle, maximum=maximum, utilization=idle)
    single = ratio(core.work_one, core.one) or None
    double = ratio(core.work_two, core.two) or None
    if maximum is not None:
        single = single or (double and double / maximum)
        double = double or (single and single * maximum)
    work = core.work_one + core.work_two
    return CoreMetrics(
        busy=ratio(busy, core.wall),
        density=(core.one + 2.0 * core.two) / busy,
        factor=single and work / busy / single,
        maximum=double / single if single and double else maximum,
        productivity=double and work / busy / double,
        utilization=work / core.wall / double if core.wall and double else None,
    )


def by_density(density: float, maximum: float | None, busy: float | None = None) -> CoreMetrics:
    """Return metrics from thread density and largest capacity factor by the two-state identity.

    factor = 1 + (density - 1)(maximum - 1), productivity = factor / maximum,
    utilization = busy x productivity. It holds for published rows of busy systems, not for nearly idle ones.
    """
    if maximum is None:
        return CoreMetrics(busy=busy, density=density)
    factor = 1.0 + (density - 1.0) * (maximum - 1.0)
    productivity = factor / maximum
    return CoreMetrics(busy, density, factor, maximum, productivity, product(busy, productivity))


def by_productivity(productivity: float, maximum: float | None, busy: float) -> CoreMetrics:
    """Return metrics from productivity as printed by RMF: utilization = busy x productivity."""
    used = busy * productivity
    if maximum is None:
        return CoreMetrics(busy=busy, productivity=productivity, utilization=used)
    factor = productivity * maximum
    density = 1.0 + (factor - 1.0) / (maximum - 1.0) if maximum > 1.0 else None
    return CoreMetrics(busy, density, factor, maximum, productivity, used)


def density_of(core_busy: float, threads_busy: Sequence[float]) -> float | None:
    """Return thread density from busy times of a core and its threads, in one unit; None for an idle core."""
    return ratio(sum(threads_busy), core_busy)


class CpuTimes(Struct, frozen=True):
    """CPU time of work on threads, in any one unit.

    raw       time on a thread
    mt1       MT-1 equivalent: raw time if the other thread had been idle
    prorated  prorated core time: half the time if the other thread was active
    """

    raw: float
    mt1: float | None
    prorated: float

    @property
    def scale(self) -> float | None:
        """Prorated over raw time: the factor of Linux's scaled CPU time."""
        return ratio(self.prorated, self.raw)


def cpu_times(single: float, double: float, maximum: float | None) -> CpuTimes:
    """Return the three times of work while the other thread of the core was idle and while it was active.

    With two threads active, each runs at half the largest capacity factor (the firmware's estimate differs).
    """
    mt1 = single if not double else None if maximum is None else single + double * maximum / 2.0
    return CpuTimes(single + double, mt1, single + double / 2.0)


def thread_cpu_times(
    threads: Sequence[Sequence[float]], maximum: float | None, sample: float = 1.0
) -> list[CpuTimes]:
    """Return the three times of each thread of a core from samples of its work."""
    of_each = []
    for index, works in enumerate(threads):
        others = threads[1 - index] if len(threads) == 2 else [0.0] * len(works)
        double = sum(work > 0 and other_work > 0 for work, other_work in zip(works, others, strict=True))
        single = sum(work > 0 for work in works) - double
        of_each.append(cpu_times(single * sample, double * sample, maximum))
    return of_each


def appl(mt1: float | None, interval: float | None, maximum: float | None) -> float | None:
    """Return RMF's APPL % as a ratio: MT-1 equivalent time over interval x largest capacity factor."""
    return ratio(mt1, product(interval, maximum))


def real_use(core: float, thread: float, management: float, maximum: float) -> float:
    """Return the use of cores from core, thread and management time (hyptop).

    Core time with one thread active counts 1 / largest capacity factor, with two it counts fully (which is
    busy x productivity); management time is added.
    """
    return (2.0 * core - thread) / maximum + (thread - core) + management


def combined_metrics(
    cores: Sequence[tuple[CoreMetrics, float]],
) -> tuple[CoreMetrics, float | None, float | None]:
    """Combine cores of one type, each with its share: metrics of all, used and available in cores.

    Densities are weighted by busy time, as in RMF's multithreading analysis; available = shares - used.
    """
    all_metrics = [metrics for metrics, _ in cores]
    busy = total(metrics.busy for metrics in all_metrics)
    used = total(metrics.utilization for metrics in all_metrics)
    running = [metrics for metrics in all_metrics if metrics.busy != 0]
    density = _weighted(running, "density")
    maxima = {metrics.maximum for metrics in running}
    maximum = maxima.pop() if len(maxima) == 1 else None
    factor, productivity = _weighted(running, "factor"), ratio(used, busy)
    if maximum is None and factor:
        maximum = ratio(factor, productivity)
    combined = CoreMetrics(
        ratio(busy, len(cores)), density, factor, maximum, productivity, ratio(used, len(cores))
    )
    return combined, used, difference(sum(share for _, share in cores), used)


def _weighted(cores: Sequence[CoreMetrics], name: str) -> float | None:
    """Return the mean of a metric weighted by core-busy time; None if any value is unknown."""
    values = [getattr(core, name) for core in cores]
    busy = total(core.busy for core in cores)
    if not busy or None in values:
        return None
    parts = [value * (core.busy or 0.0) for value, core in zip(values, cores, strict=True)]
    return math.fsum(parts) / busy
