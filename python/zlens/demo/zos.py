"""The work of the demo machine's z/OS partition: address spaces, service classes.

The partition's dispatch time is distributed in hundredths of a second, the unit in which address spaces are
charged: those of a service class add up to its time, and all of them to the dispatch time less the uncharged
part. Instructions are the counts of the processors' counters in the same time.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from zlens.catalog import smf_sections, smf_writer
from zlens.demo import machine

#: Fraction of the dispatch time charged to address spaces at low load; less with more load.
CAPTURED = 0.945
#: Fraction of an address space's time used by service requests.
_SRB = 0.12
#: Cycle of the state sampler, in milliseconds.
SAMPLE_MS = 250
#: An I/O operation lasts two milliseconds.
_OPERATION_S = 0.002
#: Kind of the address spaces that are jobs.
JOB = "JES2"
Values = dict[str, Any]
#: Sections of a record by their name.
Sections = Mapping[str, Sequence[Values]]
#: Bounds of the response time distribution, in percent of the goal.
BOUNDS = (50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150, 200, 400)


#: Accounting fields of the branches: the account number and the department.
_BRANCHES = ("ZL2000", "BRANCHES")


class AddressSpace(Struct, frozen=True):
    """An address space. weight: its share of its class; accounting: the fields of its JOB statement."""

    job: str
    program: str
    kind: str
    asid: int
    weight: float
    accounting: Sequence[str] = ()


class Goal(Struct, frozen=True):
    """A goal. kind: velocity, average, percentile, system. response in ms, percent of a percentile."""

    kind: str
    velocity: int = 0
    response_ms: int = 0
    percent: int = 0
    importance: int = 0


class ServiceClass(Struct, frozen=True):
    """A service class. weight: share of the charged time; cost_s: CPU time of a transaction, 0: none."""

    name: str
    workload: str
    text: str
    goal: Goal
    weight: float
    spaces: Sequence[AddressSpace]
    cost_s: float = 0.0
    #: Delays per sample of using: at low load, and added by the load.
    delays: tuple[float, float] = (0.1, 0.3)


CLASSES = (
    ServiceClass("SYSTEM", "SYSTEM", "System address spaces", Goal("system"), 0.07, (
        AddressSpace("*MASTER*", "IEEMB860", "STC", 1, 0.3),
        AddressSpace("WLM", "IWMINJST", "STC", 12, 0.3),
        AddressSpace("CATALOG", "IGG0CLX0", "STC", 34, 0.4),
    ), delays=(0.02, 0.05)),
    ServiceClass("SYSSTC", "SYSTEM", "System tasks", Goal("system"), 0.10, (
        AddressSpace("JES2", "HASJES20", "STC", 30, 0.35),
        AddressSpace("TCPIP", "EZBTCPIP", "STC", 41, 0.45),
        AddressSpace("HIS", "HISINIT", "STC", 52, 0.2),
    ), delays=(0.03, 0.08)),
    ServiceClass("DB2HI", "DATABASE", "Database address spaces", Goal("velocity", 60, importance=1), 0.23, (
        AddressSpace("DB2PMSTR", "DSNYASCP", "STC", 60, 0.15),
        AddressSpace("DB2PDBM1", "DSNYASCP", "STC", 61, 0.65),
        AddressSpace("DB2PIRLM", "DXRRLM00", "STC", 62, 0.2),
    ), delays=(0.08, 0.35)),
    ServiceClass("CICSHI", "ONLINE", "Transactions of the branches",
                 Goal("percentile", response_ms=200, percent=90, importance=2), 0.42, (
        AddressSpace("CICSTOR1", "DFHSIP", "STC", 70, 0.1, _BRANCHES),
        AddressSpace("CICSAOR1", "DFHSIP", "STC", 71, 0.5, _BRANCHES),
        AddressSpace("CICSAOR2", "DFHSIP", "STC", 72, 0.4, _BRANCHES),
    ), cost_s=0.0064, delays=(0.1, 0.5)),
    ServiceClass("BATCHLO", "BATCH", "Batch jobs", Goal("velocity", 20, importance=4), 0.18, (
        AddressSpace("ZLBILL", "BILLRUN", JOB, 90, 0.6, ("ZL4711", "", "BILLING")),
        AddressSpace("ZLSORT", "SORT", JOB, 91, 0.4, ("ZL4711", "", "SORT")),
    ), delays=(0.4, 3.2)),
)  # fmt: skip


class SpaceWork(Struct, frozen=True):
    """Charges of an address space in a quarter of an hour, in hundredths of a second; instructions."""

    space: AddressSpace
    task: int
    srb: int
    task_instructions: int
    srb_instructions: int


class ClassWork(Struct, frozen=True):
    """The work of a service class: works of its address spaces; buckets of response times."""

    service: ServiceClass
    works: Sequence[SpaceWork]
    ended: int
    response_us: int
    buckets: Sequence[int]
    cpu_using: int
    io_using: int
    cpu_delay: int
    io_delay: int
    idle: int

    @property
    def task(self) -> int:
        return sum(work.task for work in self.works)

    @property
    def srb(self) -> int:
        return sum(work.srb for work in self.works)

    def disk_io(self) -> dict[str, int]:
        """Return operations, and their times in units of 128 microseconds."""
        unit = SAMPLE_MS * 1000 / 128
        return {
            "starts": round(self.io_using * SAMPLE_MS / 1000 / _OPERATION_S),
            "connect": round(self.io_using * unit * 0.7),
            "disconnect": round(self.io_using * unit * 0.3),
            "pending": round(self.io_delay * unit),
        }


def simulate_quarter(
    rng: random.Random, dispatched_us: int, processors: int, length_us: int, instructions: int
) -> list[ClassWork]:
    """Distribute the partition's dispatch time and work over its classes."""
    load = dispatched_us / (processors * length_us)
    charged = round(dispatched_us / 10_000 * (CAPTURED - 0.04 * load))
    counted = round(instructions * charged * 10_000 / dispatched_us) if dispatched_us else 0
    # Batch receives the rest: less when the load of the others is higher.
    weights = {
        service.name: service.weight
        * rng.uniform(0.96, 1.04)
        * (1.25 - 0.5 * load if service.name == "BATCHLO" else 1.0)
        for service in CLASSES
    }
    times = split_by_weight(charged, weights)
    counts = split_by_weight(counted, times)
    return [
        _class(rng, service, times[service.name], counts[service.name], load, length_us)
        for service in CLASSES
    ]


def _class(
    rng: random.Random, service: ServiceClass, time: int, count: int, load: float, length_us: int
) -> ClassWork:
    weights = {space.job: space.weight * rng.uniform(0.95, 1.05) for space in service.spaces}
    times = split_by_weight(time, weights)
    counts = split_by_weight(count, times)
    works = []
    for space in service.spaces:
        srb = round(times[space.job] * _SRB * rng.uniform(0.9, 1.1))
        task = times[space.job] - srb
        parts = split_by_weight(counts[space.job], {"task": task, "srb": srb})
        works.append(SpaceWork(space, task, srb, parts["task"], parts["srb"]))
    if service.cost_s:
        ended = round(time / 100 / service.cost_s)
        # A transaction takes its CPU and I/O time, and longer on a busier system.
        mean_us = service.cost_s * 1e6 * 7.5 * (1 + 1.6 * load**3)
    else:
        # A job lasts the entire interval; a started task never ends.
        ended = sum(space.kind == JOB for space in service.spaces)
        mean_us = length_us
    buckets = _buckets(ended, mean_us / 1000, service.goal.response_ms) if service.goal.response_ms else []
    using = round(time * 10 / SAMPLE_MS * rng.uniform(0.98, 1.02))
    io_using = round(using * 0.35 * rng.uniform(0.9, 1.1))
    low, slope = service.delays
    cpu_delay = round(using * (low + slope * load**2) * rng.uniform(0.9, 1.1))
    samples = len(service.spaces) * length_us // (SAMPLE_MS * 1000)
    io_delay = round(io_using * 0.12 * rng.uniform(0.9, 1.1))
    idle = max(0, samples - using - io_using - cpu_delay - io_delay)
    return ClassWork(
        service, works, ended, round(ended * mean_us), buckets, using, io_using, cpu_delay, io_delay, idle
    )


def _buckets(ended: int, mean_ms: float, goal_ms: int) -> list[int]:
    """Return the transactions ended in each part of the goal; response times are exponential."""
    within = [1 - math.exp(-bound / 100 * goal_ms / mean_ms) for bound in BOUNDS] + [1.0]
    shares = [after - before for before, after in zip([0.0, *within[:-1]], within, strict=True)]
    counts = split_by_weight(ended, {str(number): share for number, share in enumerate(shares)})
    return list(counts.values())


def split_by_weight(total: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Split an integer by weight into integers that add up to it."""
    remaining, remaining_weight = total, math.fsum(weights.values())
    parts: dict[str, int] = {}
    for name, part_weight in weights.items():
        part = round(remaining * part_weight / remaining_weight) if remaining_weight else 0
        parts[name] = min(remaining, max(0, part))
        remaining -= parts[name]
        remaining_weight -= part_weight
    return parts


def encode(
    entity: str, local_us: int, sections: Sections, *, subtype: int | None = None, **more: Any
) -> bytes:
    """Return a record of the type that has the rows of an entity, of its first subtype if none is given.

    `more` are further arguments of `smf_writer.encode_record`.
    """
    (layout,) = smf_sections.entity_layouts(entity)
    return smf_writer.encode_record(
        layout,
        min(layout.subtypes) if subtype is None else subtype,
        system=machine.ZOS_SYSTEM,
        local_us=local_us,
        sections=sections,
        **more,
    )


def samples_of(length_us: int) -> int:
    """Return the number of state samples in this time."""
    return length_us // (SAMPLE_MS * 1000)


#: Sixteenths of a microsecond of CPU time per service unit: a z10 of this model.
ADJUSTMENT = 622


def service_units(hundredths: int) -> float:
    """Return the service units of CPU time."""
    return hundredths * 10_000 * 16 / ADJUSTMENT
