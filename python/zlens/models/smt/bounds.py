"""Throughput of cores with several threads: utilization law, bounds, and path factors.

A transaction needs CPU time of one or more parts (clients, servers), each of which has virtual CPUs.
Raw demand is time on a thread; work is what that would be on a core for itself (raw demand x capacity factor
/ thread density). Sources: the utilization law and asymptotic bounds (Lazowska et al., Quantitative System
Performance, 1984); how fast a core runs with one and with two threads: IBM, "z/VM and simultaneous
multithreading", 2015 and 2020. That virtual CPUs go to idle cores first is ours. Factors are ratios here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

#: Transactions a second from virtual CPUs that run and from the demand of a transaction.
_Speed = Callable[[float, float], float]
#: Bounds closer than this, relatively, are the same.
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class Part:
    """What runs a part of each transaction.

    demand          processor seconds of a transaction: raw or work, as the function says
    virtual_cpus    of all guests together
    serial          part of the demand that only so many virtual CPUs run at once
    serial_at_once  how many
    """

    name: str
    demand: float
    virtual_cpus: int
    serial: float = 0.0
    serial_at_once: int = 1


@dataclass(frozen=True, slots=True)
class Bound:
    """held_by: what holds. demand: seconds of it in a transaction. at_once: so many run. most: per second."""

    held_by: str
    demand: float
    at_once: float
    most: float | None


def rate(running: float, cores: int, threads: int, maximum: float) -> float:
    """Work done in a second by so many running virtual CPUs, in cores with one thread active.

    maximum: largest capacity factor. Idle cores come first: alone each runs at 1, two on a core at maximum
    / 2 each. More than there are threads run at the last speed (the bound of processors says they do not).
    """
    if threads == 1 or running <= cores:
        return running
    if running <= threads * cores:
        return cores + (running - cores) * (maximum - 1.0)
    return running * maximum / 2.0


def raw_bounds(parts: Sequence[Part], processors: int) -> list[Bound]:
    """Most transactions a second with these raw demands. processors: logical ones, each a thread."""
    return _bounds(parts, processors, lambda running, whole: running / whole)


def work_bounds(parts: Sequence[Part], cores: int, threads: int, maximum: float) -> list[Bound]:
    """Most transactions a second where demands are work: speed follows from how many virtual CPUs run."""
    return _bounds(
        parts, cores * threads, lambda running, whole: rate(running, cores, threads, maximum) / whole
    )


def _bounds(parts: Sequence[Part], processors: int, speed: _Speed) -> list[Bound]:
    """running: virtual CPUs that run on average; a part has its share of them, and no more than there are."""
    whole = sum(part.demand for part in parts)

    def bound(held_by: str, demand: float, at_once: int) -> Bound:
        return Bound(held_by, demand, at_once, speed(at_once * whole / demand, whole) if demand else None)

    found = [bound("processors", whole, processors)]
    for part in parts:
        found.append(bound(f"virtual CPUs of {part.name}", part.demand, part.virtual_cpus))
        if part.serial:
            found.append(
                bound(f"serialization of {part.name}", part.demand * part.serial, part.serial_at_once)
            )
    return found


def binding(bounds: Sequence[Bound]) -> Bound | None:
    """The lowest of them, the first of equals; None where nothing is demanded."""
    known = [bound for bound in bounds if bound.most is not None]
    if not known:
        return None
    lowest = min(bound.most or 0.0 for bound in known)
    return next(bound for bound in known if (bound.most or 0.0) <= lowest * (1.0 + _SAME))


def density_at(parts: Sequence[Part], cores: int, threads: int, maximum: float) -> float | None:
    """Thread density where the binding bound is reached."""
    held = binding(work_bounds(parts, cores, threads, maximum))
    if held is None or not held.demand:
        return None
    running = held.at_once * sum(part.demand for part in parts) / held.demand
    return max(1.0, running / cores)


def split(etr: float, processors: int, busy: float, known: Sequence[float | None]) -> list[float] | None:
    """Raw demand of each part from the utilization law; None where the parts have more than there was.

    etr    transactions a second
    busy   mean of all logical processors, ratio
    known  processors used by each part; the one that is None has what is left
    """
    used = processors * busy
    rest = used - sum(one for one in known if one is not None)
    # What is printed to a tenth of a percent of each processor may sum to a little more.
    if rest < -0.001 * processors:
        return None
    return [(max(0.0, rest) if one is None else one) / etr for one in known]


def slowing(density: float, factor: float) -> float:
    """Raw time of a piece of work against its time alone: threads slow each other."""
    return density / factor


def path_factor(raw: float, base: float, density: float, factor: float) -> float | None:
    """Growth of raw demand that slower threads do not explain: spinning, colder caches, more work.

    raw of the run, base: work of the base, both for one transaction
    """
    return raw / (base * slowing(density, factor)) if base else None


def itr_ratio(etr_ratio: float, base_busy: float, busy: float) -> float | None:
    """ITRR: ITR = ETR / mean busy of all logical processors, against that of the base."""
    return etr_ratio * base_busy / busy if busy else None
