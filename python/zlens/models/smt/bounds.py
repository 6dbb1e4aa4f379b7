"""Throughput of cores with several threads: utilization law, bounds, and path factors.

A transaction uses CPU time of one or more parts (clients, servers), each with its virtual CPUs. Raw demand
is time on a thread; work is time with one thread active (raw demand x capacity factor / thread density).
Sources: the utilization law and asymptotic bounds (Lazowska et al., Quantitative System Performance, 1984);
speed of a core with one and two threads: IBM, "z/VM and simultaneous multithreading", 2015 and 2020. zlens
assumes that virtual CPUs go to idle cores first. Factors are ratios here.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from zlens.models.optional_numbers import ratio

#: Two threads never do more than twice the work of one.
TWICE = 2.0
#: Rounding of printed percentages can exceed 1 or 2 threads by this much.
ROUNDING = 0.02
#: Bounds with a smaller relative difference are the same.
_SAME = 1e-9


class DemandPart(Struct, frozen=True):
    """A part of each transaction and the virtual CPUs that run it.

    demand          CPU seconds per transaction: raw or work, depending on the function
    virtual_cpus    total of all guests
    serial          part of the demand that at most serial_at_once virtual CPUs run at once
    serial_at_once  that number of virtual CPUs
    """

    name: str
    demand: float
    virtual_cpus: int
    serial: float = 0.0
    serial_at_once: int = 1


class ThroughputBound(Struct, frozen=True):
    """Bound on throughput.

    held_by  what limits
    demand   CPU seconds per transaction
    at_once  number running
    most     transactions per second
    """

    held_by: str
    demand: float
    at_once: float
    most: float | None


def rate(running: float, cores: int, threads: int, maximum: float) -> float:
    """Return the work per second of running virtual CPUs, in cores with one thread active.

    maximum: largest capacity factor. Idle cores come first: one on a core runs at 1, two at maximum / 2
    each. More virtual CPUs than threads run at the last speed (the bound of processors excludes that).
    """
    if threads == 1 or running <= cores:
        return running
    if running <= threads * cores:
        return cores + (running - cores) * (maximum - 1.0)
    return running * maximum / 2.0


def work_bounds(
    parts: Sequence[DemandPart], cores: int, threads: int = 1, maximum: float = 1.0
) -> list[ThroughputBound]:
    """Return bounds on transactions per second: of processors and parts.

    A part runs its share of virtual CPUs, at most all it has, and speed depends on how many run. With one
    thread per core demands may be raw: cores are then logical processors.
    """
    total = sum(part.demand for part in parts)

    def bound(held_by: str, demand: float, at_once: int) -> ThroughputBound:
        most = rate(at_once * total / demand, cores, threads, maximum) / total if demand else None
        return ThroughputBound(held_by, demand, at_once, most)

    bounds = [bound("processors", total, cores * threads)]
    for part in parts:
        name, demand = part.name, part.demand
        bounds.append(bound(f"virtual CPUs of {name}", demand, part.virtual_cpus))
        if part.serial:
            bounds.append(bound(f"serialization of {name}", demand * part.serial, part.serial_at_once))
    return bounds


def lowest_bound(bounds: Sequence[ThroughputBound]) -> ThroughputBound | None:
    """Return the lowest bound, the first of equals; None if there is no demand."""
    demanded = [bound for bound in bounds if bound.most is not None]
    if not demanded:
        return None
    lowest = min(bound.most or 0.0 for bound in demanded)
    # No bound compares as lowest if a demand is so large that bounds are NaN.
    equals = (bound for bound in demanded if (bound.most or 0.0) <= lowest + abs(lowest) * _SAME)
    return next(equals, demanded[0])


def density_at(parts: Sequence[DemandPart], cores: int, threads: int, maximum: float) -> float | None:
    """Return the thread density when the binding bound is reached."""
    limiting = lowest_bound(work_bounds(parts, cores, threads, maximum))
    if limiting is None or not limiting.demand:
        return None
    running = limiting.at_once * sum(part.demand for part in parts) / limiting.demand
    return max(1.0, running / cores)


def split(
    etr: float, processors: int, busy: float, used_by_part: Sequence[float | None]
) -> list[float] | None:
    """Return the raw demand of each part by the utilization law; None if the parts used more than the total.

    etr           transactions per second
    busy          mean of all logical processors, ratio
    used_by_part  processors used by each part; a part that is None gets the rest
    """
    used = processors * busy
    rest = used - sum(use for use in used_by_part if use is not None)
    # Values printed to a tenth of a percent of each processor may sum to slightly more.
    if rest < -0.001 * processors:
        return None
    return [(max(0.0, rest) if use is None else use) / etr for use in used_by_part]


def slowdown(density: float, factor: float) -> float:
    """Return the raw time of work over its time with one thread active: threads slow each other."""
    return density / factor


def itr_ratio(etr_ratio: float, base_busy: float, busy: float) -> float | None:
    """Return ITRR: ITR = ETR / mean busy of all logical processors, relative to the base."""
    return ratio(etr_ratio * base_busy, busy)
