"""Guests of the second demo file: twelve virtual machines that use the time charged to users.

The time that all threads were charged to users in a minute is dealt out to the virtual processors, so that
every second of it is found again in the records of guests. One user logs on and off within the hour, and one
relocation of a guest to another member of the cluster is not completed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from zlens import _native
from zlens.demo import sim, sim_processors
from zlens.demo.machine import IFL
from zlens.demo.sim import SECOND, TICK, Moment

#: Samples of a virtual processor in a minute: one every two seconds.
SAMPLES = 30
#: The user who comes and goes: the minutes, and the seconds before their end.
VISITOR = "BATCH1"
COMES, COMES_BEFORE_S = 20, 40
GOES, GOES_BEFORE_S = 45, 25
#: The guest to be relocated, and when that began.
MOVED, MOVED_AT = "LINUX05", 30
TARGET = "ZLSIM2"

#: Pages read per second at the height of the load, per unit of a guest's weight: together those of D0R1.
_PAGED = 190
_GIB = 2**30
_WORD = 2**32


@dataclass(frozen=True)
class Guest:
    """A virtual machine: its definition, and its part of the work."""

    userid: str
    vcpus: int
    weight: float
    storage: int = 8 * _GIB
    share: int = 100
    dasd: float = 0.0
    account: str = "LINUX"


GUESTS = (
    Guest("LINUX01", 4, 22, 64 * _GIB, 300, 180.0),
    Guest("LINUX02", 4, 18, 64 * _GIB, 300, 140.0),
    Guest("LINUX03", 4, 14, 32 * _GIB, 200, 60.0),
    Guest("LINUX04", 4, 12, 32 * _GIB, 200, 45.0),
    Guest("LINUX05", 3, 9, 16 * _GIB, 100, 30.0),
    Guest("LINUX06", 3, 8, 16 * _GIB, 100, 25.0),
    Guest("LINUX07", 2, 6, dasd=20.0),
    Guest("LINUX08", 2, 5, dasd=12.0),
    Guest(VISITOR, 2, 4, 4 * _GIB, 50, 90.0, "BATCH"),
    Guest("TCPIP", 1, 1, _GIB // 2, 3000, 0.1, "SYSTEM"),
    Guest("PERFSVM", 1, 0.6, _GIB // 2, 100, 4.0, "SYSTEM"),
    Guest("MAINT", 1, 0.1, _GIB // 4, 100, 0.5, "SYSTEM"),
)


@dataclass
class Used:
    """The use of a virtual processor since logon; times in microseconds."""

    total_us: int = 0
    virtual_us: int = 0
    mt1_us: int = 0
    prorated_us: int = 0
    waited_us: int = 0
    dispatches: int = 0
    dasd: int = 0
    avoided: int = 0
    states: dict[str, int] = field(default_factory=dict)

    def copy(self) -> Used:
        return replace(self, states=dict(self.states))


Place = tuple[str, int]


def here(guest: Guest, number: int) -> bool:
    """Whether a guest is logged on at some time of this minute."""
    return guest.userid != VISITOR or COMES <= number <= GOES


def sampled(guest: Guest, number: int) -> bool:
    """Whether it is logged on at the end of this minute."""
    return here(guest, number) and not (guest.userid == VISITOR and number == GOES)


def logon_us(guest: Guest) -> int:
    if guest.userid == VISITOR:
        return sim.START_US + COMES * sim.MINUTE - COMES_BEFORE_S * SECOND
    return sim.IPL_US + 90 * SECOND


@cache
def states(seed: int) -> tuple[Mapping[Place, Used], ...]:
    """All virtual processors at every moment of the hour."""
    numbers = random.Random(f"guests {seed}")
    current = {(guest.userid, vcpu): _before(guest) for guest in GUESTS for vcpu in range(guest.vcpus)}
    history = [{place: used.copy() for place, used in current.items()}]
    processors = sim_processors.states(seed)
    for number in range(1, sim.MINUTES + 1):
        _minute(current, processors[number - 1], processors[number], number, numbers)
        history.append({place: used.copy() for place, used in current.items()})
    return tuple(history)


def _before(guest: Guest) -> Used:
    if guest.userid == VISITOR:
        return Used()
    us = round(guest.weight * 40_000 * SECOND / guest.vcpus)
    return Used(us, round(0.92 * us), round(0.8 * us), round(0.7 * us))


def _minute(
    current: dict[Place, Used],
    before: sim_processors.State,
    after: sim_processors.State,
    number: int,
    numbers: random.Random,
) -> None:
    def grown(name: str) -> int:
        threads = zip(before.threads, after.threads, strict=True)
        return sum(getattr(late, name) - getattr(early, name) for early, late in threads)

    cores = zip(before.cores, after.cores, strict=True)
    ran, busy = map(
        sum,
        zip(
            *(
                (core_after.thread_us - core_before.thread_us, core_after.busy_us - core_before.busy_us)
                for core_before, core_after in cores
            ),
            strict=True,
        ),
    )
    density = ran / busy
    # A thread next to another one does less than it would alone.
    alone = ((2 - density) + (density - 1) * after.maximum) / density
    load = sim.height(number)
    weights = {
        (guest.userid, vcpu): guest.weight / guest.vcpus * numbers.uniform(0.8, 1.2)
        for guest in GUESTS
        if here(guest, number)
        for vcpu in range(guest.vcpus)
    }
    totals = _deal(grown("user_us"), weights)
    virtual = _deal(grown("emulation_us"), weights)
    for place, us in totals.items():
        used = current[place]
        used.total_us += us
        used.virtual_us += virtual[place]
        used.mt1_us += round(us * alone)
        used.prorated_us += round(us / density)
        dispatches = round(us / SECOND * 700 * numbers.uniform(0.9, 1.1))
        used.dispatches += dispatches
        used.waited_us += round(dispatches * (1.5 + 18 * load**3))
        guest = next(candidate for candidate in GUESTS if candidate.userid == place[0])
        operations = round(60 * guest.dasd / guest.vcpus * load * numbers.uniform(0.9, 1.1))
        used.dasd += operations
        used.avoided += operations // 5
        for state in _sample_states(us / (60 * SECOND), load, numbers):
            used.states[state] = used.states.get(state, 0) + 1


def _deal(us: int, weights: Mapping[Place, float]) -> dict[Place, int]:
    """An amount dealt out by weight, exact to the microsecond."""
    total, cumulative, dealt = sum(weights.values()), 0.0, 0
    parts = {}
    for place, weight in weights.items():
        cumulative += weight
        part = round(us * cumulative / total) - dealt
        dealt += part
        parts[place] = part
    return parts


def _sample_states(running: float, load: float, numbers: random.Random) -> list[str]:
    """The states in which samples of a minute found a virtual processor that ran for this part of it."""
    waiting = running * 0.25 * load**2
    weights = {
        "CPURN": running,
        "CPUWT": waiting,
        "IOWT": 0.05 * load,
        "WTPAG": 0.02 * load**3,
        "SIMWT": 0.004,
        "CFWT": 0.002,
        "TIDL": 0.06,
        "IOACT": 0.03,
    }
    weights["DORM"] = max(0.02, 1 - sum(weights.values()))
    return numbers.choices(list(weights), list(weights.values()), k=SAMPLES)


# -- records -------------------------------------------------------------------------------------------------


def records(moment: Moment) -> Iterator[tuple[bool, bytes]]:
    """The records of guests at a moment: configuration, samples, logon, logoff and the relocation."""
    if moment.first:
        for guest in GUESTS:
            if here(guest, 0):
                yield (
                    True,
                    moment.configuration(
                        "D1R15",
                        _defined("MTRUSR", guest)
                        | {"MTRUSR_VMDCPUCT": guest.vcpus, "MTRUSR_CALIFLCT": guest.vcpus},
                    ),
                )
    used_by_place = states(moment.seed)[moment.number]
    logged_on = [guest for guest in GUESTS if sampled(guest, moment.number)]
    yield True, moment.record("D0R8", {"SYTUSR_SYSUSRS": len(logged_on), "SYTUSR_SRMCDORM": 2})
    queued = len(logged_on) - 2
    queues = {"SYTSCG_SRMCDISP": queued, "SYTSCG_SRMC1DSP": 1, "SYTSCG_SRMC3DSP": queued - 1}
    yield True, moment.record("D0R10", queues)
    for guest in logged_on:
        for vcpu in range(guest.vcpus):
            used = used_by_place[guest.userid, vcpu]
            yield True, moment.record("D4R3", _activity(moment, guest, vcpu, used))
            samples = {f"USEINT_HF{state}": count for state, count in used.states.items()}
            active = sum(count for state, count in used.states.items() if state != "DORM")
            samples["USEINT_HFDISP3"] = active
            values = {"USEINT_VMDUSER": guest.userid, "USEINT_VMDCPUAD": vcpu, **samples}
            yield True, moment.record("D4R4", values)
    yield from ((False, record) for record in _events(moment, used_by_place))


def _activity(moment: Moment, guest: Guest, vcpu: int, used: Used) -> dict[str, Any]:
    resident = round(guest.storage / 4096 * (0.6 + 0.05 * moment.load) / guest.vcpus)
    paged = moment.total(f"paged {guest.userid} {vcpu}", _PAGED * guest.weight / guest.vcpus)
    values = {
        "VMDUSER": guest.userid,
        "VMDCPUAD": vcpu,
        "VMDSLIST": 0x37,
        "VMDPUTYP": IFL,
        "VMDTTIME": used.total_us * TICK,
        "VMDVTIME": used.virtual_us * TICK,
        "VMDTTIME_MT1": used.mt1_us * TICK,
        "VMDVTIME_MT1": round(used.mt1_us * used.virtual_us / max(1, used.total_us)) * TICK,
        "VMDTTIME_PRO": used.prorated_us * TICK,
        "VMDVTIME_PRO": round(used.prorated_us * used.virtual_us / max(1, used.total_us)) * TICK,
        "ZLDSPWT": used.waited_us * TICK,
        "ZLDSPCT": used.dispatches % _WORD,
        "VMDVDSCT": used.dasd % _WORD,
        "VMDMDCIA": used.avoided % _WORD,
        "VMDCTPVG": resident,
        "VMDWSSPR": round(resident * 0.95),
        "CALCTPGS": round(resident * 0.08),
        "CALCPPGR": paged % _WORD,
        "CALCPPGW": paged // 2 % _WORD,
        "CALCPPST": paged // 2 % _WORD,
        "VMDCTFLT": paged * 9 // 8 % _WORD,
        "VMDRELSH": guest.share,
        "VMDACTNO": guest.account,
        "ASCDEFSZ": guest.storage,
        "CALTODON": _native.tod_from_unix_us(logon_us(guest)),
    }
    return {f"USEACT_{name}": value for name, value in values.items()}


def _defined(prefix: str, guest: Guest) -> dict[str, Any]:
    """The values that D1R15 and D4R1 both give for a guest."""
    return {
        f"{prefix}_VMDUSER": guest.userid,
        f"{prefix}_VMDRELSH": guest.share,
        f"{prefix}_VMDACTNO": guest.account,
        f"{prefix}_ASCDEFSZ": guest.storage,
        f"{prefix}_CALTODON": _native.tod_from_unix_us(logon_us(guest)),
    }


def _events(moment: Moment, used_by_place: Mapping[Place, Used]) -> Iterator[bytes]:
    guest = next(candidate for candidate in GUESTS if candidate.userid == VISITOR)
    if moment.number == COMES:
        yield moment.record("D4R1", _defined("USELON", guest), before_us=COMES_BEFORE_S * SECOND)
    if moment.number == GOES:
        for vcpu in range(guest.vcpus):
            used = used_by_place[VISITOR, vcpu]
            values = _defined("USELOF", guest) | {
                "USELOF_VMDCPUAD": vcpu,
                "USELOF_VMDTTIME": used.total_us * TICK,
                "USELOF_VMDVTIME": used.virtual_us * TICK,
                "USELOF_VMDTTIME_MT1": used.mt1_us * TICK,
                "USELOF_VMDTTIME_PRO": used.prorated_us * TICK,
            }
            yield moment.record("D4R2", values, before_us=GOES_BEFORE_S * SECOND)
    if moment.number == MOVED_AT:
        began_us = 50 * SECOND
        relocation: dict[str, Any] = {"ZLUSER": MOVED, "ZLFROM": sim.SYSTEM, "ZLTO": TARGET}
        started = {f"USERLS_{name}": value for name, value in relocation.items()}
        yield moment.record("D4R11", started, before_us=began_us)
        relocation |= {
            "ZLSTART": _native.tod_from_unix_us(moment.end_us - began_us),
            "ZLRLTM": 24 * SECOND * TICK,
        }
        relocation |= {"ZLQUTM": 0, "ZLPASS": 8, "ZLPAGE": 1_310_720, "ZLCODE": 4}
        ended = {f"USERLE_{name}": value for name, value in relocation.items()}
        yield moment.record("D4R12", ended, before_us=began_us - 24 * SECOND)
