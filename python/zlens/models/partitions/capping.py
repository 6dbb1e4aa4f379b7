"""Partitions over time: what PR/SM lets them use while WLM caps those whose rolling average is too high.

Each interval is solved in steps of WLM's samples: PR/SM's weights and caps apply always, a defined capacity
while the partition's average is above it, the limit of a capacity group while the sum of its members'
averages has reached it (IBM, z/OS MVS Planning: Workload Management; OMEGAMON for z/OS). What a partition
does not get waits and is done first come, first served. Amounts are in cores of type CP, and in MSU.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from zlens.models.partitions import prsm
from zlens.models.partitions.prsm import Claim
from zlens.models.partitions.rolling_average import SAMPLE_S, WINDOW_S, RollingAverage

#: Work below this many core seconds does not wait: rounding.
_NEGLIGIBLE = 1e-6


class OfferedInterval(Struct, frozen=True):
    """What the partitions of a machine were offered in an interval that ended at a time, in seconds.

    capacity      shared cores less PR/SM's own use
    partitions    entries of a scenario of the model partitions, with their demand in cores
    groups        limit of each capacity group, in MSU
    msu_of_cpu    MSU of one core
    effective     part of a partition's use that is not PR/SM's, by name; 1 for others
    always        partitions whose defined capacity limits whatever their average is
    ipl           partitions whose IPL was in this interval, with its time
    """

    end: float
    seconds: float
    capacity: float
    partitions: Sequence[Mapping[str, Any]]
    groups: Mapping[str, float]
    msu_of_cpu: float
    effective: Mapping[str, float] = {}
    always: frozenset[str] = frozenset()
    ipl: Mapping[str, float] = {}


class StepUse(Struct, frozen=True):
    """Use of a partition in a step.

    msu: MSU per hour; rolling: the average at the end; limited: WLM capped it
    """

    end: float
    seconds: float
    msu: float
    rolling: float | None
    limited: bool


class PartitionCourse(Struct):
    """Use of a partition over time, and its work that waited, in MSU (of an hour) and seconds.

    late      work not done in the step in which it was offered
    delay_s   time that the late work done waited, added by MSU
    longest_s longest wait of any work, done or not
    left      work not done at the end
    """

    steps: list[StepUse] = field(default_factory=list)
    late: float = 0.0
    delay_s: float = 0.0
    longest_s: float = 0.0
    left: float = 0.0
    limited_s: float = 0.0

    @property
    def mean_delay_s(self) -> float | None:
        """Mean wait of the late work that was done."""
        done = self.late - self.left
        return self.delay_s / done if done > _NEGLIGIBLE else None


class _Member(Struct):
    """State of a partition between steps.

    queue: time and core seconds of work that waits; rate: MSU of a core
    """

    course: PartitionCourse = field(default_factory=PartitionCourse)
    average: RollingAverage = field(default_factory=RollingAverage)
    queue: deque[tuple[float, float]] = field(default_factory=deque)
    rate: float = 0.0

    @property
    def waiting(self) -> float:
        return math.fsum(amount for _, amount in self.queue)


def solve(
    intervals: Iterable[OfferedInterval], averages: Mapping[str, float] | None = None
) -> dict[str, PartitionCourse]:
    """Solve intervals in order of time; returns the course of each partition by name.

    averages: rolling averages before the first interval in MSU, where they are known. Without one, a
    partition is not capped until its average is known.
    """
    members: dict[str, _Member] = {}
    first = True
    for interval in intervals:
        for name in (entry["name"] for entry in interval.partitions):
            member = members.setdefault(name, _Member())
            if first and averages and name in averages:
                member.average.add(interval.end - interval.seconds, WINDOW_S, averages[name])
            if name in interval.ipl:
                member.average.restart(interval.ipl[name])
        first = False
        _solve_interval(interval, members)
    for member in members.values():
        for _, amount in member.queue:
            member.course.left += amount * member.rate / 3600
        if member.queue and member.course.steps:
            waited = member.course.steps[-1].end - member.queue[0][0]
            member.course.longest_s = max(member.course.longest_s, waited)
    return {name: member.course for name, member in members.items()}


def _solve_interval(interval: OfferedInterval, members: Mapping[str, _Member]) -> None:
    steps = max(1, math.ceil(interval.seconds / SAMPLE_S - 1e-3))
    seconds = interval.seconds / steps
    sharing = [entry for entry in interval.partitions if not entry.get("dedicated")]
    shared = interval.capacity
    entitled = prsm.entitlements(shared, [entry["weight"] for entry in sharing])
    start = interval.end - interval.seconds
    for number in range(1, steps + 1):
        end = start + number * seconds
        before = end - seconds
        limited: set[str] = set()
        claims = []
        for entry, part in zip(sharing, entitled, strict=True):
            name, member = entry["name"], members[entry["name"]]
            rate = interval.msu_of_cpu * interval.effective.get(name, 1.0)
            soft = entry.get("defined_capacity")
            if soft is not None and name not in interval.always:
                average = member.average.mean(before).value
                if average is None or average <= soft:
                    soft = None
            limits = prsm.own_limits({**entry, "defined_capacity": soft}, part, rate or None)
            wanted = (entry.get("demand") or 0.0) + member.waiting / seconds
            claims.append(Claim(float(entry["weight"]), float(entry["cores"]), wanted, limits))
            if soft is not None:
                limited.add(name)
        groups = []
        for group, limit in interval.groups.items():
            inside = [index for index, entry in enumerate(sharing) if entry.get("capacity_group") == group]
            found = [members[sharing[index]["name"]].average.mean(before).value for index in inside]
            known = [average for average in found if average is not None]
            if inside and len(known) == len(found) and math.fsum(known) >= limit:
                used = [interval.effective.get(sharing[index]["name"], 1.0) for index in inside]
                groups.append((inside, limit / (interval.msu_of_cpu * math.fsum(used) / len(used))))
                limited |= {sharing[index]["name"] for index in inside}
        names = [entry["name"] for entry in sharing]
        amounts = dict(zip(names, prsm.allocate(shared, claims, groups), strict=True))
        for entry in interval.partitions:
            name, member = entry["name"], members[entry["name"]]
            demand = entry.get("demand")
            member.rate = interval.msu_of_cpu * interval.effective.get(name, 1.0)
            wanted = (demand or 0.0) + member.waiting / seconds
            got = amounts.get(name, min(wanted, float(entry["cores"])))
            _work(member, end, (demand or 0.0) * seconds, got * seconds)
            if demand is not None:
                member.average.add(end, seconds, got * member.rate)
            held = name in limited and got < wanted - _NEGLIGIBLE
            member.course.limited_s += seconds if held else 0.0
            rolling = member.average.mean(end).value
            member.course.steps.append(StepUse(end, seconds, got * member.rate, rolling, held))


def _work(member: _Member, end: float, offered: float, done: float) -> None:
    """Do what waits first, then what is offered; amounts in core seconds."""
    course, queue, msu = member.course, member.queue, member.rate / 3600
    while queue and done > _NEGLIGIBLE:
        since, amount = queue[0]
        part = min(amount, done)
        done -= part
        course.delay_s += part * msu * (end - since)
        course.longest_s = max(course.longest_s, end - since)
        if part >= amount - _NEGLIGIBLE:
            queue.popleft()
        else:
            queue[0] = (since, amount - part)
    rest = offered - done
    if rest > _NEGLIGIBLE:
        course.late += rest * msu
        queue.append((end, rest))
