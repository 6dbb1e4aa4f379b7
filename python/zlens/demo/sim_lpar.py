"""Partitions, locks and CPU pools of the second demo file.

Three partitions share twelve IFL cores; the weight of ours entitles it to four and a half, which is the
entitlement of its cores. The busy time of our cores is the time for which the hypervisor dispatched them, and
the spin time of processors is that of the locks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from zlens.demo import sim, sim_processors
from zlens.demo.machine import IFL
from zlens.demo.sim import SECOND, TICK, Moment

PHYSICAL = 12
#: The hypervisor's times when monitoring started, in microseconds.
_BEFORE_US = 5 * 10**12
#: PR/SM's own time, as a percentage of a partition's dispatch time and of the machine's time.
_OVERHEAD, _MANAGEMENT = 0.35, 0.6


@dataclass(frozen=True)
class _Partition:
    name: str
    number: int
    weight: int
    cores: int
    busy: float  # of a core, at the height of the load
    capped: bool = False


OWN = _Partition(sim.SYSTEM, 1, 375, sim_processors.CORES, 0.0)
OTHERS = (
    _Partition("ZLSIM2", 2, 400, 7, 0.42),
    _Partition("ZLTOOL", 3, 225, 3, 0.55, capped=True),
)

#: Locks: their part of all spin time, the part of that in shared mode, and the mean spin time in
#: microseconds.
LOCKS = {
    "SRMSLOCK": (0.62, 0.7, 1.4),
    "HCPTRQLK": (0.17, 0.0, 0.9),
    "RSAAVLLK": (0.11, 0.2, 0.6),
    "SRMALOCK": (0.06, 0.0, 0.5),
    "HCPPGDPL": (0.04, 0.0, 0.8),
    "HCPPGDAL": (0.0, 0.0, 1.0),
    "HCPPGDSL": (0.0, 0.0, 1.0),
    "HCPPGDTL": (0.0, 0.0, 1.0),
}
#: The first lock absorbs what rounding leaves.
_FIRST = next(iter(LOCKS))
#: A processor delays itself once in this many spins.
_SPINS_A_DELAY = 3

_LIMITHARD, _CAPACITY = 1, 2
WEB, DEVELOPMENT = "ZLWEB", "ZLDEV"
#: Processors that all users of the first pool may use together, and their use at the height of the load.
WEB_LIMIT, _WEB_RATE, _DEVELOPMENT_RATE = 1.6, 1.64, 0.5
#: Above this load the pool is limited.
_LIMITED_ABOVE = 0.9
#: Minutes in which a user joins a pool, and in which a pool's limit is changed.
JOINS, CHANGED = 12, 33


def records(moment: Moment) -> Iterator[tuple[bool, bytes]]:
    """The records of one moment, each with whether it is a sample."""
    state = sim_processors.states(moment.seed)[moment.number]
    if moment.first:
        for record in _pools(moment):
            yield True, record
    yield True, _own(moment)
    yield True, _partition(moment, OWN, [core.busy_us for core in state.cores])
    for partition in OTHERS:
        busy = [
            moment.total(f"{partition.name} {core}", partition.busy * SECOND * (1 - 0.03 * core))
            for core in range(partition.cores)
        ]
        yield True, _partition(moment, partition, busy)
    yield True, _physical(moment)
    yield True, _locks(moment, sum(thread.spin_us for thread in state.threads))
    for record in _used(moment):
        yield True, record
    for record in _changes(moment):
        yield False, record


def _own(moment: Moment) -> bytes:
    values = {
        "LPARNAME": OWN.name,
        "LPNUMBER": OWN.number,
        "LCUTNPAR": 1 + len(OTHERS),
        "LCUTPCCT": PHYSICAL,
        "CPUCHAR": 0x40,
        "CPUCOUNT": OWN.cores,
        "CPUCFGCT": OWN.cores,
        "CPUSHARD": OWN.cores,
    }
    return moment.record("D0R15", {f"SYTCUG_{name}": value for name, value in values.items()})


def _partition(moment: Moment, partition: _Partition, busy_us: list[int]) -> bytes:
    values = {
        "SYTCUP_LCUPNAME": partition.name,
        "SYTCUP_LCUPPNUM": partition.number,
        "SYTCUP_LCXPUPID": partition.number,
        "SYTCUP_LCUPCPCT": partition.cores,
        "SYTCUP_ZLCAPPED": int(partition.capped),
    }
    cores = [
        {
            "SYTCUP_LCUCPUID": number,
            "SYTCUP_LCUCWGHT": partition.weight,
            "SYTCUP_LCUCACTM": _BEFORE_US + busy + round(busy * _OVERHEAD / 100),
            "SYTCUP_LCUCLPTM": _BEFORE_US + busy,
            "SYTCUP_LCXCPTYP": "IFL",
        }
        for number, busy in enumerate(busy_us)
    ]
    return moment.record("D0R16", values, {"CPUDATA": cores})


def _physical(moment: Moment) -> bytes:
    cores = [
        {
            "SYTCUM_LCUMCPU": number,
            "SYTCUM_LCUMGTM": _BEFORE_US + moment.total(f"managed {number}", _MANAGEMENT / 100 * SECOND),
            "SYTCUM_LCUPTYPE": "IFL",
        }
        for number in range(PHYSICAL)
    ]
    return moment.record("D0R17", {"SYTCUM_LCUPCPCT": PHYSICAL}, {"MIBDATA": cores})


def _locks(moment: Moment, spun_us: int) -> bytes:
    """All spin time and spins, by lock and mode."""
    ticks = spun_us * TICK
    rows = {}
    for name, (part, shared, spin_us) in LOCKS.items():
        times = [round(ticks * part * (1 - shared)), round(ticks * part * shared)]
        counts = [int(time / TICK / spin_us) for time in times]
        rows[name] = [times, counts]
    rows[_FIRST][0][0] += ticks - sum(sum(times) for times, _ in rows.values())
    entries = [
        {
            "SYTLCK_CALLCKID": name,
            "SYTLCK_CALXSCNT": counts[0] % 2**32,
            "SYTLCK_CALXTIME": times[0],
            "SYTLCK_CALSSCNT": counts[1] % 2**32,
            "SYTLCK_CALSTIME": times[1],
            "SYTLCK_ZLXCADS": counts[0] // _SPINS_A_DELAY % 2**32,
            "SYTLCK_ZLSCADS": counts[1] // _SPINS_A_DELAY % 2**32,
        }
        for name, (times, counts) in rows.items()
    ]
    return moment.record("D0R23", {"SYTLCK_CALNMLKS": len(entries)}, {"CALLKDATA": entries})


def _pools(moment: Moment) -> Iterator[bytes]:
    for name, kind, limit in ((WEB, _CAPACITY, WEB_LIMIT), (DEVELOPMENT, _LIMITHARD, 25.0)):
        values = {"LIMPOOL": name, "ZLTYPE": IFL, "ZLLIMTY": kind, "ZLLIMIT": round(100 * limit)}
        yield moment.configuration("D1R28", {f"MTRCPC_{key}": value for key, value in values.items()})


def _used(moment: Moment) -> Iterator[bytes]:
    held_back = [number for number in range(1, moment.number + 1) if sim.height(number) > _LIMITED_ABOVE]
    web = {
        "ZLPOOL": WEB,
        "ZLCPUTM": moment.total(WEB, _WEB_RATE * SECOND) * TICK,
        "ZLLIMTM": len(held_back) * 9 * SECOND * TICK,
        "ZLLIMCT": len(held_back) * 45,
        "ZLUSERS": 8,
    }
    development = {
        "ZLPOOL": DEVELOPMENT,
        "ZLCPUTM": moment.total(DEVELOPMENT, _DEVELOPMENT_RATE * SECOND) * TICK,
        "ZLUSERS": 2 + int(moment.number >= JOINS),
    }
    for values in (web, development):
        yield moment.record("D5R19", {f"PRCCPU_{key}": value for key, value in values.items()})


def _changes(moment: Moment) -> Iterator[bytes]:
    if moment.number == JOINS:
        joins = {"ZLUSER": "ZLDEV03", "ZLPOOL": DEVELOPMENT, "ZLACTN": 1, "ZLCMD": 1}
        values = {f"USECPC_{key}": value for key, value in joins.items()}
        yield moment.record("D4R13", values, before_us=25 * SECOND)
    if moment.number == CHANGED:
        changed = {"LIMPOOL": DEVELOPMENT, "ZLACTN": 2, "ZLTYPE": IFL, "ZLLIMTY": _LIMITHARD, "ZLLIMIT": 3000}
        values = {f"MTRCPD_{key}": value for key, value in changed.items()}
        yield moment.record("D1R29", values, before_us=40 * SECOND)
