"""Inputs of guests: use, waits and relocations, and APPLDATA of Linux guests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cluster_records

import guest_builder as guests
import monwrite_builder as monwrite
import record_encoder
from monwrite_builder import Way, way_of
from zlens import _native
from zlens.catalog import layouts

MINUTES = range(5)


def guests_of_an_hour(folder: Path, way: str | Way = "sim") -> Path:
    """Write LNX1 with two virtual CPUs, CMS1, which logs off, and relocations of LNX1 and LNX2.

    LNX1 uses 42 s a minute. CMS1 uses 6 s in each of two minutes, and 3 s in half a minute before its logoff.
    """
    make, config = way_of(way)
    at = guests.end_of
    intervals = []
    for n in MINUTES:
        found = [guests.processor(at(n), 48.0 * n - 3 * (n > 3), 38.4 * n, make=make)]
        for vcpu, rate in ((0, 30), (1, 12)):
            facts = {"VMDVDSCT": 600 * n, "VMDVUSCT": 60 * n, "VMDMDCIA": 120 * n, "ZLD98IO": 30 * n}
            facts |= {"CALCPPGR": 90 * n, "CALCPPGW": 30 * n, "CALCPPST": 6 * n, "VMDCTFLT": 60 * n}
            facts |= {"VMDCTPVR": 1000, "VMDCTPVG": 2000, "VMDCTPVL": 10, "VMDWSSPR": 2500, "CALCTPGS": 400}
            facts |= {"ZLDSPWT": guests.seconds(0.003 * n), "ZLDSPCT": 1000 * n}
            found.append(guests.activity(at(n), "LNX1", 1000 + rate * n, vcpu=vcpu, make=make, **facts))
        samples = {"CPURN": 12, "CPUWT": 3, "IOWT": 6, "DORM": 8, "TSVM": 1, "DISP1": 22}
        found.append(guests.states(at(n), "LNX1", {k: v * n for k, v in samples.items()}, make=make))
        if n < 3:
            found.append(guests.activity(at(n), "CMS1", 10 + 6 * n, make=make))
            found.append(guests.states(at(n), "CMS1", {"DORM": 27 * n, "CFWT": 3 * n}, make=make))
        intervals.append(found)
    ended, started = at(0) + 20 * monwrite.S_US, at(1) + 40 * monwrite.S_US
    moved = {"ZLSTART": guests.tod(ended - 12 * monwrite.S_US), "ZLRLTM": guests.seconds(11.5)}
    moved |= {"ZLQUTM": guests.seconds(0.25), "ZLPASS": 4, "ZLPAGE": 123_456, "ZLCODE": 0}
    way_there = {"ZLFROM": "ZVM1", "ZLTO": "ZVM2"}
    done = {f"USERLE_{k}": v for k, v in {"ZLUSER": "LNX1", **way_there, **moved}.items()}
    begun = {f"USERLS_{k}": v for k, v in {"ZLUSER": "LNX2", **way_there}.items()}
    events = {
        1: [(False, [make("D4R12", ended, done)])],
        2: [(False, [make("D4R11", started, begun)])],
        3: [guests.logoff(at(2) + 30 * monwrite.S_US, "CMS1", 25, make=make)],
    }
    return guests.write(folder / "data", intervals, events, config)


def spooling(folder: Path) -> Path:
    """Write 7600 of 8000 pages in use, and 2 pages a second spooled."""
    intervals = [
        [
            guests.processor(guests.end_of(n), 30 * n),
            monwrite.record(
                "D0R1", guests.end_of(n) - 70, {"SYTSYP_PLSPIOSR": 90 * n, "SYTSYP_PLSPIOSW": 30 * n}
            ),
            monwrite.record("D0R3", guests.end_of(n) - 60, {"SYTRSG_RSAPGABL": 8000, "SYTRSG_RSAAVAIL": 400}),
        ]
        for n in MINUTES
    ]
    return guests.write(folder / "data", intervals)


def queues(folder: Path) -> Path:
    """Write three processors at 50%, 10% and 90%, 10 pages a second, and guests in queues."""
    counts = {"CDISP": 9, "CDLDG": 1, "C1DSP": 2, "C3DSP": 6, "C3DLD": 1, "C2ELG": 4, "LLCNT": 3}
    intervals = []
    for n in MINUTES:
        end = guests.end_of(n)
        records = [guests.processor(end, rate * n, cpu=cpu) for cpu, rate in enumerate((30, 6, 54))]
        records.append(monwrite.record("D0R8", end - 90, {"SYTUSR_SYSUSRS": 40, "SYTUSR_SRMCDORM": 33}))
        records.append(monwrite.record("D0R10", end - 80, {f"SYTSCG_SRM{k}": v for k, v in counts.items()}))
        for cpu in range(3):
            pages = {"SYTSYP_PFXCPUAD": cpu, "SYTSYP_PLSPIOPR": 200 * n}
            records.append(monwrite.record("D0R1", end - 70, pages))
        intervals.append(records)
    return guests.write(folder / "queues", intervals)


REAL = {"MTRSYS_SYSTMID": "REAL53", "MTRSYS_HCPCPEID": "5.3.0"}


def ends(
    folder: Path,
    given: Sequence[tuple[str, int, str, float, Mapping[str, int]]],
    defined: Mapping[str, int] | None = None,
) -> Path:
    """Write data of z/VM 5.3, which records guests at their end: record, second, guest, seconds used."""
    events = [
        guests.real_end(record, monwrite.START_US + second * monwrite.S_US, userid, used, **more)
        for record, second, userid, used, more in given
    ]
    known = [
        monwrite.record(
            "D1R15",
            monwrite.START_US - monwrite.MINUTE_US - 1_200,
            {"MTRUSR_VMDUSER": userid, "MTRUSR_VMDCPUCT": count},
        )
        for userid, count in (defined or {}).items()
    ]
    intervals = [monwrite.processors(guests.end_of(n), {0: {"SYTPRP_PFXUTIME": 10**12 + n}}) for n in MINUTES]
    # Each event is in the interval in which it happens.
    by_interval: dict[int, list[monwrite.Group]] = {}
    for (_, second, *_), event in zip(given, events, strict=True):
        by_interval.setdefault(second // 60 + 1, []).append(event)
    return guests.write(folder / "data", intervals, by_interval, REAL, known)


def defined_guests(folder: Path) -> Path:
    """Write LNX1 with its configuration, a pool, and changes: a logon and SET SHARE."""
    at = guests.end_of(0)
    user = {"VMDUSER": "LNX1", "VMDCPUCT": 2, "VMDRELSH": 100, "ASCDEFSZ": 2**32, "VMDACTNO": "DEPT1"}
    user |= {"CALTODON": guests.tod(guests.LOGON_US), "CALCPCT": 1, "CALIFLCT": 1}
    pool = {"MTRCPC_LIMPOOL": "WEB", "MTRCPC_ZLTYPE": 3, "MTRCPC_ZLLIMTY": 2, "MTRCPC_ZLLIMIT": 150}
    logon = {
        "USELON_VMDUSER": "CMS1",
        "USELON_VMDABSSH": 0xC000,
        "USELON_CALSTAT": 0x40,
        "USELON_ASCDEFSZ": 2**27,
    }
    share = {"SCLSHR_VMDUSER": "LNX1", "SCLSHR_VMDRELSH": 300, "SCLSHR_VMDMXSHR": 9}
    intervals = [
        [
            guests.processor(guests.end_of(n), n),
            guests.activity(guests.end_of(n), "LNX1", n, ZLPOOL="WEB" if n > 1 else "TEST"),
        ]
        for n in MINUTES
    ]
    events = [
        monwrite.event("D4R1", at + 70 * monwrite.S_US, logon),
        monwrite.event("D2R9", at + 80 * monwrite.S_US, share),
        monwrite.event("D2R10", at + 85 * monwrite.S_US, {"SCLSQD_VMDUSER": "LNX1", "SCLSQD_CALFLAG1": 8}),
    ]
    more = [
        monwrite.record(
            "D1R15", at - monwrite.MINUTE_US - 1_200, {f"MTRUSR_{k}": v for k, v in user.items()}
        ),
        monwrite.sim_record("D1R28", at - monwrite.MINUTE_US - 1_100, pool),
    ]
    return guests.write(folder / "data", intervals, {2: events}, more=more)


def dispatch_waits(folder: Path, published: Mapping[str, Sequence[float]]) -> list[Path]:
    """Write a system for each run of the publication: clients are 4-ways and servers 1-ways.

    Of two guests of a kind, one waits shorter and more often.
    """
    paths = []
    for run, (client, server) in enumerate(zip(published["clients"], published["servers"], strict=True)):
        waits = [("CLI1", vcpu, 3000, 0.8, client) for vcpu in range(4)]
        waits += [("CLI2", vcpu, 1000, 1.6, client) for vcpu in range(4)]
        waits += [("SRV1", 0, 20_000, 1.0, server)]
        intervals = []
        for n in MINUTES:
            records = []
            for userid, vcpu, count, part, mean in waits:
                waited = guests.seconds(n * count * part * mean / 1e6)
                facts = {"ZLDSPCT": n * count, "ZLDSPWT": waited}
                records.append(guests.activity(guests.end_of(n), userid, n, vcpu=vcpu, **facts))
            intervals.append(records)
        config = {**monwrite.SIM_CONFIG, "MTRSYS_SYSTMID": f"AP{run}Z604"}
        paths.append(guests.write(folder / f"run{run}", intervals, config=config))
    return paths


MIB = 1024


def linux_guest(folder: Path) -> Path:
    """Write data of LNX1 and CP: 30 s user, 6 s system and 3 s stolen time per minute and processor.

    Linux kernel, arch/s390/appldata: appldata_os.c, appldata_mem.c and appldata_net_sum.c (times are in
    hundredths of a second, load averages have 11 bits after the point, memory is in KiB).
    """
    intervals = [
        [guests.processor(guests.end_of(n), n), guests.activity(guests.end_of(n), "LNX1", n), *_payloads(n)]
        for n in range(3)
    ]
    return guests.write(folder / "data", intervals, {})


def _payloads(number: int) -> list[bytes]:
    rates = {"user": 3000, "system": 500, "softirq": 100, "iowait": 60, "steal": 300}
    times = {f"per_cpu_{name}": rate * number for name, rate in rates.items()}
    cpus = [{**times, "cpu_id": cpu} for cpu in (0, 1)]
    system = {"per_cpu_size": 36, "avenrun_1": 5120, "nr_running": 3, "nr_threads": 150, "linux_os_cpu": cpus}
    memory = {"totalram": 2048 * MIB, "freeram": 512 * MIB, "cached": 256 * MIB, "bufferram": 256 * MIB}
    memory |= {"totalswap": 100 * MIB, "freeswap": 40 * MIB, "pswpin": 60 * number, "pswpout": 120 * number}
    network = {"rx_bytes": 300_000_000 * number, "tx_bytes": 6_000_000 * number}
    layout = next(one for one in layouts.layouts("D10R2") if one.release == "5.3")
    found = []
    for i, (name, values) in enumerate(
        {"linux_os": system, "linux_mem": memory, "linux_net": network}.items()
    ):
        section = layout.section(name)
        assert section is not None
        assert section.match is not None
        own = {"APLSDT_USERID": "LNX1", "APLSDT_MDGPROD": section.match[1].ljust(32, "0")}
        entry: Mapping[str, Any] = {"sync_count_1": 1, "sync_count_2": 1, **values}
        tod = _native.tod_from_unix_us(guests.end_of(number) - 500 + i)
        found.append(record_encoder.encode(layout, own, tod=tod, entries={name: [entry]}))
    return found


def processors_alone(folder: Path, minutes: int = 2, cpus: int = 2) -> Path:
    """Write minutes in which every processor runs for users for half the time, and nothing else."""
    groups = [monwrite.configuration(monwrite.START_US), *monwrite.minutes(minutes, cpus=cpus)]
    return monwrite.write(folder / "a", groups)


def relocation_of_page(folder: Path) -> Path:
    """Write the start of a relocation as the record page of z/VM 7.2 has it, one second before its record."""
    at = monwrite.START_US + 30 * monwrite.S_US
    values = {"RLOISSUER": "OPERATOR", "RLOUSER": "LNX2", "RLOSRCSYS": "ZVM1", "RLODSTSYS": "ZVM2"}
    values |= {"RLOSTARTM": guests.tod(at - monwrite.S_US), "RLOMAXT": 120, "RLOMAXQ": 10}
    start = cluster_records.real("D4R11", at, cluster_records.named("USERLS", values))
    config = {**monwrite.CONFIG, "MTRSYS_HCPCPEID": "7.2.0"}
    groups = [monwrite.configuration(monwrite.START_US, config), *monwrite.minutes(1), (False, [start])]
    return monwrite.write(folder / "a.mon", [*groups, *monwrite.minutes(2, first=1)])
