"""The machine of the demo files: one seeded hour in whole microseconds, so that balances hold exactly.

A z10 with four IFLs and three CPs runs three partitions: ZLDEMO (z/VM, four logical IFLs), ZLTEST (two
logical IFLs) and ZLZOS (z/OS system ZLZ1, three logical CPs). The hour has a story: load rises toward
nine, a batch guest logs on, and at the peak an operator varies processor 3 off and, minutes
later, on again.

For every processor and minute: user + system + wait + suspended = elapsed. The guests' CPU time adds up to
the processors' user time. A processor's busy time is the time for which the hypervisor dispatched it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from zlens.catalog import codes

SECOND = 1_000_000
MINUTE = 60 * SECOND
MINUTES = 60
#: 2010-03-09 07:30:00 UTC, in the morning of a system one hour east of Greenwich.
START_US = 1_268_119_800 * SECOND
ZONE_S = 3600
IPL_US = START_US - 9 * 86_400 * SECOND - 4 * 3600 * SECOND - 1_234_567

SYSTEM = "ZLDEMO"
#: The z/OS partition, and the name of its system in SMF, which has at most four characters.
ZOS_PARTITION = "ZLZOS"
ZOS_SYSTEM = "ZLZ1"
MACHINE_TYPE = "2097"
MODEL = "703"
HARDWARE_MODEL = "E12"
SERIAL = "00000000000D3E01"
#: Service units per hour of the three CPs together.
MSU_CAPACITY = 315

#: Code of an IFL in records of z/VM.
IFL = int(codes.code("cpu_type", "IFL"))

#: Seconds after the start at which things happen.
VARY_OFF_S = 37 * 60 + 20
VARY_ON_S = 43 * 60 + 40
BATCH_ON_S = 34 * 60 + 31
BATCH_OFF_S = 51 * 60 + 12
DEVICE_OFF_S = 22 * 60 + 5
DEVICE_ON_S = 24 * 60 + 50
VARIED_CPU = 3
BATCH = "LNXBAT01"


@dataclass
class Guest:
    """A virtual machine. Rates are per second of its own virtual time, times are cumulative since logon."""

    name: str
    vcpus: int
    storage_mb: int
    base: float  # processors' worth of virtual time at the start of the hour
    peak: float  # and at its height
    overhead: float  # CP time on its behalf, per virtual time
    io: float
    pages: float
    logon_us: int
    account: str = "SYSTEMS"
    virtual_us: int = 0
    total_us: int = 0
    ios: int = 0
    page_reads: int = 0
    page_writes: int = 0
    backlog_us: float = 0.0
    logged_on: bool = True


@dataclass
class Processor:
    """A logical processor of ZLDEMO; times and counts are cumulative since it was brought online."""

    address: int
    online: bool = True
    emulation_us: int = 0
    user_us: int = 0
    system_us: int = 0
    wait_us: int = 0
    spin_us: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    #: Cumulative since the partition was activated, as the hypervisor counts: not reset by VARY.
    dispatched_us: int = 0
    management_us: int = 0

    def reset(self) -> None:
        self.emulation_us = self.user_us = self.system_us = self.wait_us = self.spin_us = 0
        self.counts = {}

    def add(self, name: str, amount: float) -> None:
        self.counts[name] = self.counts.get(name, 0) + max(0, round(amount))


@dataclass
class OtherPartition:
    name: str
    number: int
    kind: str
    weight: int
    busy: float  # mean use of one logical processor
    dispatched_us: list[int]
    management_us: list[int]


@dataclass
class Device:
    number: int
    volume: str
    use: str  # "page" or "data"
    io: float  # starts per second at the start of the hour
    connect: float  # units of 128 microseconds per start
    disconnect: float
    pending: float
    starts: int = 0
    connect_units: int = 0
    disconnect_units: int = 0
    pending_units: int = 0
    queue_samples: int = 0
    queued: int = 0
    online: bool = True


@dataclass
class Event:
    time_us: int
    kind: str  # "vary_off", "vary_on", "logon", "logoff", "device_off", "device_on", "transaction"
    guest: Guest | None = None
    cpu: int | None = None
    device: Device | None = None
    #: The guest's cumulative virtual and total time at the event.
    virtual_us: int = 0
    total_us: int = 0


@dataclass
class Minute:
    """The state at the end of one minute; `number` 0 is the first sample, before any minute has passed."""

    number: int
    end_us: int
    events: list[Event]
    elapsed_us: dict[int, int]
    busy_pct: dict[int, float]


class Hour:
    """The whole machine; `minutes()` advances it minute by minute, and yields after each."""

    def __init__(self, seed: int = 530) -> None:
        self.random = random.Random(seed)
        self.guests = _guests()
        self.processors = [Processor(address) for address in range(4)]
        self.others = [
            OtherPartition("ZLTEST", 2, "IFL", 300, 0.16, [0, 0], [0, 0]),
            OtherPartition(ZOS_PARTITION, 3, "CP", 900, 0.61, [0, 0, 0], [0, 0, 0]),
        ]
        #: Own management time of the hypervisor, per physical processor: four IFLs, three CPs.
        self.physical_us = [0] * 7
        self.devices = _devices()
        self.page_reads = 0
        self.page_writes = 0
        #: Of all processors since IPL: the counters of CP's locks.
        self.lock_spins = 0
        self.lock_us = 0
        #: High-frequency samples that found a virtual machine in the dispatch list.
        self.dispatch_samples = 0
        self._set_initial_counters()

    def _set_initial_counters(self) -> None:
        """Counters after nine days: differences matter, and 4-byte counters are well used."""
        up_us = START_US - IPL_US
        weights = [0.27, 0.26, 0.24, 0.23]
        for guest in self.guests:
            if guest.name == BATCH:
                guest.logged_on = False
                continue
            guest.virtual_us = int((START_US - guest.logon_us) * guest.base * self.random.uniform(0.5, 0.7))
            guest.total_us = int(guest.virtual_us * (1 + guest.overhead))
            guest.ios = int(guest.virtual_us / SECOND * guest.io)
            guest.page_reads = int(guest.virtual_us / SECOND * guest.pages)
            guest.page_writes = guest.page_reads // 2
        virtual = sum(guest.virtual_us for guest in self.guests)
        total = sum(guest.total_us for guest in self.guests)
        for processor, weight in zip(self.processors, weights, strict=True):
            processor.user_us = int(total * weight)
            processor.emulation_us = int(virtual * weight)
            processor.system_us = int(up_us * 0.013)
            processor.wait_us = up_us - processor.user_us - processor.system_us - int(up_us * 0.004)
            processor.spin_us = int(processor.user_us * 0.0004)
            self.lock_us += processor.spin_us
            processor.dispatched_us = processor.user_us + processor.system_us
            processor.management_us = processor.dispatched_us // 400
            self._count(processor, processor.user_us - processor.emulation_us, processor.emulation_us, 0.0)
        for partition in self.others:
            for cpu in range(len(partition.dispatched_us)):
                partition.dispatched_us[cpu] = int(up_us * partition.busy * self.random.uniform(0.5, 0.6))
                partition.management_us[cpu] = partition.dispatched_us[cpu] // 300
        self.physical_us = [int(up_us * 0.0045 * self.random.uniform(0.95, 1.05)) for _ in range(7)]
        for device in self.devices:
            self._device(device, up_us // 3, 0.6)

    def minutes(self) -> Iterator[Minute]:
        yield Minute(0, START_US, [], {}, {})
        for number in range(1, MINUTES + 1):
            yield self._minute(number)

    # One minute --------------------------------------------------------------------------------

    def _minute(self, number: int) -> Minute:
        begin_s = (number - 1) * 60
        end_us = START_US + number * MINUTE
        events = self._config_events(begin_s)
        elapsed = {cpu.address: self._online_us(cpu.address, begin_s) for cpu in self.processors}
        load = _shape(number)

        demands: dict[str, float] = {}
        for guest in self.guests:
            if guest.logged_on:
                present = self._present_s(guest, begin_s) / 60
                demand = (guest.base + (guest.peak - guest.base) * load) * self.random.uniform(0.93, 1.07)
                demands[guest.name] = demand * present * MINUTE + guest.backlog_us
                # A virtual machine uses at most its own virtual processors.
                demands[guest.name] = min(demands[guest.name], guest.vcpus * MINUTE * present * 0.995)
        paging = 1.0 if BATCH in demands else 0.0
        user_wanted = sum(
            demands[guest.name] * (1 + guest.overhead) for guest in self.guests if guest.name in demands
        )
        online_us = sum(elapsed.values())
        pressure = min(1.0, user_wanted / online_us)
        system = {
            address: int(
                online_time_us * (0.009 + 0.012 * pressure + 0.009 * paging) * self.random.uniform(0.9, 1.1)
            )
            for address, online_time_us in elapsed.items()
        }
        # The hypervisor cannot give what the other partition and it itself have taken from the four IFLs.
        pool = 4 * MINUTE - self._neighbors(load)
        share = min(1.0, pool / online_us)
        ceiling = {
            address: int(online_time_us * share * self.random.uniform(0.975, 0.997)) - system[address]
            for address, online_time_us in elapsed.items()
        }
        served = min(1.0, sum(ceiling.values()) / user_wanted)

        virtual_total = 0
        user_total = 0
        for guest in self.guests:
            if guest.name not in demands:
                continue
            virtual = int(demands[guest.name] * served)
            total = int(virtual * (1 + guest.overhead))
            # Some of the unserved demand is carried over, some is given up.
            guest.backlog_us = max(0.0, demands[guest.name] - virtual - 1) * 0.55
            guest.virtual_us += virtual
            guest.total_us += total
            seconds = virtual / SECOND
            guest.ios += round(seconds * guest.io * self.random.uniform(0.9, 1.1))
            reads = round(seconds * guest.pages * self.random.uniform(0.8, 1.2))
            guest.page_reads += reads
            guest.page_writes += reads * 2 // 3
            self.page_reads += reads
            self.page_writes += reads * 2 // 3
            virtual_total += virtual
            user_total += total
        users = self._spread(user_total, ceiling)
        emulations = _proportional(virtual_total, users)
        page_rate = sum(
            guest.pages * demands[guest.name] / MINUTE for guest in self.guests if guest.name in demands
        )

        busy_pct: dict[int, float] = {}
        for processor in self.processors:
            online_time_us = elapsed[processor.address]
            if not online_time_us:
                continue
            user, emulation = users[processor.address], emulations[processor.address]
            busy = user + system[processor.address]
            # With work left over, a processor waited for the hypervisor for the time it did not get.
            waiting = 0.94 if served < 1 else 0.02 + 0.05 * pressure
            suspended = int((online_time_us - busy) * waiting * self.random.uniform(0.95, 1.05))
            if processor.address == VARIED_CPU and begin_s <= VARY_ON_S < begin_s + 60:
                processor.reset()
            processor.user_us += user
            processor.emulation_us += emulation
            processor.system_us += system[processor.address]
            processor.wait_us += online_time_us - busy - suspended
            spun_us = int(busy * (0.0003 + 0.004 * max(0.0, pressure - 0.8)))
            processor.spin_us += spun_us
            self.lock_us += spun_us
            processor.dispatched_us += busy
            processor.management_us += int(busy * self.random.uniform(0.002, 0.004))
            self._count(processor, user - emulation, emulation, page_rate / len(users))
            busy_pct[processor.address] = 100 * busy / online_time_us
        for device in self.devices:
            if device.online:
                factor = (1 + 3.5 * paging) if device.use == "page" else (0.7 + 0.9 * load)
                self._device(device, MINUTE, factor)
        self.dispatch_samples += 30 * sum(guest.logged_on for guest in self.guests)
        self._end_minute(begin_s)
        events += self._work_events(begin_s, demands)
        events.sort(key=lambda event: event.time_us)
        return Minute(number, end_us, events, elapsed, busy_pct)

    def _online_us(self, address: int, begin_s: int) -> int:
        """How long processor `address` is online in this minute."""
        if address != VARIED_CPU:
            return MINUTE
        off = min(max(VARY_OFF_S - begin_s, 0), 60)
        on = 60 - min(max(VARY_ON_S - begin_s, 0), 60)
        return (off + on) * SECOND

    def _present_s(self, guest: Guest, begin_s: int) -> int:
        if guest.name != BATCH:
            return 60
        return min(BATCH_OFF_S, begin_s + 60) - max(BATCH_ON_S, begin_s)

    def _spread(self, total: int, ceiling: dict[int, int]) -> dict[int, int]:
        """Share `total` over the processors, none above its ceiling, the first ones slightly favored."""
        share = {
            address: limit * (1.05 - 0.02 * address) * self.random.uniform(0.97, 1.03)
            for address, limit in ceiling.items()
            if limit > 0
        }
        result = dict.fromkeys(share, 0)
        remaining, open_set = min(total, sum(limit for limit in ceiling.values() if limit > 0)), set(share)
        while remaining > 0 and open_set:
            weight = sum(share[address] for address in open_set)
            assigned = 0
            for address in sorted(open_set):
                amount = min(
                    math.ceil(remaining * share[address] / weight), ceiling[address] - result[address]
                )
                amount = min(amount, remaining - assigned)
                result[address] += amount
                assigned += amount
            open_set = {address for address in open_set if result[address] < ceiling[address]}
            remaining -= assigned
        return result

    def _count(self, processor: Processor, cp_us: int, emulation_us: int, page_rate: float) -> None:
        """Counters of one processor that follow from its work."""
        cp, emulation = cp_us / SECOND, emulation_us / SECOND
        vary = self.random.uniform
        starts = emulation * 38 * vary(0.95, 1.05)
        processor.add("dispatches", emulation * 2100 * vary(0.97, 1.03))
        processor.add("fast_path", emulation * 310 * vary(0.97, 1.03))
        processor.add("cp_path", emulation * 1450 * vary(0.97, 1.03))
        spins = round(emulation * 120 * vary(0.9, 1.1))
        processor.add("spins", spins)
        self.lock_spins += spins
        processor.add("simulated", cp * 41_000 * vary(0.95, 1.05))
        processor.add("diagnose", cp * 1900 * vary(0.95, 1.05))
        processor.add("external", emulation * 260 * vary(0.95, 1.05))
        processor.add("ssch", starts)
        processor.add("interrupts", starts * 1.1)
        processor.add("page_reads", page_rate * 60)
        processor.add("page_writes", page_rate * 40)
        processor.add("samples", 30)

    def _neighbors(self, load: float) -> int:
        """Advance the other partitions and the hypervisor itself; returns how much of the IFLs they took."""
        taken_us = 0
        for partition in self.others:
            height = partition.busy * ((0.8 + 0.3 * load) if partition.kind == "CP" else (0.9 + 0.2 * load))
            for cpu in range(len(partition.dispatched_us)):
                busy = int(MINUTE * min(0.97, height * self.random.uniform(0.9, 1.1)))
                partition.dispatched_us[cpu] += busy
                partition.management_us[cpu] += busy // 320
                taken_us += busy + busy // 320 if partition.kind == "IFL" else 0
        for cpu in range(len(self.physical_us)):
            management = int(MINUTE * 0.0045 * self.random.uniform(0.9, 1.1))
            self.physical_us[cpu] += management
            taken_us += management if cpu < 4 else 0
        return taken_us

    def _device(self, device: Device, us: int, factor: float) -> None:
        seconds = us / SECOND
        starts = round(seconds * device.io * factor * self.random.uniform(0.9, 1.1))
        slow = 1 + 0.25 * max(0.0, factor - 1)
        device.starts += starts
        device.connect_units += round(starts * device.connect)
        device.disconnect_units += round(starts * device.disconnect * slow)
        device.pending_units += round(starts * device.pending * slow)
        device.queue_samples += round(seconds / 2)
        device.queued += round(seconds / 2 * max(0.0, factor - 2) * 0.4)

    # Events ---------------------------------------------------------------------------------------

    def _config_events(self, begin_s: int) -> list[Event]:
        events: list[Event] = []

        def due(at_s: int) -> bool:
            return begin_s <= at_s < begin_s + 60

        varied = self.devices[7]
        if due(DEVICE_OFF_S):
            varied.online = False
            events.append(Event(START_US + DEVICE_OFF_S * SECOND, "device_off", device=varied))
        if due(DEVICE_ON_S):
            varied.online = True
            events.append(Event(START_US + DEVICE_ON_S * SECOND, "device_on", device=varied))
        if due(BATCH_ON_S):
            batch = self.guest(BATCH)
            batch.logged_on = True
            batch.logon_us = START_US + BATCH_ON_S * SECOND
            events.append(Event(batch.logon_us, "logon", guest=batch))
        if due(VARY_OFF_S):
            events.append(Event(START_US + VARY_OFF_S * SECOND, "vary_off", cpu=VARIED_CPU))
        if due(VARY_ON_S):
            self.processors[VARIED_CPU].online = True
            events.append(Event(START_US + VARY_ON_S * SECOND, "vary_on", cpu=VARIED_CPU))
        return events

    def _end_minute(self, begin_s: int) -> None:
        """Remove what has gone by the end of the minute: it is in no later sample."""
        if begin_s <= VARY_OFF_S < begin_s + 60:
            self.processors[VARIED_CPU].online = False
        if begin_s <= BATCH_OFF_S < begin_s + 60:
            self.guest(BATCH).logged_on = False

    def _work_events(self, begin_s: int, demands: dict[str, float]) -> list[Event]:
        events: list[Event] = []
        if begin_s <= BATCH_OFF_S < begin_s + 60:
            batch = self.guest(BATCH)
            events.append(
                Event(
                    START_US + BATCH_OFF_S * SECOND,
                    "logoff",
                    guest=batch,
                    virtual_us=batch.virtual_us,
                    total_us=batch.total_us,
                )
            )
        for guest in self.guests:
            if guest.name in demands and guest.logged_on and self.random.random() < 0.5:
                at_us = START_US + begin_s * SECOND + 59 * SECOND + self.random.randrange(SECOND // 2)
                events.append(
                    Event(
                        at_us,
                        "transaction",
                        guest=guest,
                        virtual_us=guest.virtual_us,
                        total_us=guest.total_us,
                    )
                )
        return events

    def guest(self, name: str) -> Guest:
        return next(guest for guest in self.guests if guest.name == name)


def _shape(number: int) -> float:
    """Height of the morning's load, 0 to 1: a rise toward nine, the peak ten minutes later, a slow fall."""
    rise = 1 / (1 + math.exp(-(number - 24) / 5))
    bump = math.exp(-(((number - 40) / 13) ** 2))
    return 0.62 * rise + 0.38 * bump


def _proportional(total: int, parts: dict[int, int]) -> dict[int, int]:
    """Integers in the proportion of `parts` that add up to `total` exactly."""
    total_parts = sum(parts.values())
    result = {address: total * part // total_parts for address, part in parts.items()}
    first = next(iter(result))
    result[first] += total - sum(result.values())
    return result


def _guests() -> list[Guest]:
    day = 86_400 * SECOND
    boot = IPL_US + 95 * SECOND

    def guest(name: str, vcpus: int, storage: int, *rates: float) -> Guest:
        account = "LINUX" if name.startswith("LNX") else "SYSTEMS"
        base, peak, overhead, io, pages = rates
        return Guest(name, vcpus, storage, base, peak, overhead, io, pages, boot, account)

    guests = [
        guest("OPERATOR", 1, 32, 0.0002, 0.0004, 0.30, 4, 0),
        guest("TCPIP", 1, 128, 0.012, 0.030, 0.28, 60, 0),
        guest("DTCVSW1", 1, 32, 0.0010, 0.0020, 0.30, 20, 0),
        guest("DIRMAINT", 1, 64, 0.0004, 0.0006, 0.25, 30, 0),
        guest("PERFSVM", 1, 128, 0.006, 0.008, 0.12, 8, 0),
        guest("MONWRITE", 1, 32, 0.0010, 0.0012, 0.20, 30, 0),
        guest("LNXWEB01", 2, 1024, 0.15, 0.37, 0.11, 22, 0.1),
        guest("LNXWEB02", 2, 1024, 0.14, 0.35, 0.11, 22, 0.1),
        guest("LNXWEB03", 2, 1024, 0.13, 0.33, 0.11, 22, 0.1),
        guest("LNXAPP01", 2, 2048, 0.19, 0.40, 0.08, 12, 0.2),
        guest("LNXAPP02", 2, 2048, 0.18, 0.37, 0.08, 12, 0.2),
        guest("LNXDB01", 3, 4096, 0.28, 0.47, 0.10, 85, 0.4),
        guest("LNXTST01", 1, 512, 0.04, 0.05, 0.09, 10, 0.5),
        guest(BATCH, 2, 3072, 0.40, 0.52, 0.19, 140, 420),
    ]
    for number, entry in enumerate(guests):
        entry.logon_us += number * 700 * 1000 + (day if entry.name == "LNXTST01" else 0)
    return guests


def _devices() -> list[Device]:
    devices = [Device(0x0120 + index, f"530PG{index}", "page", 6.0, 14.0, 4.0, 2.0) for index in range(4)]
    devices.append(Device(0x0200, "530RES", "data", 3.0, 5.0, 2.0, 1.5))
    devices.append(Device(0x0201, "530W01", "data", 1.0, 5.0, 2.0, 1.5))
    linux = [(0x0300 + index, f"LNX{index:03d}", 12.0 + 3 * (index % 5)) for index in range(14)]
    return devices + [Device(number, volume, "data", io, 6.0, 3.0, 1.8) for number, volume, io in linux]
