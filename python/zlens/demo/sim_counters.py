"""Hardware counters of the second demo file: the counts of each thread, and of each core for its threads.

Cycles are those of the time that a thread ran, at the speed of the machine; everything else follows from them
in the proportions of mixed work on a z15. The counters of a thread take two records, the first of which says
that the second continues it. Every thread of a core gives the same times with one thread and with both.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from zlens.catalog import cpumf
from zlens.demo import sim, sim_processors
from zlens.demo.machine import IFL
from zlens.demo.sim import Moment
from zlens.demo.sim_processors import CORES, THREADS

#: Cycles per microsecond of a z15.
SPEED = 5200
GENERATION = "z15"
#: Bits of the counter sets in the mask of active ones, and the bit that marks a record with a successor.
SETS = {"basic": 2, "problem": 4, "crypto": 8, "extended": 1}
MT_DIAGNOSTIC = 32
CONTINUED = 0x80
#: Bytes that fit into the first of two records.
FIRST_BYTES = 1000

#: Counts per million cycles without load, and their growth at full load, because caches are shared.
_PER_MILLION = {
    1: (520_000, -0.12), 2: (7_500, 0.10), 3: (96_000, 0.25), 4: (13_500, 0.10), 5: (205_000, 0.25),
    32: (300_000, 0.0), 33: (150_000, -0.12), 66: (40, 0.0), 67: (2_000, 0.0),
    129: (260, 0.1), 130: (9_500, 0.2), 133: (11_200, -0.02), 134: (110, 0.1), 135: (3_600, 0.2),
    136: (6_300, -0.02), 137: (190, 0.1), 143: (118_000, 0.25), 144: (1_900, 0.3), 145: (90, 0.4),
    156: (120, 0.4), 157: (8, 0.5), 162: (1_050, 0.3), 163: (45, 0.4),
}  # fmt: skip


@cache
def _totals(seed: int) -> tuple[tuple[dict[int, int], ...], ...]:
    """The counts of every thread at every moment of the hour."""
    states = sim_processors.states(seed)
    begin = sim.height(0)
    current = [_counts_for(_ran(states[0], cpu), begin) for cpu in range(CORES * THREADS)]
    totals = [tuple(current)]
    for number in range(1, len(states)):
        load = sim.height(number)
        for cpu in range(CORES * THREADS):
            cycles = _ran(states[number], cpu) - _ran(states[number - 1], cpu)
            growth = _counts_for(cycles, load)
            current[cpu] = {counter: value + growth[counter] for counter, value in current[cpu].items()}
        totals.append(tuple(current))
    return tuple(totals)


def _ran(state: sim_processors.State, cpu: int) -> int:
    """Cycles in which a thread ran."""
    thread = state.threads[cpu]
    return (thread.user_us + thread.system_us) * SPEED


def _counts_for(cycles: int, load: float) -> dict[int, int]:
    rates = {counter: rate * (1 + load * slope) for counter, (rate, slope) in _PER_MILLION.items()}
    return {0: cycles} | {counter: round(cycles * rate / 1e6) for counter, rate in rates.items()}


def _bytes(names: Iterator[str], counts: dict[int, int]) -> bytes:
    generation = cpumf.generation(GENERATION)
    sizes = cpumf.sizes(generation.cfvn, generation.csvn)
    numbers = ((cpumf.sets()[name].first, sizes[name] or 0) for name in names)
    return b"".join(
        counts.get(number, 0).to_bytes(8) for first, size in numbers for number in range(first, first + size)
    )


def records(moment: Moment) -> Iterator[tuple[bool, bytes]]:
    """Counters of every thread, and of the cores."""
    generation = cpumf.generation(GENERATION)
    state = sim_processors.states(moment.seed)[moment.number]
    versions = {"ZLCFVN": generation.cfvn, "ZLCSVN": generation.csvn}
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
        both_us = core.thread_us - core.busy_us
        counts = {448: (core.busy_us - both_us) * SPEED, 449: both_us * SPEED}
        part = _bytes(iter(["mt_diag"]), counts)
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
