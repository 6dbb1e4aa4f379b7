"""Disks, control units, HyperPAV pools, channel paths and PCI functions of the second demo file.

Two logical control units have eight paging volumes and ten with minidisks; two channel paths lead to each.
When the load is high, paging misses the caches more often: disconnect time grows, and in the pool of the
paging volumes minidisk I/O waits for aliases, of which paging has the larger share. The counts of control
units follow from the disks' work; channel paths also count that of other partitions.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from zlens.demo import sim
from zlens.demo.sim import MINUTE, Moment

#: High-frequency samples of a minute, one every two seconds.
SAMPLES = 30
#: Our part of everything that channel paths do.
OURS = 0.7


@dataclass(frozen=True)
class Disk:
    """A volume; rate is in operations per second at the height of the load."""

    number: int
    serial: str
    ssid: int
    paging: bool
    rate: float
    reads: float
    links: int

    @property
    def subchannel(self) -> int:
        return 0x0001_0000 | (self.number & 0x0FFF)

    @property
    def paths(self) -> tuple[int, int]:
        return CHANNELS[self.ssid]

    @property
    def bytes(self) -> int:
        """Bytes per operation: paging moves blocks of pages."""
        return 32_768 if self.paging else 12_288


CHANNELS = {0x0600: (0x40, 0x41), 0x0700: (0x50, 0x51)}
#: Aliases of each pool, and the shares of minidisk and paging I/O in it (SET CU).
POOLS = {0: (0x0600, 16, 20, 140), 1: (0x0700, 12, 100, 100)}
DISKS = (
    *(Disk(0xD010 + i, f"PAGE{i + 1:02}", 0x0600, True, 400 + 9 * i, 0.62, 0) for i in range(8)),
    *(Disk(0xD020 + i, f"LNX{i + 1:03}", 0x0600, False, 260 - 31 * i, 0.8, 12) for i in range(4)),
    *(Disk(0xD120 + i, f"LNX{i + 5:03}", 0x0700, False, 150 - 12 * i, 0.7, 9) for i in range(5)),
    Disk(0xD100, "VMRES1", 0x0700, False, 8, 0.9, 44),
)
#: An OSA device: not a disk, and not listed among them.
OSA = 0xF00
#: A disk that is added in the middle of the hour.
LATE, LATE_MINUTE = 0xD1FF, 25
#: PCI functions: type, format of the measurement block, and user.
FUNCTIONS = {0x20: (2, 1, "LINUX01"), 0x21: (5, 3, "LINUX02"), 0x22: (11, 0, "LINUX03")}


@dataclass(frozen=True)
class Done:
    """The work of a disk up to a moment: counts, and times in milliseconds."""

    operations: int = 0
    reads: int = 0
    hits: int = 0
    pending: float = 0.0
    disconnected: float = 0.0
    connected: float = 0.0
    queued: int = 0
    avoided: int = 0

    @property
    def writes(self) -> int:
        return self.operations - self.reads

    @property
    def service(self) -> float:
        return self.pending + self.disconnected + self.connected


@cache
def done(seed: int, disk: Disk, number: int) -> Done:
    """The work up to a minute: each minute adds what its load causes."""
    if number == 0:
        return Done()
    before = done(seed, disk, number - 1)
    load = sim.height(number)
    uneven = random.Random(f"{seed} {disk.number} {number}")
    operations = round(60 * disk.rate * load * uneven.uniform(0.9, 1.1))
    reads = round(operations * disk.reads * uneven.uniform(0.97, 1.0))
    missed = (0.04 + 0.3 * load**3) if disk.paging else 0.06
    pending = operations * (0.14 + 0.05 * load)
    # A miss waits for a disk behind the cache.
    disconnected = reads * missed * uneven.uniform(3.4, 4.2)
    connected = operations * (0.24 if disk.paging else 0.17)
    busy = (pending + disconnected + connected) / 60_000
    waiting = 3 * max(0.0, busy - 0.35) * uneven.uniform(0.5, 1.5)
    return replace(
        before,
        operations=before.operations + operations,
        reads=before.reads + reads,
        hits=before.hits + round(reads * (1 - missed)),
        pending=before.pending + pending,
        disconnected=before.disconnected + disconnected,
        connected=before.connected + connected,
        queued=before.queued + round(SAMPLES * waiting),
        avoided=before.avoided + (0 if disk.paging else round(reads * 0.3)),
    )


def operations(seed: int, number: int) -> int:
    """The operations of all disks up to a minute."""
    return sum(done(seed, disk, number).operations for disk in DISKS)


@cache
def aliases(seed: int, pool: int, number: int) -> tuple[int, int, int, int]:
    """Up to a minute, in microseconds: aliases in use by minidisks and by paging, then waiting requests."""
    if number == 0:
        return 0, 0, 0, 0
    ssid, alias_count, minidisk, paging = POOLS[pool]
    demands = [0.0, 0.0]
    for disk in DISKS:
        if disk.ssid == ssid:
            served = done(seed, disk, number).service - done(seed, disk, number - 1).service
            demands[disk.paging] += 4.8 * served / 60_000
    entitled = [alias_count * share / (minidisk + paging) for share in (minidisk, paging)]
    granted = [min(demand, entitlement) for demand, entitlement in zip(demands, entitled, strict=True)]
    for use in (0, 1):
        # A use may exceed its entitlement by what the other leaves free.
        granted[use] = min(demands[use], granted[use] + max(0.0, alias_count - sum(granted)))
    waiting = [1.6 * (demand - grant) for demand, grant in zip(demands, granted, strict=True)]
    before = aliases(seed, pool, number - 1)
    added = (round(value * MINUTE) for value in (*granted, *waiting))
    return tuple(map(sum, zip(before, added, strict=True)))  # type: ignore[return-value]


def records(moment: Moment) -> Iterator[tuple[bool, bytes]]:
    """The records of one moment."""
    if moment.first:
        for record in _configuration(moment):
            yield True, record
    for disk in DISKS:
        yield True, _activity(moment, disk)
        yield True, _cache(moment, disk)
    yield True, moment.record("D6R3", {"IODDEV_RDEVDEV": OSA, "IODDEV_RDEVLPM": 0x80}, before_us=9_000)
    for pool in POOLS:
        yield True, _pool(moment, pool)
    for ssid, chpids in CHANNELS.items():
        for chpid in chpids:
            yield True, _channel(moment, ssid, chpid)
    for function in FUNCTIONS:
        yield True, _function(moment, function)
    if not moment.first:
        for record in _events(moment):
            yield False, record


def _configuration(moment: Moment) -> Iterator[bytes]:
    for disk in DISKS:
        first_path, second_path = disk.paths
        yield moment.configuration(
            "D1R6",
            {
                "MTRDEV_RDEVDEV": disk.number,
                "MTRDEV_RDEVSID": disk.subchannel,
                "MTRDEV_RDEVCLAS": 4,
                "MTRDEV_RDEVDVID": "3390",
                "MTRDEV_CALMODLN": 9,
                "MTRDEV_RDEVSER": disk.serial,
                "MTRDEV_RDEVLPM": 0xC0,
                "MTRDEV_RDEVCHPS": f"{first_path:02x}{second_path:02x}000000000000",
                "MTRDEV_RDEVCUID": "2107",
            },
        )
    yield moment.configuration(
        "D1R6", {"MTRDEV_RDEVDEV": OSA, "MTRDEV_RDEVCLAS": 2, "MTRDEV_RDEVDVID": "1731"}
    )
    for function, (kind, _, _) in FUNCTIONS.items():
        yield moment.configuration("D1R27", {"MTRPCI_ZLPFID": function, "MTRPCI_RPCIPFT": kind})


def _activity(moment: Moment, disk: Disk) -> bytes:
    total = done(moment.seed, disk, moment.number)
    return moment.record(
        "D6R3",
        {
            "IODDEV_RDEVDEV": disk.number,
            "IODDEV_RDEVSID": disk.subchannel,
            "IODDEV_RDEVSER": disk.serial,
            "IODDEV_RDEVLPM": 0xC0,
            "IODDEV_RDEVLCNT": disk.links,
            "IODDEV_SCGSSCH": total.operations,
            "IODDEV_SCGCOUNT": total.operations,
            "IODDEV_SCMFPTIM": round(total.pending / 0.128),
            "IODDEV_SCMDDTIM": round(total.disconnected / 0.128),
            "IODDEV_SCMCNTIM": round(total.connected / 0.128),
            "IODDEV_HFRDEVCT": SAMPLES * moment.number,
            "IODDEV_HFCTIO": total.queued,
            "IODDEV_RDEVMCIA": total.avoided,
            "IODDEV_ZLREADS": total.reads,
            "IODDEV_ZLWRITES": total.writes,
        },
        before_us=9_000,
    )


def _cache(moment: Moment, disk: Disk) -> bytes:
    total = done(moment.seed, disk, moment.number)
    return moment.record(
        "D6R4",
        {
            "IODCAD_RDEVSID": disk.subchannel,
            "IODCAD_NR_SSID": disk.ssid,
            "IODCAD_NR_UNIT_ADDRESS": disk.number & 0xFF,
            "IODCAD_NR_READ_NORMAL": total.reads,
            "IODCAD_NR_READ_NORMAL_HITS": total.hits,
            "IODCAD_NR_WRITE_NORMAL": total.writes,
            "IODCAD_NR_WRITE_FAST_NORMAL_HITS": total.writes,
            "IODCAD_NR_DASD_TO_CACHE": total.reads - total.hits,
            "IODCAD_NR_CACHE_TO_DASD": total.writes // 2,
        },
        before_us=8_000,
    )


def _pool(moment: Moment, pool: int) -> bytes:
    ssid, alias_count, minidisk, paging = POOLS[pool]
    usage = aliases(moment.seed, pool, moment.number)
    tries = sum(done(moment.seed, disk, moment.number).operations for disk in DISKS if disk.ssid == ssid) // 2
    entries = [
        {
            "IODHPP_ZLTYPE": use,
            "IODHPP_ZLSHARE": share,
            "IODHPP_ZLINUSE": usage[index],
            "IODHPP_ZLQUEUED": usage[index + 2],
        }
        for index, (use, share) in enumerate((("MDISK", minidisk), ("PAGING", paging)))
    ]
    values = {
        "IODHPP_HPPOOLNM": pool,
        "IODHPP_HPPTOKEN": ssid,
        "IODHPP_HPPNBASE": sum(disk.ssid == ssid for disk in DISKS),
        "IODHPP_HPPNALIS": alias_count,
        "IODHPP_HPPTRIES": tries,
        "IODHPP_HPPFAILS": sum(usage[2:]) // 1_000_000,
        "IODHPP_HPPMAXCT": alias_count,
    }
    return moment.record("D6R28", values, {"CALUSE": entries}, before_us=7_000)


def _channel(moment: Moment, ssid: int, chpid: int) -> bytes:
    """Half of the work of its control unit's disks, counted in units of 4 KB."""
    counts = {"PUC": 0.0, "PRU": 0.0, "PWU": 0.0}
    for disk in DISKS:
        if disk.ssid == ssid:
            total = done(moment.seed, disk, moment.number)
            counts["PUC"] += total.operations / 2
            counts["PRU"] += total.reads * disk.bytes / 4096 / 2
            counts["PWU"] += total.writes * disk.bytes / 4096 / 2
    all_partitions = {"TUC": counts["PUC"] / OURS, "TRU": counts["PRU"] / OURS, "TWU": counts["PWU"] / OURS}
    all_partitions["TBC"] = 9 * (all_partitions["TRU"] + all_partitions["TWU"])
    maxima = {"MBC": 2_000_000, "MCU": 8_000, "MWU": 200_000, "MRU": 200_000, "US": 4096}
    return moment.record(
        "D0R20",
        {"SYTEPM_CALCHPID": chpid},
        {
            "ECMENTRY": [
                {
                    f"SYTEPM_SMF73{name}": round(value) % 2**32
                    for name, value in (counts | all_partitions).items()
                }
            ],
            "CMCHARS": [
                {"SYTEPM_CHPID": chpid, "SYTEPM_CMG": 2}
                | {f"SYTEPM_SMF73{name}": value for name, value in maxima.items()}
            ],
        },
        before_us=6_000,
    )


def _function(moment: Moment, function: int) -> bytes:
    _, form, _ = FUNCTIONS[function]
    name = f"function {function}"
    values = {
        "IODPAC_RPCIPFID": function,
        "IODPAC_VPCIPFID": function,
        "IODPAC_ZLFORMAT": form,
        "IODPAC_ZLLOADS": moment.total(f"{name} loads", 4),
        "IODPAC_ZLSTORES": moment.total(f"{name} stores", 900),
        "IODPAC_ZLREFRSH": moment.total(f"{name} refreshes", 40),
    }
    if form == 0:
        values["IODPAC_ZLDMARD"] = moment.total(f"{name} read", 60e6)
        values["IODPAC_ZLDMAWR"] = moment.total(f"{name} written", 140e6)
    if form == 1:
        packets = moment.total(f"{name} in", 21_000)
        values |= {"IODPAC_ZLRXPACK": packets, "IODPAC_ZLRXBYTE": 1100 * packets}
    if form in (1, 3):
        packets = moment.total(f"{name} out", 18_000)
        values |= {"IODPAC_ZLTXPACK": packets, "IODPAC_ZLTXBYTE": 900 * packets}
    return moment.record("D6R39", values, before_us=5_000)


def _events(moment: Moment) -> Iterator[bytes]:
    """Seeks on the system's own disk, attached functions, an added disk."""
    for number in range(3):
        cylinder = random.Random(f"{moment.seed} seek {moment.number} {number}")
        values = {"SEKSEK_RDEVDEV": 0xD100, "SEKSEK_VMDUSER": ("MAINT", "TCPIP", "LINUX01")[number]}
        values |= {"SEKSEK_VDEVDEV": 0x190 + number, "SEKSEK_CALCURCY": cylinder.randrange(3000)}
        values |= {"SEKSEK_CALSKCYL": cylinder.randrange(3000)}
        yield moment.record("D7R1", values, before_us=(5 + 9 * number) * sim.SECOND)
    if moment.number == 2:
        for function, (_, _, user) in FUNCTIONS.items():
            values = {"IODPAT_RPCIPFID": function, "IODPAT_VPCIPFID": function, "IODPAT_VMDUSER": user}
            yield moment.record("D6R36", values, before_us=20 * sim.SECOND)
    if moment.number == LATE_MINUTE:
        vary_on = {
            "IODVON_RDEVDEV": LATE,
            "IODVON_RDEVCLAS": 4,
            "IODVON_RDEVDVID": "3390",
            "IODVON_RDEVSER": "NEW001",
        }
        yield moment.record("D6R1", vary_on, before_us=15 * sim.SECOND)
