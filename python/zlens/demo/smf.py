"""The demo machine's hour as recorded by its z/OS partition: an SMF dump, mostly records of counters.

Cycles follow from the dispatch time of the partition's processors, at the speed of the machine; everything
else follows from them in the proportions of a z10 with one book under mixed work. All values are sums of
integers, so an interval's records contain exactly the difference of the totals.
"""

from __future__ import annotations

import random

from zlens._native import SmfWriter, tod_from_unix_us
from zlens.catalog import smf, smf_record
from zlens.catalog.smf_record import CounterSetValues
from zlens.demo import machine
from zlens.demo.machine import MachineMinute
from zlens.demo.smf_hiperdispatch import HiperDispatchWriter
from zlens.demo.smf_rmf import QuarterHourWriter

#: Cycles per microsecond of a z10 EC.
SPEED = 4404
#: Counter versions of a z10, and its counter sets with their first numbers and sizes.
VERSION1 = VERSION2 = 1
SETS = (("basic", 0, 6), ("problem", 32, 6), ("crypto", 64, 16), ("extended", 128, 32))
#: The counter run started two days before the hour.
RUN_US = machine.START_US - 2 * 86_400 * machine.SECOND - 17 * machine.MINUTE
#: Fraction of the run for which each processor was busy.
_PACE = 0.3
#: This many minutes are in both subtypes, the rest only in the first.
BOTH_MINUTES = 15
#: Length of a data section without the number of the core, as before multithreading.
_SHORT_DATA = 76
_MACHINE = {
    "MACHTYPE": machine.MACHINE_TYPE,
    "MACHMODEL": f"{machine.HARDWARE_MODEL}-{machine.MODEL}",
    "MACHSEQCODE": machine.SERIAL,
}
#: Records are written this long after their interval end.
_LATE_US = 21_000

Counts = dict[int, int]


class DemoDumpWriter:
    """Reads the minutes and writes the counters of the z/OS partition."""

    def __init__(self, path: str, seed: int) -> None:
        # Separate random numbers, so that the other files stay the same.
        self.random = random.Random(f"smf {seed}")
        self.layout = smf.layout(smf.counter_record_type())
        self.writer = SmfWriter(path)
        self.totals: list[Counts] = []
        self.dispatched: list[int] = []
        self.end_us = 0
        #: The records of RMF and of address spaces describe the same hour.
        self.quarters = QuarterHourWriter(seed)
        self.dispatching = HiperDispatchWriter()

    def add_minute(self, minute: MachineMinute) -> None:
        """Process a completed minute."""
        self.end_us = minute.end_us
        busy = minute.use(machine.ZOS_PARTITION).effective_us
        if minute.number == 0:
            self.writer.write([_mark(2, minute.end_us)])
            self.totals = [self.counter_values(round((minute.end_us - RUN_US) * _PACE), _PACE) for _ in busy]
            self.dispatched = list(busy)
            self.quarters.add_minute(minute)
            self.writer.write(self.dispatching.add_minute(minute))
            return
        load = sum(busy) - sum(self.dispatched)
        load_share = load / (len(busy) * machine.MINUTE)
        records: list[bytes] = []
        totals: list[bytes] = []
        for cpu, us in enumerate(busy):
            counts = self.counter_values(us - self.dispatched[cpu], load_share)
            for number, count in counts.items():
                self.totals[cpu][number] += count
            self.quarters.instructions += counts[1]
            records.append(self.record(1, cpu, minute, counts))
            if minute.number <= BOTH_MINUTES:
                totals.append(self.record(2, cpu, minute, self.totals[cpu]))
        self.dispatched = list(busy)
        self.writer.write([*records, *totals, *self.quarters.add_minute(minute)])
        self.writer.write(self.dispatching.add_minute(minute))

    def finish(self) -> None:
        self.writer.write([_mark(3, self.end_us)])
        self.writer.finish()

    def record(self, subtype: int, cpu: int, minute: MachineMinute, counts: Counts) -> bytes:
        written = minute.end_us + _LATE_US + 140 * cpu
        first, second = ("CTRVERSION1", "CTRVERSION2") if subtype == 1 else ("CTRVN1", "CTRVN2")
        values = {
            **{"PNM": "HIS", "OSL": "SP7.1.1", "JBN": "HIS", "STP": "HIS"},
            "INTERVALSTART": tod_from_unix_us(minute.end_us - machine.MINUTE),
            "INTERVALEND": tod_from_unix_us(minute.end_us),
            "CTS": tod_from_unix_us(RUN_US),
            "CTM": tod_from_unix_us(written),
            "CPUID": cpu,
            "CPUPROCCLASS": 0,
            "CPUSPEED" if subtype == 1 else "CPSP": SPEED,
            first: VERSION1,
            second: VERSION2,
            **_MACHINE,
        }
        if subtype == 2:
            values |= {"CPUNUM": cpu, "CFM": True}
        sets = [
            CounterSetValues(name, [counts.get(n, 0) for n in range(start, start + size)])
            for name, start, size in SETS
        ]
        return smf_record.encode(
            self.layout,
            subtype,
            system=machine.ZOS_SYSTEM,
            local_us=written + machine.ZONE_S * machine.SECOND,
            values=values,
            sets=sets,
            short_data=_SHORT_DATA if subtype == 1 else None,
        )

    # Counters -------------------------------------------------------------------------------------------

    def counter_values(self, busy_us: int, load: float) -> Counts:
        """Return the counters of a processor for this time; more load means more waits for memory."""
        vary = self.random.uniform
        cycles = busy_us * SPEED
        # Waiting for caches and memory grows with the load; the time of an instruction itself does not.
        waits = (1.65 + 1.1 * load) * vary(0.97, 1.03)
        instructions = round(cycles / (2.45 * vary(0.99, 1.01) + waits))
        problem = 0.46 + 0.10 * load + vary(-0.015, 0.015)
        counts = {0: cycles, 1: instructions}
        misses = instructions * (0.031 + 0.009 * load) * vary(0.98, 1.02)
        counts[2] = round(misses * 0.44 * vary(0.99, 1.01))
        counts[4] = round(misses) - counts[2]
        # Of the cycles lost to misses, 84% lengthen the run; the others overlap with other waits.
        lost = instructions * waits / 0.84
        counts[3] = round(lost * 0.41)
        counts[5] = round(lost) - counts[3]
        shares = {32: problem * 0.93, 33: problem, 34: 0.38, 35: 0.36, 36: 0.41, 37: 0.4}
        for number, share in shares.items():
            counts[number] = int(counts[number - 32] * share * (1 if number == 33 else vary(0.985, 1.0)))
        counts |= self.crypto(busy_us, load)
        return counts | self.extended(counts, load)

    def crypto(self, busy_us: int, load: float) -> Counts:
        """Return functions, cycles, blocked functions and blocked cycles; two cores share a coprocessor."""
        seconds = busy_us / machine.SECOND
        counts: Counts = {}
        for first, rate, cycles in ((64, 3, 2600), (68, 900, 1450), (72, 2300, 1100), (76, 1500, 950)):
            functions = round(seconds * rate * (0.6 + 0.8 * load) * self.random.uniform(0.9, 1.1))
            blocked = round(functions * 0.012 * (0.5 + load))
            counts[first] = functions
            counts[first + 1] = round(functions * cycles * self.random.uniform(0.96, 1.04))
            counts[first + 2] = blocked
            counts[first + 3] = round(blocked * cycles * 0.55)
        return counts

    def extended(self, counts: Counts, load: float) -> Counts:
        """Return the sources of first-level cache lines, and the counters of the translation buffer."""
        vary = self.random.uniform
        lines: Counts = {}
        near = (0.745 - 0.05 * load) * vary(0.99, 1.01)
        memory = (0.024 + 0.02 * load) * vary(0.95, 1.05)
        for misses, nearest, own_book, own_memory in ((counts[2], 128, 130, 135), (counts[4], 129, 131, 134)):
            lines[nearest] = round(misses * near)
            lines[own_memory] = round(misses * memory)
            # One book: lines in none of its caches are in its memory, and none come from another book.
            lines[own_book] = misses - lines[nearest] - lines[own_memory]
        lines[136] = round(counts[4] * 0.055 * vary(0.95, 1.05))
        lines[137] = round(counts[2] * 0.002 * vary(0.9, 1.1))
        lines[138] = round(counts[1] * 0.0009 * vary(0.97, 1.03))
        lines[139] = round(counts[1] * 0.0034 * vary(0.97, 1.03))
        entries = lines[138] + lines[139]
        lines[140] = round(entries * 0.13 * vary(0.95, 1.05))
        lines[141] = round(entries * 0.021 * vary(0.95, 1.05))
        lines[145] = round(lines[138] * 41 * vary(0.97, 1.03))
        lines[146] = round(lines[139] * 53 * vary(0.97, 1.03))
        lines[147] = round(counts[1] * 0.19 * vary(0.98, 1.02))
        return lines


def _mark(record: int, time_us: int) -> bytes:
    """Return the first or the last record of a dump, which have no subtype."""
    local = time_us + machine.ZONE_S * machine.SECOND
    header = bytearray(smf_record.header(record, 0, machine.ZOS_SYSTEM, local)[:18])
    # Clear the flag for a subtype.
    header[4] &= ~0x40
    return bytes(header)
