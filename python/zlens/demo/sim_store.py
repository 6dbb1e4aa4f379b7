"""Storage, paging and a virtual switch of the second demo file.

The paging volumes are those of `sim_io`, and pages follow from these disks' work: blocks of eight pages.
Guests come to use more than there is room for, so slots fill up, the available list sinks toward its
threshold, and at the height of the load it is sometimes found empty. Six guests are coupled to one virtual
switch; part of what they send leaves by its uplink port, the rest is for the guest next to them.
"""

from __future__ import annotations

from collections.abc import Iterator

from zlens.demo import sim_io
from zlens.demo.sim import Moment
from zlens.demo.sim_io import Disk

#: Pages of a block.
BLOCK = 8
#: Slots of a 3390-9: 10,016 cylinders of 180.
SLOTS = 10_016 * 180
PAGING = tuple(disk for disk in sim_io.DISKS if disk.paging)
#: A volume with a spool area of a tenth of its size.
SPOOLED = next(disk for disk in sim_io.DISKS if disk.serial == "VMRES1")
SPOOL_SLOTS = SLOTS // 10

#: 96 GB, of which CP can page nearly all.
PAGEABLE = 24_900_000
LOW, HIGH = (600, 2_400), (9_000, 36_000)

SWITCH = "SYSTEM  VSWLNX1"
CONTROLLER = "DTCVSW1"
#: The data device, the third of the OSA's.
UPLINK = sim_io.OSA + 2
GUESTS = tuple(f"LINUX{number:02}" for number in range(1, 7))
#: Bytes per second at the height of the load: from and to the network, and to the next guest.
OUTWARDS, INWARDS, BETWEEN = 9_000_000, 3_000_000, 5_000_000
#: Average bytes per packet.
PACKET = 1_200
_WORD = 2**32


def records(moment: Moment) -> Iterator[tuple[bool, bytes]]:
    """The records of storage, paging and networks at a moment."""
    if moment.first:
        for start, disk in enumerate(PAGING, 1):
            yield True, _area(moment, disk, "page", start, SLOTS)
        yield True, _area(moment, SPOOLED, "spol", 1, SPOOL_SLOTS)
    for disk in PAGING:
        yield True, _volume(moment, disk)
    yield True, _spool(moment)
    blocks = [0] * 20
    blocks[BLOCK - 1] = sum(sim_io.done(moment.seed, disk, moment.number).reads for disk in PAGING)
    yield True, moment.record("D3R8", {"STOBPG_PGDBR": blocks})
    yield from ((True, record) for record in _storage(moment))
    yield from ((True, record) for record in _network(moment))


def paged(moment: Moment, part: int, parts: int) -> dict[str, int]:
    """Pages read and written so far, as counted by one of `parts` processors (D0R1)."""
    sums = [0, 0]
    for disk in PAGING:
        work = sim_io.done(moment.seed, disk, moment.number)
        sums[0] += BLOCK * work.reads
        sums[1] += BLOCK * work.writes
    # The remainder goes to the first one.
    shares = [total // parts + (total % parts if part == 0 else 0) for total in sums]
    spooled = _spooled(moment) if part == 0 else (0, 0)
    return {
        "SYTSYP_PLSPIOPR": shares[0] % _WORD,
        "SYTSYP_PLSPIOPW": shares[1] % _WORD,
        "SYTSYP_PLSPIOSR": spooled[0],
        "SYTSYP_PLSPIOSW": spooled[1],
    }


def _area(moment: Moment, disk: Disk, kind: str, start: int, slots: int) -> bytes:
    values = {"RDEVDEV": disk.number, "RDEVSID": disk.subchannel, "CPVOLSER": disk.serial, "CALTYPE": kind}
    values |= {"CALSTART": start, "ZLSLOTS": slots}
    return moment.configuration("D1R8", {f"MTRPAG_{name}": value for name, value in values.items()})


def _volume(moment: Moment, disk: Disk) -> bytes:
    work = sim_io.done(moment.seed, disk, moment.number)
    before = sim_io.done(moment.seed, disk, max(0, moment.number - 1))
    operations = work.operations - before.operations
    # CP's estimate follows the time of an operation in the minute.
    took_us = 1_000 * (work.service - before.service) / operations if operations else 700
    # The queue is that of the moment: the part of all moments in which a request waits.
    waiting = (work.queued - before.queued) / sim_io.SAMPLES
    values = {
        "RDEVDEV": disk.number,
        "RDEVSID": disk.subchannel,
        "CALVSER": disk.serial,
        "CALPAGE": round(SLOTS * (0.52 + 0.1 * moment.work_s / 3600) * moment.wiggle(disk.serial, 0.99, 1.0)),
        "EXPCTPRD": BLOCK * work.reads % _WORD,
        "EXPCTPWR": BLOCK * work.writes % _WORD,
        "EXPCURQC": int(waiting + moment.wiggle(f"queue of {disk.serial}", 0.0, 1.0)),
        "SCMSSCH": work.operations % 2**16,
        "SCGSSCH": work.operations % _WORD,
        "ZLMLOAD": round(took_us),
    }
    return moment.record("D3R4", {f"STOASP_{name}": value for name, value in values.items()})


def _spooled(moment: Moment) -> tuple[int, int]:
    return moment.total("spool reads", 3), moment.total("spool writes", 9)


def _spool(moment: Moment) -> bytes:
    read, written = _spooled(moment)
    work = sim_io.done(moment.seed, SPOOLED, moment.number)
    values = {
        "RDEVDEV": SPOOLED.number,
        "RDEVSID": SPOOLED.subchannel,
        "CALVSER": SPOOLED.serial,
        "CALSPOOL": round(SPOOL_SLOTS * 0.31) + (written - read) // 4,
        "EXPCTSRD": read,
        "EXPCTSWR": written,
        "SCGSSCH": work.operations % _WORD,
        "ZLMLOAD": 700,
    }
    return moment.record("D3R4", {f"STOASP_{name}": value for name, value in values.items()})


def _storage(moment: Moment) -> Iterator[bytes]:
    fuller = moment.load * moment.wiggle("available", 0.95, 1.0)
    below, above = (round(high - (high - low) * fuller) for low, high in zip(LOW, HIGH, strict=True))
    yield moment.record(
        "D0R3",
        {
            "SYTRSG_RSAPGABL": PAGEABLE,
            "SYTRSG_RSAAVAIL": below,
            "SYTRSG_RSA2GAVL": above,
            "SYTRSG_RSANONPG": 260_000,
            "SYTRSG_RSACPLOK": 1_900,
            "SYTRSG_RSACPLKG": 14_000,
            "SYTRSG_RSAFRQWT": 2 if moment.load > 0.9 else 0,
            "SYTRSG_ZLCPFREE": 41_000,
        },
    )
    yield moment.record(
        "D3R1",
        {
            "STORSG_RSAAVLLT": LOW[0],
            "STORSG_RSAAVLHT": HIGH[0] // 2,
            "STORSG_RSAAVLLG": LOW[1],
            "STORSG_RSAAVLHG": HIGH[1] // 2,
            "STORSG_RSAEMPTY": moment.total("empty lists", 0.4),
            "STORSG_ZLRSVD": 524_288,
        },
    )


def _network(moment: Moment) -> Iterator[bytes]:
    bytes_out, bytes_in = [0] * len(GUESTS), [0] * len(GUESTS)
    leaving = entering = 0
    for number in range(len(GUESTS)):
        share = 1 - number / 10
        sent = moment.total(f"out {number}", OUTWARDS * share)
        received = moment.total(f"in {number}", INWARDS * share)
        forwarded = moment.total(f"between {number}", BETWEEN * share)
        bytes_out[number] += sent + forwarded
        bytes_in[number] += received
        bytes_in[(number + 1) % len(GUESTS)] += forwarded
        leaving, entering = leaving + sent, entering + received
    discarded = moment.total("discards", 0.2)
    yield moment.record(
        "D6R21",
        {
            "IODVSW_RDEVDEV": UPLINK,
            "IODVSW_VMDUSER": CONTROLLER,
            "IODVSW_LANID": SWITCH,
            "IODVSW_NICTXBYT": leaving,
            "IODVSW_NICRXBYT": entering,
            "IODVSW_NICTXPKT": leaving // PACKET % _WORD,
            "IODVSW_NICRXPKT": entering // PACKET % _WORD,
            "IODVSW_NICRXDSC": discarded,
            "IODVSW_VQSIQOVR": discarded // 3,
        },
    )
    carried = {"IODQDS_BYTOA": leaving, "IODQDS_BYFRA": entering}
    yield moment.record("D6R26", {"IODQDS_RDEVDEV": UPLINK, **carried})
    for number, guest in enumerate(GUESTS):
        yield moment.record(
            "D8R1",
            {
                "VNDSES_OWNER": guest,
                "VNDSES_VDEVDEV": 0x0600,
                "VNDSES_NICBASE": 0x0600,
                "VNDSES_LANID": SWITCH,
                "VNDSES_SESTXBYT": bytes_out[number],
                "VNDSES_SESRXBYT": bytes_in[number],
                "VNDSES_SESTXPKT": bytes_out[number] // PACKET,
                "VNDSES_SESRXPKT": bytes_in[number] // PACKET,
            },
        )
