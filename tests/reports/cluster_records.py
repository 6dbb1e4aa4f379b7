"""Inputs of CPU pools, of clusters and of ISFC."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import publications

import guest_builder as guests
import monwrite_builder as monwrite
import record_encoder
from zlens import _native
from zlens.catalog import layouts

CAPACITY, LIMITHARD = 2, 1
IFL = 3


def cpu_pools(folder: Path, way: str | monwrite.Way = "sim") -> Path:
    """Write pool WEB of 1.5 IFLs, using 75 of 90 s a minute, limited twice for 6 s; BATCH changes later.

    The system has two IFLs: from then on, BATCH may use a quarter of them, half an IFL.
    """
    build, config = monwrite.way_of(way)
    web = {"MTRCPC_LIMPOOL": "WEB", "MTRCPC_ZLLIMTY": CAPACITY, "MTRCPC_ZLLIMIT": 150}
    batch = {"MTRCPC_LIMPOOL": "BATCH", "MTRCPC_FLAGS": 0x80}
    head = [build("D1R28", monwrite.START_US - 1_200, one | {"MTRCPC_ZLTYPE": IFL}) for one in (web, batch)]
    groups = [monwrite.configuration(monwrite.START_US, config, more=head)]
    for number in range(4):
        end = monwrite.START_US + number * monwrite.MINUTE_US
        if number == 2:
            changed = {"LIMPOOL": "BATCH", "ZLACTN": 2, "ZLTYPE": IFL, "ZLLIMTY": LIMITHARD, "ZLLIMIT": 2500}
            joins = {"ZLUSER": "LNXBAT01", "ZLPOOL": "BATCH", "ZLACTN": 1, "ZLCMD": 1}
            at = end - 30 * monwrite.S_US
            events = [
                build("D1R29", at, named("MTRCPD", changed)),
                build("D4R13", at + monwrite.S_US, named("USECPC", joins)),
            ]
            groups.append((False, events))
        samples = [
            {
                "ZLPOOL": "WEB",
                "ZLCPUTM": 10**12 + number * 75 * monwrite.TOD_S,
                "ZLLIMTM": number * 6 * monwrite.TOD_S,
                "ZLLIMCT": 2 * number,
                "ZLUSERS": 7,
            },
            {"ZLPOOL": "BATCH", "ZLCPUTM": number * 15 * monwrite.TOD_S, "ZLUSERS": number // 2},
        ]
        records = [build("D5R19", end - 100, named("PRCCPU", values)) for values in samples]
        records += [guests.processor(end, 45.0 * number, cpu=cpu, make=build) for cpu in range(2)]
        groups.append(monwrite.interval(end, records))
    return monwrite.write(folder / "a.mon", groups)


def named(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields with the prefix of their record."""
    return {f"{prefix}_{name}": value for name, value in values.items()}


def real(record: str, time_us: int, values: Mapping[str, Any], release: str | None = None) -> bytes:
    """Return a record with the length of its published page, of which only the first fields are known."""
    (layout,) = [
        one
        for one in layouts.layouts(record)
        if one.pack == layouts.BUILTIN and release in (None, one.release)
    ]
    return record_encoder.encode(layout, values, tod=_native.tod_from_unix_us(time_us))


def named_pool(folder: Path) -> Path:
    """Write a file with real layouts, in which only the names of pools are known."""
    pool = real("D1R28", monwrite.START_US - 1_200, {"MTRCPC_LIMPOOL": "WEB"}, "6.4")
    config = {**monwrite.CONFIG, "MTRSYS_HCPCPEID": "7.3.0"}
    groups = [monwrite.configuration(monwrite.START_US, config, more=[pool]), *monwrite.minutes(2)]
    return monwrite.write(folder / "a.mon", groups)


def isfc(folder: Path, way: str | monwrite.Way = "sim") -> Path:
    """Write end points of a listing, and a link of four devices to MEMBER2: 10 and 20 messages a second."""
    build, config = monwrite.way_of(way)
    head = []
    for number, kind, activity, port, _, _, _, *text in publications.rows("isfeconf"):
        values = {"ZLEPID": int(number, 16), "ZLTYPE": kind, "ZLACT": activity, "ZLPORT": port}
        values["ZLNAME"] = " ".join(text).strip("'")
        head.append(build("D1R23", monwrite.START_US - 1_200, named("MTRISC", values)))
    devices = [0x0A40 + n if n < 4 else 0 for n in range(16)]
    link = {"ZLNODE": "MEMBER2", "ZLDEVCT": 4, "ZLDEVS": devices}
    head.append(build("D1R24", monwrite.START_US - 1_100, named("MTRILC", link)))
    groups = [monwrite.configuration(monwrite.START_US, config, more=head)]
    for number in range(3):
        end = monwrite.START_US + number * monwrite.MINUTE_US
        values = {"ZLNODE": "MEMBER2", "ZLLRCV": 10**6 + 600 * number, "ZLLSND": 10**6 + 1200 * number}
        values |= {"ZLFRCV": 30 * number, "ZLFSND": 30 * number}
        groups.append(monwrite.interval(end, [build("D9R4", end - 100, named("ISFNOD", values))]))
    return monwrite.write(folder / "a.mon", groups)


def ssi(folder: Path) -> Path:
    """Write a member of CLUSTER1: 30 synchronizations a minute, a state that changes, three end points.

    An end point with the id 0 means that no sample could be taken.
    """
    config = {**monwrite.CONFIG, "MTRSYS_HCPCPEID": "7.5.0"}
    facts = {"SYSPLXNM": "CLUSTER1", "SYSPLXLV": 1, "SYSPLXML": 2, "SYSPLXNS": 4, "SYSPLXNR": 3}
    cluster = real("D1R25", monwrite.START_US - 1_200, named("MTRSSI", facts))
    groups = [monwrite.configuration(monwrite.START_US, config, more=[cluster])]
    for number in range(4):
        end = monwrite.START_US + number * monwrite.MINUTE_US
        if number == 2:
            at = end - 20 * monwrite.S_US
            changed = {"SYSPLXOM": b"\x01", "SYSPLXPM": b"\x02", "CALOLDST": b"\x03", "CALNEWST": b"\x04"}
            events = [
                real("D11R3", at, named("SSISCH", {"CALSYSNM": "MEMBER2", **changed})),
                real("D11R8", at + monwrite.S_US, {"SSIPDR_SYSPLVOL": "PDRVL2"}),
            ]
            groups.append((False, events))
        samples = [
            real("D11R1", end - 300, named("SSISCS", {"PLMSYCNT": 100 + 30 * number, **sent(number)})),
            real("D11R2", end - 200, named("SSISMI", states(number))),
            *(real("D9R2", end - 100, named("ISFISA", end_point(number, point))) for point in (0, 1, 0x10)),
        ]
        groups.append(monwrite.interval(end, samples))
    return monwrite.write(folder / "a.mon", groups)


def sent(number: int) -> dict[str, int]:
    return {"PLMSYPRO": 60 * number, "PLMSYPRP": 28 * number}


def states(number: int) -> dict[str, int]:
    """Return counts of a member that joins for 2.5 s in the second minute; times are microseconds."""
    joined = number // 2
    counts = {"PLMNJONG": 3 + joined, "PLMNJOND": 3 + joined, "PLMNSUSP": joined, "PLMNINFL": 2 * joined}
    times = {"PLMTJONG": 2_500_000 * joined, "PLMTJOND": 60_000_000 * number - 2_500_000 * joined}
    return {**counts, **times, "PLMNSTAB": 2 * joined}


def end_point(number: int, point: int) -> dict[str, int]:
    """Return a sample: 10 messages of 100 bytes a second received and 5 sent, each times the id."""
    received, sent = 600 * number * point, 300 * number * point
    counts = {"SCKRXMSG": received, "SCKRXBYT": 100 * received, "SCKTXMSG": sent, "SCKTXBYT": 100 * sent}
    return {"SCKID": point, **counts, "SCKTXDSC": 2 * number, "SCKOUTSD": 4, "SCKIQCTR": number}


def isfc_pages(folder: Path) -> Path:
    """Write the end points of a listing, and a link of two devices, with the layouts of the record pages."""
    config = {**monwrite.CONFIG, "MTRSYS_HCPCPEID": "7.3.0"}
    kinds = {"LSN": 0, "DGR": 2}
    head = []
    for end_point, kind, activity, port, _, _, _, *text in publications.rows("isfeconf"):
        assert activity == "BND"
        values = {"SCKID": int(end_point, 16), "SCKTYPE": kinds[kind], "ACTIVITY": 1, "SCKPORT": port}
        values["SCKNAME"] = " ".join(text).strip("'")
        head.append(real("D1R23", monwrite.START_US - 1_200, named("MTRISC", values)))
    link = {"NODEID": "MEMBER2", "LNKDEVCT": 2, "LDVDEVID": "0A400A41"}
    head.append(real("D1R24", monwrite.START_US - 1_100, named("MTRILC", link)))
    groups = [monwrite.configuration(monwrite.START_US, config, more=head), *monwrite.minutes(2)]
    return monwrite.write(folder / "a.mon", groups)


def pools_of_pages(folder: Path) -> Path:
    """Write a pool that is defined, and a user that joins another, with the layouts of the record pages."""
    config = {**monwrite.CONFIG, "MTRSYS_HCPCPEID": "7.3.0"}
    at = monwrite.START_US + 30 * monwrite.S_US
    defined = {
        "LIMPOOL": "WEB",
        "FLAGS": 0x80,
        "LIMCPUTY": IFL,
        "TYPELIM": CAPACITY,
        "COMMAND": 1,
        "MAXSHARE": 150,
    }
    joins = {"VMDUSER": "LNXBAT01", "COMMAND": 2, "PREVPOOL": "WEB"}
    events = [
        real("D1R29", at, named("MTRCPD", defined)),
        real("D4R13", at + monwrite.S_US, named("USECPC", joins)),
    ]
    groups = [monwrite.configuration(monwrite.START_US, config), *monwrite.minutes(1), (False, events)]
    return monwrite.write(folder / "a.mon", [*groups, *monwrite.minutes(2, first=1)])


def members(folder: Path, *members: Mapping[str, Any]) -> list[Path]:
    """Write files of ZVM1, ZVM2 with a guest that uses these seconds a minute, for four minutes."""
    return [member(folder / f"ZVM{number}", **given) for number, given in enumerate(members, 1)]


def member(
    path: Path,
    used_s: float = 30,
    machine: str = "3931",
    capability: int | None = 500,
    cluster: str | None = "SSI1",
    guest: str = "LNX1",
    **more: Any,
) -> Path:
    intervals = []
    for n in range(5):
        at = guests.end_of(n)
        found = [guests.processor(at, used_s * n), guests.activity(at, guest, used_s * n, **more)]
        if capability is not None:
            found.append(monwrite.sim_record("D0R19", at - 300, {"SYTSYG_CPUCAPAB": capability}))
        intervals.append(found)
    config = {**monwrite.SIM_CONFIG, "MTRSYS_SYSTMID": path.name, "MTRSYS_SYSMTYPE": machine}
    begin = monwrite.START_US - monwrite.MINUTE_US - 1_200
    cluster_records: Iterable[bytes] = [real("D1R25", begin, {"MTRSSI_SYSPLXNM": cluster})] if cluster else []
    return guests.write(path, intervals, config=config, more=cluster_records)
