"""Decisions and topology of HiperDispatch, goals, and queues of work of the demo machine's z/OS partition.

They follow from the dispatch times and the work that its other records contain. Its weight entitles it to all
CPs, so all its processors are vertical-high, and no decision parks one. z/OS decides every two seconds: of
thirty decisions, one is written, with the use of its minute.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from zlens.demo import machine, zos
from zlens.demo.machine import PHYSICAL, MachineMinute
from zlens.demo.zos import ClassWork, Sections, Values

#: Time between decisions.
DECISION_US = 2 * machine.SECOND
#: MVS busy is more than LPAR busy: processors that are ready are not always dispatched.
MVS_FACTOR = 1.012
#: Units of work that wait for a processor at most, as far as the distribution is written.
_LONGEST_QUEUE = 32
#: What no other record tells, in sixteenths and 256ths of a percent, and places in a machine with one book.
LIMITS = {
    "VCM_MVSBUSYTHRUNPARK": 95 * 16,
    "VCM_MVSBUSYTHRPARK": 50 * 16,
    "VCM_MVSBUSYDYNATHRUNPARK": 95 * 16,
    "VCM_MVSBUSYDYNATHRPARK": 50 * 16,
    "VCM_CECCAPFREELIMIT": 25 * 256,
}
PLACE = {"CP_CI_NLINUSE": 2, "CP_CI_NL1": 1, "CP_CI_NL2": 1}
#: CP_MISC of a processor that is vertical high.
_HIGH = 3
#: First numbers of ready work units in the buckets of a distribution, above the number of processors.
_ABOVE = (0, 1, 2, 3, 4, 6, 11, 16, 21, 31, 41, 61, 81, 101, 121, 151)
_GOAL_TYPES = {"system": 0, "average": 1, "percentile": 2, "velocity": 3}


class HiperDispatchWriter:
    """Reads the minutes and returns a decision at the end of each, and the topology every quarter."""

    def __init__(self) -> None:
        self.before: MachineMinute | None = None
        self.sequence = 0

    def add_minute(self, minute: MachineMinute) -> list[bytes]:
        before, self.before = self.before, minute
        records = [] if before is None else [self.decision(before, minute)]
        return records if minute.number % 15 else [*records, self.topology(minute)]

    def decision(self, before: MachineMinute, current: MachineMinute) -> bytes:
        self.sequence += 1
        own = current.use(machine.ZOS_PARTITION)
        cpus, length_us = len(own.total_us), current.end_us - before.end_us
        part = DECISION_US / length_us
        total_us = sum(own.total_us) - sum(before.use(machine.ZOS_PARTITION).total_us)
        uses = [
            (use, then) for use, then in zip(current.uses, before.uses, strict=True) if use.kind == own.kind
        ]
        managed_us = current.management_us(own.kind) - before.management_us(own.kind)
        machine_us = sum(sum(use.total_us) - sum(then.total_us) for use, then in uses) + managed_us
        weights = sum(use.weight for use, _ in uses)
        capacity_us = PHYSICAL[own.kind] * DECISION_US
        used_us, machine_used_us = round(total_us * part), round(machine_us * part)
        busy = round(16 * 100 * MVS_FACTOR * total_us / (cpus * length_us))
        guaranteed_us = capacity_us * own.weight // weights
        header = {
            "VCM_SMF_SEQU": self.sequence,
            "VCM_INTERVAL_LEN": DECISION_US,
            "VCM_LPARPHYSPROCSHR": 256 * guaranteed_us // DECISION_US,
            "VCM_INTERVAL_TOD": current.end_us,
            "VCM_FLAG2": ["VCM_CECCAPVALID", "VCM_LPARCAPVALID"],
            "VCM_FLAG3": ["VCM_TOPOFAC"],
        }
        capacity = {
            **LIMITS,
            "VCM_MVSBUSY": busy,
            "VCM_MVSBUSYPROJECTED": busy,
            "VCM_LPARCAPUSEDADJ": used_us,
            "VCM_LPARCAPUSED": used_us,
            "VCM_LPARCAPALLOC": cpus * DECISION_US,
            "VCM_LPARCAPGUARAN": guaranteed_us,
            "VCM_D204_TOTALW": weights,
            "VCM_D204_CURRENTW": own.weight,
            "VCM_D204_LCPUS": cpus,
            "VCM_CPUHI": cpus,
            "VCM_CECCAPTOTAL": capacity_us,
            "VCM_CECCAPUSEDADJ": machine_used_us,
            "VCM_CECCAPUSED": machine_used_us,
            "VCM_CECCAPFREE": capacity_us - machine_used_us,
            "VCM_CECSHAREDCPS": PHYSICAL[own.kind],
            "VCM_CECUTIL": round(256 * 100 * machine_used_us / capacity_us),
            "VCM_CECPHYSMGMTIME": round(managed_us * part),
            "VCM_CECPHYSMGMTIMEADJ": round(managed_us * part),
        }
        processors: list[Values] = [{"HD_INT_PROC_IDX": cpu} for cpu in range(cpus)]
        sections: Sections = {"hd_header": [header], "hd_capacity": [capacity], "hd_processor": processors}
        return _encode("parking", current.end_us, sections)

    def topology(self, minute: MachineMinute) -> bytes:
        cpus = range(len(minute.use(machine.ZOS_PARTITION).total_us))
        header = {"VCM_SMF_SEQU": self.sequence, "VCM_CPSPERAN": len(cpus)}
        header["VCM_CURRTOPO_TOD"] = machine.START_US
        node = {"AN_POLARHI": len(cpus), "AN_CAP": len(cpus) * DECISION_US}
        node |= {name.replace("CP_", "AN_"): value for name, value in PLACE.items()}
        sections: Sections = {
            "topology": [header],
            "topology_processor": [
                {"HD_TOPOCHG_CPU_INDEX": cpu, "CP_MISC": _HIGH, "CP_CAP": DECISION_US, **PLACE}
                for cpu in cpus
            ],
            "topology_node": [{"HD_TOPOCHG_NODE_INDEX": 1, **node}],
            "mpwq_cpu": [{"HD_TOPOCHG_MPWQ_CPU_INDEX": cpu, "MPWQ_AFFINITY_NODE": 1} for cpu in cpus],
            "mpwq_node": [{"HD_TOPOCHG_MPWQ_NODE_INDEX": 1}],
        }
        return _encode("topology", minute.end_us, sections)


def periods(work: Sequence[ClassWork], end_us: int) -> bytes:
    """Return the goals of the last policy interval of a quarter, with the indexes of the quarter."""
    return _encode("policy_interval", end_us, {"period": [_period(class_work) for class_work in work]})


def _period(work: ClassWork) -> Values:
    goal = work.service.goal
    index = round(100 * _performance_index(work))
    return {
        "ECLASS_NAME": work.service.name,
        "ICLASS_NAME": work.service.name,
        "PER_NUM": 1,
        "GOALTYPE": _GOAL_TYPES[goal.kind],
        "PERCENTILE": goal.percent,
        "GOALVAL": goal.response_ms or goal.velocity,
        "IMPOR": goal.importance,
        "LOCAL_PI": index,
        "SYSPLEX_PI": index,
    }


def _performance_index(work: ClassWork) -> float:
    """Return the index of a velocity or percentile goal; 0 for goals without one."""
    goal = work.service.goal
    if goal.kind == "velocity":
        using = work.cpu_using + work.io_using
        return goal.velocity / 100 * (using + work.cpu_delay + work.io_delay) / using
    ended = 0
    for bound, count in zip(zos.BOUNDS, work.buckets, strict=False):
        ended += count
        if ended >= goal.percent / 100 * work.ended:
            return bound / 100
    return 5.5 if work.buckets else 0.0


def queues(work: Sequence[ClassWork], processors: int, samples: int, length_us: int) -> Values:
    """Return the ASID data area of a quarter of an hour.

    A sample of a class that uses or waits for a processor is a ready work unit; their number at a time varies
    like that of independent events.
    """
    spaces = [space for class_work in work for space in class_work.service.spaces]
    jobs = sum(space.kind == zos.JOB for space in spaces)
    waiting = sum(class_work.cpu_using + class_work.cpu_delay for class_work in work)
    ready, longest = waiting / zos.samples_of(length_us), processors + _LONGEST_QUEUE
    shares = [math.exp(-ready) * ready**units / math.factorial(units) for units in range(longest)]
    bounds = [0, *(processors + above for above in _ABOVE[1:])]
    weights = {
        f"U{place:02}": sum(shares[first:end])
        for place, (first, end) in enumerate(zip(bounds, [*bounds[1:], None], strict=True))
    }
    total = round(ready * samples)
    most = max(units for units, share in enumerate(shares) if share * samples >= 1)
    # The address spaces are never swapped, and as many are ready as have work units that are.
    in_ready = min(total, len(spaces) * samples)
    return {
        "RMM": min(most, len(spaces)),
        "RTT": in_ready,
        **_constant("I", len(spaces), samples),
        **_constant("B", jobs, samples),
        **_constant("S", len(spaces) - jobs, samples),
        "SRM": samples,
        "CMM": most,
        "CTT": total,
        **zos.split_by_weight(samples, weights),
    }


def _constant(queue: str, number: int, samples: int) -> Values:
    """Return a queue that always has the same number of address spaces."""
    return {f"{queue}MN": number, f"{queue}MM": number, f"{queue}TT": number * samples}


def _encode(entity: str, end_us: int, sections: Sections) -> bytes:
    product = {"PNM": "SRM", "SLV": "SP7.1.1", "SNM": machine.ZOS_SYSTEM}
    local_us = end_us + machine.ZONE_S * machine.SECOND
    return zos.encode(entity, local_us, {"product": [product], "locations": [{}], **sections})
