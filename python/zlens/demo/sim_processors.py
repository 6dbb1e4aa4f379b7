"""Processors and cores of the second demo file: six IFL cores of a shared partition, with two threads each.

Four cores are vertical high, one is medium and one low. The low one is parked while the load is small. A
core follows the two-state model of multithreading: with one thread running it does the work of one,
with both that of the maximum capacity factor. For every thread and minute, user + system + wait + parked
equals elapsed, and the time of a core's threads follows its thread density. The I/O they start is that of
the disks of `sim_io`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from zlens import _native
from zlens.demo import sim, sim_io, sim_store
from zlens.demo.machine import IFL
from zlens.demo.sim import MINUTE, TICK, Moment

CORES = 6
THREADS = 2
#: Polarization in STSI's code, and the partition's entitlement in percent of a physical core.
POLARITY = (3, 3, 3, 3, 2, 1)
ENTITLED = (100, 100, 100, 100, 50, 0)
LOW = 5
#: Below this load the low core is parked.
PARKED_BELOW = 0.55
#: Work of both threads together relative to that of one.
MAXIMUM = 1.42
#: Interval of decisions on parking; z/VM makes one every two seconds.
DECISION_S = 30

#: A timer that counts down starts here.
TIMER_START = 0x7FFF_FFFF_FFFF_FFFF
#: Initial counters when monitoring started, in minutes of the first one's load.
BEFORE = 400

_MULTITHREADING_ON = 3
#: Counts of a thread per second of running.
_RATES = {
    "entries": 2400, "fast": 260, "successes": 900, "paths": 700, "codes": 420, "signals": 130,
    "yields": 35, "resumes": 60, "page_ins": 34, "external": 240, "users": 0.9,
}  # fmt: skip


@dataclass
class Thread:
    """One logical processor; times in microseconds, cumulative as the counts are."""

    user_us: int = 0
    emulation_us: int = 0
    system_us: int = 0
    wait_us: int = 0
    parked_us: int = 0
    spin_us: int = 0
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def ran_us(self) -> int:
        return self.user_us + self.system_us

    def add(self, name: str, amount: float) -> None:
        self.counts[name] = self.counts.get(name, 0) + max(0, round(amount))

    def copy(self) -> Thread:
        return Thread(
            self.user_us, self.emulation_us, self.system_us, self.wait_us, self.parked_us, self.spin_us,
            dict(self.counts),
        )  # fmt: skip


@dataclass
class Core:
    """One core: its threads taken together; ratios are of the last minute."""

    sampled_us: int = 0
    busy_us: int = 0
    thread_us: int = 0
    productivity: float = 0.0

    def copy(self) -> Core:
        return Core(self.sampled_us, self.busy_us, self.thread_us, self.productivity)


@dataclass
class State:
    """All processors at one moment."""

    cores: list[Core]
    threads: list[Thread]
    maximum: float
    factor: float

    def copy(self) -> State:
        return State(
            [core.copy() for core in self.cores],
            [thread.copy() for thread in self.threads],
            self.maximum,
            self.factor,
        )


def parked(load: float) -> bool:
    return load < PARKED_BELOW


@cache
def states(seed: int) -> tuple[State, ...]:
    """The processors at every moment of the hour."""
    numbers = random.Random(f"processors {seed}")
    threads = [Thread() for _ in range(CORES * THREADS)]
    state = State([Core() for _ in range(CORES)], threads, MAXIMUM, 1.0)
    for _ in range(BEFORE):
        _minute(state, sim.height(0), numbers)
    history = [state.copy()]
    for number in range(1, sim.MINUTES + 1):
        before = [thread.ran_us for thread in threads]
        _minute(state, sim.height(number), numbers)
        ran = [thread.ran_us - earlier_us for thread, earlier_us in zip(threads, before, strict=True)]
        _add_starts(threads, ran, sim_io.operations(seed, number) - sim_io.operations(seed, number - 1))
        history.append(state.copy())
    return tuple(history)


def _add_starts(threads: list[Thread], ran: list[int], operations: int) -> None:
    """The disks' operations of a minute, started in proportion to running time; the first gets the rest."""
    shares = [operations * us // sum(ran) for us in ran]
    shares[0] += operations - sum(shares)
    for thread, share in zip(threads, shares, strict=True):
        thread.add("ssch", share)


def _minute(state: State, load: float, numbers: random.Random) -> None:
    state.maximum = MAXIMUM * numbers.uniform(0.97, 1.03)
    work = busy_all = 0.0
    for number, core in enumerate(state.cores):
        threads = state.threads[number * THREADS : (number + 1) * THREADS]
        if number == LOW and parked(load):
            core.productivity = 0.0
            for thread in threads:
                thread.parked_us += MINUTE
            continue
        busy = min(0.985, load * numbers.uniform(0.93, 1.07) * (0.9 if number > 3 else 1.0))
        density = 1 + min(0.9, 0.92 * busy * numbers.uniform(0.95, 1.05))
        busy_us = round(MINUTE * busy)
        ran = [round(busy_us * density * share) for share in (0.51, 0.49)]
        core.sampled_us += MINUTE
        core.busy_us += busy_us
        core.thread_us += sum(ran)
        rate = (2 - density) + (density - 1) * state.maximum
        core.productivity = rate / state.maximum
        work += rate * busy
        busy_all += busy
        for thread, us in zip(threads, ran, strict=True):
            _run_thread(thread, us, numbers)
    state.factor = work / busy_all


def _run_thread(thread: Thread, us: int, numbers: random.Random) -> None:
    """Add a minute in which a thread ran for this long."""
    system = round(us * 0.03 * numbers.uniform(0.9, 1.1))
    user = us - system
    emulation = round(user * 0.92 * numbers.uniform(0.99, 1.01))
    thread.system_us += system
    thread.user_us += user
    thread.emulation_us += emulation
    thread.wait_us += MINUTE - us
    thread.spin_us += round(us * 0.002)
    seconds, cp = us / sim.SECOND, (us - emulation) / sim.SECOND

    def vary() -> float:
        return numbers.uniform(0.96, 1.04)

    for name, rate in _RATES.items():
        thread.add(name, seconds * rate * vary())
    thread.add("simulated", cp * 33_000 * vary())
    thread.add("diagnose", cp * 1500 * vary())
    thread.add("yielded", cp * 240 * vary())
    thread.add("steals", seconds * 18 * vary())
    thread.add("samples", 30)
    thread.add("empty", 30 * (1 - us / MINUTE))


def records(moment: Moment) -> Iterator[tuple[bool, bytes]]:
    """Configuration, processors and the system's counters; decisions on parking as events."""
    state = states(moment.seed)[moment.number]
    if moment.first:
        yield from ((True, record) for record in _configuration(moment))
    for cpu in range(CORES * THREADS):
        yield from ((True, record) for record in _processor(moment, state, cpu))
    yield True, _system(moment)
    if not moment.first:
        for number in range(60 // DECISION_S):
            yield False, _decision(moment, state, number)


def _configuration(moment: Moment) -> Iterator[bytes]:
    tod = _native.tod_from_unix_us
    yield moment.configuration(
        "D1R4",
        {
            "MTRSYS_HCPCPEID": "ZLENSSIM",
            "MTRSYS_SYSTODST": tod(sim.IPL_US),
            "MTRSYS_SYSZONE": sim.ZONE_S,
            "MTRSYS_SYSTMID": sim.SYSTEM,
            "MTRSYS_SYSMTYPE": sim.MACHINE_TYPE,
            "MTRSYS_SYSMMODL": sim.MODEL,
            "MTRSYS_SYSMSEQC": sim.SERIAL,
            "MTRSYS_SYSMPOM": "ZL",
            "MTRSYS_LPNUMBER": 1,
            "MTRSYS_CPUCHAR": 0x40,
            "MTRSYS_CPUCOUNT": CORES,
            "MTRSYS_CPUCFGCT": CORES,
            "MTRSYS_LPARNAME": sim.SYSTEM,
            "MTRSYS_LPARCAF": 500,
            "MTRSYS_CPUSHARD": CORES,
            "MTRSYS_CPUCAPAB": 232,
            "MTRSYS_SCPCAPAB": 232,
            "MTRSYS_ZLMTSTAT": _MULTITHREADING_ON,
            "MTRSYS_ZLMTCP": 1,
            "MTRSYS_ZLMTIFL": THREADS,
            "MTRSYS_ZLMTICF": 1,
            "MTRSYS_ZLMTZIIP": 1,
            "MTRSYS_ZLCFGMOD": 1,
            "MTRSYS_ZLRCPTOT": 34,
            "MTRSYS_ZLRCPCFG": 12,
            "MTRSYS_ZLRCPRSV": 22,
        },
    )
    yield moment.configuration("D1R9", {"MTRSPR_INTERVAL": 60, "MTRSPR_HFRATE": 200})
    for cpu in range(CORES * THREADS):
        values = {
            "MTRPRP_PFXCPUAD": cpu,
            "MTRPRP_PFXIDSER": bytes.fromhex("0D3E01"),
            "MTRPRP_PFXCPUTY": IFL,
            "MTRPRP_ZLCORE": cpu // THREADS,
            "MTRPRP_ZLTHRD": cpu % THREADS,
            "MTRPRP_ZLSTATUS": int(cpu > 0),
        }
        yield moment.configuration("D1R5", values)
    yield moment.configuration("D1R16", _settings())
    cores = [
        {
            "MTRTOP_ZLCORE": core,
            "MTRTOP_ZLTYPE": IFL,
            "MTRTOP_ZLPOLAR": POLARITY[core],
            "MTRTOP_ZLNEST3": 1,
            "MTRTOP_ZLNEST2": 1 + core // 4,
            "MTRTOP_ZLNEST1": 1 + core // 2,
        }
        for core in range(CORES)
    ]
    yield moment.configuration("D1R26", {}, {"CORES": cores})


def _settings() -> dict[str, Any]:
    settings = {"LIMIT": 1, "DSPWD": 1, "POLAR": 1, "GPD": 1, "MTSTAT": 3, "MTRQMX": 255, "MTACMX": THREADS}
    settings |= {"EXUIFL": 2, "PADIFL": 100, "UNPARK": 2}
    for kind in ("CP", "IFL", "ICF", "ZIIP"):
        level = THREADS if kind == "IFL" else 1
        settings |= {f"THW{kind}": 2, f"TRQ{kind}": 255, f"TSY{kind}": level, f"TAC{kind}": level}
    srm = {"BIASI": 90, "BIASD": 2, "TSLIC": 5_000 * TICK}
    for n, loading, storage in ((1, 100, 300), (2, 75, 250), (3, 60, 200)):
        srm |= {f"P{n}LDG": loading, f"P{n}WSS": storage, f"L{n}DSP": 32767}
    return {f"MTRSCH_ZL{name}": value for name, value in settings.items()} | {
        f"MTRSCH_SRM{name}": value for name, value in srm.items()
    }


def _processor(moment: Moment, state: State, cpu: int) -> Iterator[bytes]:
    thread, number = state.threads[cpu], cpu // THREADS
    core = state.cores[number]
    count = {name: value % 2**32 for name, value in thread.counts.items()}
    get = count.get
    yield moment.record(
        "D0R1",
        {
            "SYTSYP_PFXCPUAD": cpu,
            "SYTSYP_PFXCPUTY": IFL,
            "SYTSYP_PLSPRVIS": get("simulated", 0),
            "SYTSYP_PLSDIAGT": get("diagnose", 0),
            "SYTSYP_PLSEXTNX": get("external", 0),
            "SYTSYP_PLSCTSS": get("ssch", 0),
            **sim_store.paged(moment, cpu, CORES * THREADS),
        },
    )
    yield moment.record(
        "D0R2",
        {
            "SYTPRP_PFXCPUAD": cpu,
            "SYTPRP_PFXCPUTY": IFL,
            "SYTPRP_PFXPRBTM": TIMER_START - thread.emulation_us * TICK,
            "SYTPRP_PFXUTIME": thread.user_us * TICK,
            "SYTPRP_PFXTMSYS": thread.system_us * TICK,
            "SYTPRP_PFXTOTWT": thread.wait_us * TICK,
            "SYTPRP_PFXRUNCI": get("entries", 0),
            "SYTPRP_PFXRUNPF": get("fast", 0),
            "SYTPRP_PFXRUNCP": get("entries", 0),
            "SYTPRP_PFXSPINT": thread.spin_us * TICK,
            "SYTPRP_PFXFSTPX": get("paths", 0),
            "SYTPRP_PFXFSTXC": get("codes", 0),
            "SYTPRP_PFXFSTSG": get("signals", 0),
            "SYTPRP_PFXFST44": get("yields", 0),
            "SYTPRP_PLSFPPFSUCCESS": get("successes", 0),
            "SYTPRP_PLSWRUCP": get("resumes", 0),
            "SYTPRP_ZLCORE": number,
            "SYTPRP_ZLTHRD": cpu % THREADS,
            "SYTPRP_ZLPOLAR": POLARITY[number],
            "SYTPRP_ZLDVID": number.to_bytes(2, "big"),
            "SYTPRP_ZLENTITL": 100 * ENTITLED[number],
            "SYTPRP_ZLDIAG9C": get("yielded", 0),
            "SYTPRP_ZLPARKTM": thread.parked_us * TICK,
            "SYTPRP_ZLCSAMPT": core.sampled_us * TICK,
            "SYTPRP_ZLCBUSYT": core.busy_us * TICK,
            "SYTPRP_ZLCTHRDT": core.thread_us * TICK,
            "SYTPRP_ZLCPRODN": round(1024 * core.productivity),
            "SYTPRP_ZLTCAPFN": round(1024 * state.factor),
            "SYTPRP_ZLTMAXFN": round(1024 * state.maximum),
        },
    )
    yield moment.record(
        "D0R11",
        {
            "SYTCOM_PFXCPUAD": cpu,
            "SYTCOM_PFXCPUTY": IFL,
            "SYTCOM_PLSISEVM": get("external", 0) // 9,
            "SYTCOM_ZLSIGP": get("signals", 0),
            "SYTCOM_ZLMSGS": get("external", 0) // 30,
        },
    )
    yield moment.record(
        "D3R2",
        {
            "STORSP_PFXCPUAD": cpu,
            "STORSP_PFXCPUTY": IFL,
            "STORSP_ZLBLW2G": get("resumes", 0) // 40,
            "STORSP_ZLPGIN": get("page_ins", 0),
            "STORSP_ZLPGINF": get("page_ins", 0) * 9 // 10,
        },
    )
    yield moment.record(
        "D5R11",
        {
            "PRCINS_PFXCPUAD": cpu,
            "PRCINS_PLSPRVLP": get("simulated", 0) // 9,
            "PRCINS_PLSLPSWE": get("simulated", 0) // 3,
            "PRCINS_PLSSTFLE": get("simulated", 0) // 90_000,
            "PRCINS_PLSVIESB": get("simulated", 0) // 2,
        },
    )
    yield moment.record(
        "D5R17",
        {
            "PRCRCD_PFXCPUAD": cpu,
            "PRCRCD_PFXCPUTY": IFL,
            "PRCRCD_HFCOUNT": get("samples", 0),
            "PRCRCD_HFUSERZ": get("empty", 0),
            "PRCRCD_HFUSERC": get("users", 0),
            "PRCRCD_ZLSTEAL": get("steals", 0),
        },
    )
    yield moment.record(
        "D5R12",
        {
            "PRCDIA_PFXCPUAD": cpu,
            "PRCDIA_PLSDGX9C": get("yielded", 0),
            "PRCDIA_PLSDGX44": get("yields", 0),
            "PRCDIA_PLSTOTDI": get("diagnose", 0),
        },
    )


def _system(moment: Moment) -> bytes:
    """Capability, and the counts of the whole system."""
    rates = {
        "TSDROP": 6, "SVCREF": 0.2, "DIAGIO": 9, "FPPART": 130, "9CNRDY": 0.4, "9CWAIT": 11, "9CSOFT": 0.2,
        "9CDISP": 160, "SIEINT": 5200, "ENWAIT": 2900, "HPFWRT": 40, "HPFDON": 95, "FRSUBB": 2, "FRTOTB": 2,
        "FRSUBA": 3100, "FRTOTA": 3105, "FCLEAR": 12, "AVREQB": 1, "AVREQA": 55,
    }  # fmt: skip
    values = {f"SYTSYG_ZL{name}": moment.total(name, rate, 10_000) % 2**32 for name, rate in rates.items()}
    values |= {
        "SYTSYG_XCTMSACT": (moment.end_us - sim.IPL_US) // 1000,
        "SYTSYG_FTRDONE": moment.total("FTRDONE", 3.5, 5_000),
        "SYTSYG_CPUCAPAB": 232,
        "SYTSYG_SCPCAPAB": 232,
        "SYTSYG_CPUCOUNT": CORES,
        "SYTSYG_CPUCFGCT": CORES,
        "SYTSYG_ZLNOMCAP": 232,
        "SYTSYG_ZLCAPIND": 100,
    }
    return moment.record("D0R19", values)


def _decision(moment: Moment, state: State, number: int) -> bytes:
    """The number of cores to leave unparked, from the load of this minute."""
    unparked = CORES - int(parked(moment.load))
    stanza = {
        "PRCPUP_ZLTYPE": IFL,
        "PRCPUP_ZLEXU": 2,
        "PRCPUP_ZLPAD": 100,
        "PRCPUP_ZLONLINE": CORES,
        "PRCPUP_ZLUNPARK": unparked,
        "PRCPUP_ZLENTITL": 100 * sum(ENTITLED),
        "PRCPUP_ZLPROJLD": round(10_000 * moment.load * unparked * moment.wiggle(f"load {number}")),
        "PRCPUP_ZLPROJXP": round(15_000 * moment.wiggle(f"excess {number}")),
        "PRCPUP_ZLMASK": ((1 << unparked) - 1 << 64 - unparked).to_bytes(8, "big"),
    }
    before = MINUTE - number * DECISION_S * sim.SECOND - sim.SECOND
    return moment.record("D5R16", {}, {"TYPES": [stanza]}, before_us=before)
