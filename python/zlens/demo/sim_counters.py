"""Hardware counters of the second demo file: what each thread counted, and each core for its threads.

Cycles are those of the time that a thread ran, at the speed of the machine; all else follows from them in
the proportions of mixed work on a z15. The counters of a thread take two records, of which the first says
that the second continues it. That a core ran with one thread or with both, every thread of it tells alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from zlens.catalog import cpumf
from zlens.demo import sim, sim_processors
from zlens.demo.sim import Moment
from zlens.demo.sim_processors import CORES, IFL, THREADS

#: Cycles in a microsecond of a z15.
SPEED = 5200
GENERATION = "z15"
#: Bits of the counter sets in the mask of active ones, and that of the record that has a successor.
SETS = {"basic": 2, "problem": 4, "crypto": 8, "extended": 1}
MT_DIAGNOSTIC = 32
CONTINUED = 0x80
#: So much fits into the first of two records.
FIRST_BYTES = 1000

#: What is counted in a million cycles at no load, and how much more at full load, for caches are shared.
_PER_MILLION = {
    1: (520_000, -0.12), 2: (7_500, 0.10), 3: (96_000, 0.25), 4: (13_500, 0.10), 5: (205_000, 0.25),
    32: (300_000, 0.0), 33: (150_000, -0.12), 66: (40, 0.0), 67: (2_000, 0.0),
    129: (260, 0.1), 130: (9_500, 0.2), 133: (11_200, -0.02), 134: (110, 0.1), 135: (3_600, 0.2),
    136: (6_300, -0.02), 137: (190, 0.1), 143: (118_000, 0.25), 144: (1_900, 0.3), 145: (90, 0.4),
    156: (120, 0.4), 157: (8, 0.5), 162: (1_050, 0.3), 163: (45, 0.4),
}  # fmt: skip


@cache
def _totals(seed: int) -> tuple[tuple[dict[int, int], ...], ...]:
    """What every thread has counted at every moment of the hour."""
    states = sim_processors.states(seed)
    begin = sim.height(0)
    now = [_counted(_ran(states[0], cpu), begin) for cpu in range(CORES * THREADS)]
    found = [tuple(now)]
    for number in range(1, len(states)):
        load = sim.height(number)
        for cpu in range(CORES * THREADS):
            cycles = _ran(states[number], cpu) - _ran(states[number - 1], cpu)
            more = _counted(cycles, load)
            now[cpu] = {counter: value + more[counter] for counter, value in now[cpu].items()}
        found.append(tuple(now))
    return tuple(found)


def _ran(state: sim_processors.State, cpu: int) -> int:
    """Cycles in which a thread ran."""
    thread = state.threads[cpu]
    return (thread.user_us + thread.system_us) * SPEED


def _counted(cycles: int, load: float) -> dict[int, int]:
    rates = {counter: rate * (1 + load * slope) for counter, (rate, slope) in _PER_MILLION.items()}
    return {0: cycles} | {counter: round(cycles * rate / 1e6) for counter, rate in rates.items()}


def _bytes(names: Iterator[str], counted: dict[int, int]) -> bytes:
    known = cpumf.generation(GENERATION)
    sizes = cpumf.sizes(known.cfvn, known.csvn)
    numbers = ((cpumf.sets()[name].first, sizes[name] or 0) for name in names)
    return b"".join(
        counted.get(number, 0).to_bytes(8) for first, size in numbers for number in range(first, first + size)
    )


def records(moment: Moment) -> Iterator[tuple[bool, bytes]]:
    """Counters of every thread, and of the cores."""
    known = cpumf.generation(GENERATION)
    state = sim_processors.states(moment.seed)[moment.number]
    versions = {"ZLCFVN": known.cfvn, "ZLCSVN": known.csvn}
    for cpu in range(CORES * THREADS):
        data = _bytes(iter(SETS), _totals(moment.seed)[moment.number][cpu])
        for part in (data[:FIRST_BYTES], data[FIRST_BYTES:]):
            values = {
                "PRCMFC_ZLCPUAD": cpu,
                "PRCMFC_ZLCPUTY": IFL,
                "PRCMFC_ZLMORE": CONTINUED if part == data[:FIRST_BYTES] else 0,
                "PRCMFC_CCFCMFAC": sum(SETS.values()),
                "PRCMFC_ZLCPSP": SPEED,
                "PRCMFC_ZLCTROF": 40,
                "PRCMFC_ZLCTRLN": len(part),
                "PRCMFC_COUNTERS": part,
                **{f"PRCMFC_{name}": value for name, value in versions.items()},
            }
            yield True, moment.record("D5R13", values)
    for cpu in range(CORES * THREADS):
        core = state.cores[cpu // THREADS]
        both = core.thread_us - core.busy_us
        counted = {448: (core.busy_us - both) * SPEED, 449: both * SPEED}
        part = _bytes(iter(["mt_diag"]), counted)
        values = {
            "PRCMFM_ZLCPUAD": cpu,
            "PRCMFM_ZLTHRD": cpu % THREADS,
            "PRCMFM_ZLCORE": cpu // THREADS,
            "PRCMFM_CAL_MFMMASK": MT_DIAGNOSTIC,
            "PRCMFM_ZLMTDOF": 36,
            "PRCMFM_ZLMTDLN": len(part),
            "PRCMFM_ZLCTRS": part,
            **{f"PRCMFM_{name}": value for name, value in versions.items()},
        }
        yield True, moment.record("D5R20", values)
