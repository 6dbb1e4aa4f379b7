"""Disks of the demo machine's z/OS partition for each quarter of an hour: devices, control units, caches.

Their requests and times are those of the service classes, distributed over the disks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from zlens.demo import zos
from zlens.demo.zos import ClassWork, Sections, Values

#: Disks by logical control unit: number and serial of the volume, storage group, share of the requests.
_UNITS = {
    0x40: ((0x0A00, "ZLSYS1", "", 0.12), (0x0A01, "ZLPAG1", "", 0.02), (0x0A02, "ZLSPL1", "", 0.06)),
    0x41: (
        (0x0B00, "ZLDB01", "SGDB", 0.42),
        (0x0B01, "ZLDB02", "SGDB", 0.26),
        (0x0B02, "ZLWRK1", "SGWORK", 0.12),
    ),
}
#: Channel paths of all logical control units, as hexadecimal digits.
_PATHS = ("50", "51", "52", "53")
_IO_PROCESSORS = ("0000", "0001")
_PATH = {"CPST": ["CPI", "CPO"], "CUN": 1, "CPXF": ["CPXM"]}
#: What nothing else in the demo determines: parts of pending time, of requests and of reads, and levels.
_COMMAND_RESPONSE, _DEVICE_BUSY, _CU_BUSY = 0.55, 0.04, 0.06
_CU_BUSY_REQUESTS, _NO_ALIAS = 0.0008, 0.0004
_READS, _SEQUENTIAL, _READ_HITS, _WRITE_HITS = 0.72, 0.15, 0.94, 0.99
_ALLOCATIONS = 14
_DISK = {"CNF": ["STA"], "CNX": ["HPV", "CFC"], "DEV": "33909", "CU": "2107", "CAP": 10_017}
_ALIASES = {"HAIU": 3, "HCAD": 2, "HIOQ": 1}
_LOOKS = 1_000_000
#: Microseconds of an I/O processor per request.
_IOP_US = 45
#: Sizes of cache and of non-volatile storage, in KB.
_CACHE_KB = {"SCNF": 64_000_000, "SAVL": 63_400_000, "SCNV": 2_000_000}


def sections(work: Sequence[ClassWork], seconds: int, samples: int) -> Iterator[tuple[str, Sections]]:
    """Yield what each record contains besides its interval, with the entity of roles that it describes."""
    of_classes = [each.disk_io() for each in work]
    requests, connect, disconnect, pending = (
        sum(io[name] for io in of_classes) for name in ("starts", "connect", "disconnect", "pending")
    )
    disks = [disk for unit in _UNITS.values() for disk in unit]
    weights = {volume: share for _, volume, _, share in disks}
    split = {
        name: zos.split_by_weight(total, weights)
        for name, total in (
            ("SSC", requests),
            ("CNN", connect),
            ("DIS", disconnect),
            ("PEN", pending),
            ("CMR", round(pending * _COMMAND_RESPONSE)),
            ("DVB", round(pending * _DEVICE_BUSY)),
        )
    }
    counts = {volume: {name: parts[volume] for name, parts in split.items()} for volume in weights}
    yield "device", _devices(counts, seconds, samples)
    yield "lcu", _queuing(counts, seconds)
    for unit in _UNITS:
        yield "cache", _cache(unit, counts, seconds)


def _devices(counts: dict[str, dict[str, int]], seconds: int, samples: int) -> Sections:
    devices = []
    for unit, disks in _UNITS.items():
        for number, volume, group, _ in disks:
            count = counts[volume]
            concurrent = (count["CNN"] + count["DIS"]) * 128e-6 / seconds
            devices.append(
                {
                    **count,
                    **_DISK,
                    "MEC": count["SSC"],
                    "NUM": number,
                    "NM2": number,
                    "LCU": unit,
                    "SER": volume,
                    "SGN": group,
                    "ALC": samples,
                    "NDA": _ALLOCATIONS * samples,
                    "NUX": round(max(0.0, concurrent - 0.5) * samples),
                    "PSM": samples,
                }
            )
    control = {"SUB": "0020", "ENF": ["ECM", "FCM", "FID"], "TOT": len(devices), "GEN": len(devices)}
    return {"control": [control], "device": devices}


def _queuing(counts: dict[str, dict[str, int]], seconds: int) -> Sections:
    configurations: list[Values] = []
    paths: list[Values] = []
    units: list[Values] = []
    pools: list[Values] = []
    evenly = dict.fromkeys(_PATHS, 1.0)
    total = 0
    for number, (unit, disks) in enumerate(_UNITS.items()):
        unit_total = {
            name: sum(counts[volume][name] for _, volume, _, _ in disks)
            for name in ("SSC", "CNN", "DIS", "PEN", "CMR", "DVB")
        }
        requests = unit_total["SSC"]
        total += requests
        busy, busy_time = round(requests * _CU_BUSY_REQUESTS), round(unit_total["PEN"] * _CU_BUSY)
        taken, response, delayed, busy_requests = (
            zos.split_by_weight(value, evenly) for value in (requests, unit_total["CMR"], busy_time, busy)
        )
        configurations.append({"ID1": unit})
        paths += [
            {
                **_PATH,
                "configuration_no": number,
                "CPID": path,
                "CU1": disks[0][0],
                "PT": taken[path],
                "CUB": busy_requests[path],
                "CBT": delayed[path],
                "CMR": response[path],
            }
            for path in _PATHS
        ]
        units.append(
            {
                "ID2": unit,
                **{"DST": ["HIND"], "DSTX": ["L1FC"], "HCNT": 1},
                "QSM": busy + busy // 5,
                "QCT": busy,
                "DCTM": unit_total["CNN"],
                "DDTM": unit_total["DIS"],
                # The rest of the pending time.
                "CSST": unit_total["PEN"] - unit_total["CMR"] - unit_total["DVB"] - busy_time,
                "HIX": number + 1,
            }
        )
        failed = float(round(requests * _NO_ALIAS))
        pools.append({"HLCU": unit, "HCU": disks[0][0], "HTIO": float(requests), "HNAI": failed, **_ALIASES})
    started = zos.split_by_weight(total, dict.fromkeys(_IO_PROCESSORS, 1.0))
    processors = []
    for processor in _IO_PROCESSORS:
        starts = started[processor]
        busy = round(_LOOKS * starts * _IOP_US / 1e6 / seconds)
        processors.append(
            {
                "IQID": processor,
                "IFLG": ["IQI"],
                "IQCT": starts,
                "IQSM": starts + starts // 50,
                "IIPB": float(busy),
                "IIPI": float(_LOOKS - busy),
                "IIFS": float(starts),
                "IPII": float(starts),
                "ICUB": float(round(starts * _CU_BUSY_REQUESTS)),
            }
        )
    facts = {"GFLG": ["GIUD", "GCMR"], "TOT": len(units)}
    found = {"configuration_control": configurations, "path": paths, "lcu": units}
    return {**found, "global": [facts], "iop": processors, "pav": pools}


def _cache(unit: int, counts: dict[str, dict[str, int]], seconds: int) -> Sections:
    """Return the counts of a control unit, which only this system uses."""
    ssid = f"{unit + 0x2400:04x}"
    devices = []
    for number, volume, _, _ in _UNITS[unit]:
        requests = counts[volume]["SSC"]
        reads = round(requests * _READS)
        sequential = round(reads * _SEQUENTIAL)
        normal, writes = reads - sequential, requests - reads
        hits = {"DCRH": round(normal * _READ_HITS), "DRSH": sequential, "DWCH": round(writes * _WRITE_HITS)}
        values = {
            "DRCR": normal,
            "DRSR": sequential,
            "DWRC": writes,
            "DFWC": writes,
            **hits,
            "DNTD": normal - hits["DCRH"],
            "DTC": sequential // 10,
            "DCTD": writes // 8,
        }
        devices.append(
            {
                "DVOL": volume,
                "DEVN": number,
                "DUNT": f"{number & 0xFF:02X}",
                "DSID": ssid,
                **{name: float(value) for name, value in values.items()},
            }
        )
    first = _UNITS[unit][0][0]
    return {
        "control": [{"CINT": seconds, "NEDTYPEN": "2107", "NEDMODN": "900", "NEDMANUF": "IBM"}],
        "device": devices,
        "status": [{"SDEV": f"{first:04x}", "SSID": ssid, "SFT": 1, "SNAD": len(devices), **_CACHE_KB}],
    }
