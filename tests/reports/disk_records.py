"""Inputs of devices, channels, PCI functions, paging and networks, from counters with known rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import io_builder
import publications
from fake_session import FakeSession

import monwrite_builder as monwrite
import record_encoder
import smf_io_builder
from monwrite_builder import (
    MINUTE_US,
    S_US,
    SIM_CONFIG,
    START_US,
    Way,
    configuration,
    event,
    interval,
    way_of,
)
from storage_builder import PREFIXES, Minute, alike
from zlens import _native
from zlens.catalog import groups, layouts

NAMES = ("rate", "pend", "disc", "conn", "cu_wait", "queued", "read_pct")
DASD, TAPE = 4, 64


def devices(
    folder: Path,
    *samples: Mapping[int, Mapping[str, Any]],
    others: Sequence[int] = (),
    minutes: int = 1,
    model: bool = False,
    way: str | Way = "sim",
) -> Path:
    """Write devices with these rates in consecutive intervals; `others` are not disks."""
    what = {"MTRDEV_RDEVDVID": "3390", "MTRDEV_CALMODLN": 9} if model else {}
    known = dict.fromkeys(samples[0], what) if model or others else {}
    known |= {number: {"MTRDEV_RDEVCLAS": TAPE} for number in others}
    form = io_builder.Form(*way_of(way))
    return io_builder.devices(folder / "a", samples, known, minutes, form)


#: The published numbers before rounding: the sums are of unrounded times.
FED = {
    0xBE0E: (2149, 0.2293, 0.0032, 0.1933, 0.0, 13.2),
    0xBE0F: (2142, 0.230, 0.003, 0.194, 0.0, 14.165),
    0xBE12: (748, 0.233, 0.003, 1.060, 0.101, 0.0),
    0xBE14: (743, 0.233, 0.002, 1.069, 0.103, 0.0),
    0xBE1A: (741, 0.232, 0.001, 1.080, 0.101, 0.0),
    0xBE1F: (742, 0.233, 0.002, 1.071, 0.102, 0.0),
}
FED_RUNS = {
    1: (180.0, 0.147, 0.479, 0.229, 0.0, 0.1161, 97),
    2: (89.4, 0.156, 2.766, 0.271, 0.0, 0.292, 93),
    5: (45.5, 0.241, 10.5, 0.480, 0.0, 0.8908, 84),
}


def alias_volumes(folder: Path) -> Path:
    """Write the six volumes of a run that shares HyperPAV aliases."""
    fed: dict[int, dict[str, Any]] = {}
    for address, _, serial, links, *_ in publications.rows("device-volumes"):
        fed[int(address, 16)] = dict(zip(NAMES, FED[int(address, 16)], strict=False)) | {
            "IODDEV_RDEVSER": serial,
            "IODDEV_RDEVLCNT": int(links),
            "IODDEV_RDEVLPM": 0b1111_0000,
        }
    return devices(folder, fed, minutes=10, model=True)


def paging_runs(folder: Path) -> Path:
    """Write a device for each run of paging volumes, for an hour, since queues are counted by samples."""
    fed = {number: dict(zip(NAMES, values, strict=True)) for number, values in FED_RUNS.items()}
    return devices(folder, fed, minutes=60, model=True)


SEEKS = [
    (0x145, "MAINT", 0x190, 100, 120),
    (0x145, "MAINT", 0x190, 120, 90),
    (0x145, "CHVSCS", 0x193, 400, 524),
]


def device_with_seeks(folder: Path) -> Path:
    """Write the device of IBM's example over three hours, another device, and the seeks of two users."""
    ours = {"rate": 4.6, "pend": 4.8, "disc": 38.5, "conn": 7.3, "queued": 0.0161, "read_pct": 54}
    ours |= {"IODDEV_RDEVSER": "VMPG1C", "IODDEV_RDEVLCNT": 41, "IODDEV_RDEVLPM": 0xC0}
    ours |= {"IODDEV_RDEVSID": 0x10011}
    what = {"MTRDEV_RDEVDVID": "3380", "MTRDEV_CALMODLN": 10, "MTRDEV_RDEVCHPS": "0141000000000000"}
    devices = io_builder.configured({0x145: what, 0x146: {}})
    groups = [configuration(START_US, SIM_CONFIG, 60 * 60, devices)]
    for n in range(4):
        end = START_US + n * 60 * MINUTE_US
        operations = round(5.5 * 3600 * n)
        cache = {
            "IODCAD_RDEVSID": 0x10011,
            "IODCAD_NR_SSID": 0x8A,
            "IODCAD_NR_READ_NORMAL": round(operations * 0.54),
            "IODCAD_NR_WRITE_NORMAL": round(operations * 0.46),
        }
        records = [io_builder.activity(0x145, end, 60 * n, ours)]
        records.append(io_builder.activity(0x146, end, 60 * n, {"rate": 1.0}))
        records.append(monwrite.sim_record("D6R4", end - 50, cache))
        for i, (device, user, virtual, first, last) in enumerate(SEEKS if n else []):
            values = {"RDEVDEV": device, "VMDUSER": user, "VDEVDEV": virtual, "CALCURCY": first}
            seek = {f"SEKSEK_{k}": v for k, v in {**values, "CALSKCYL": last}.items()}
            groups.append(event("D7R1", end - 3000 + i, seek))
        groups.append(interval(end, records))
    return monwrite.write(folder / "a", groups)


def paged_and_spooled(folder: Path) -> Path:
    """Write two paging volumes, the second with spool slots."""
    minute: Minute = [
        ("D3R4", {"RDEVDEV": 0x2000, "CALVSER": "PAG000", "CALPAGE": 250_000, "EXPCTPRD": 60_000,
                  "EXPCTPWR": 30_000, "EXPCURQC": 3, "ZLMLOAD": 1_500}),
        ("D3R4", {"RDEVDEV": 0x2001, "CALVSER": "PAG001", "CALPAGE": 450_000, "CALSPOOL": 50_000,
                  "EXPCTPRD": 6_000, "EXPCTPWR": 24_000, "EXPCTSRD": 600, "EXPCTSWR": 60,
                  "ZLMLOAD": 5_500}),
    ]  # fmt: skip
    return alike(folder / "a", minute)


def cached_disks(folder: Path, *minutes: Sequence[tuple[int, int, float, float, float]]) -> Path:
    """Write disks (subchannel, SSID, reads a second, share of hits, writes) by minute.

    Two thirds of the reads are sequential.
    """
    groups = [configuration(START_US, SIM_CONFIG)]
    totals: dict[int, dict[str, int]] = {}
    for n in range(len(minutes) + 1):
        end = START_US + n * MINUTE_US
        records = []
        for subchannel, ssid, reads, hits, writes in minutes[n - 1] if n else minutes[0]:
            counts = {
                "READ_NORMAL": reads / 3,
                "READ_NORMAL_HITS": reads * hits / 3,
                "READ_SEQ": reads * 2 / 3,
                "READ_SEQ_HITS": reads * hits * 2 / 3,
                "WRITE_NORMAL": writes,
                "WRITE_FAST_NORMAL_HITS": writes / 2,
                "DASD_TO_CACHE": reads * (1 - hits),
            }
            total = totals.setdefault(subchannel, dict.fromkeys(counts, 0))
            for name, rate in counts.items():
                total[name] += round(rate * 60) if n else 0
            own = {"IODCAD_RDEVSID": 0x10000 + subchannel, "IODCAD_NR_SSID": ssid}
            own |= {"IODCAD_NR_UNIT_ADDRESS": subchannel}
            own |= {f"IODCAD_NR_{name}": count for name, count in total.items()}
            records.append(monwrite.sim_record("D6R4", end - 100, own))
            device = {"IODDEV_RDEVDEV": 0x200 + subchannel, "IODDEV_RDEVSER": f"VOL{subchannel:03}"}
            device |= {"IODDEV_RDEVSID": 0x10000 + subchannel}
            records.append(monwrite.sim_record("D6R3", end - 50, device))
        groups.append(interval(end, records))
    return monwrite.write(folder / "a", groups)


#: Maxima of a FICON channel per second, and the size of its data units.
CAN = {"MBC": 1_000_000, "MCU": 10_000, "MWU": 50_000, "MRU": 50_000, "US": 4096}
#: Counts per second of a busy channel path.
BUSY = {"TBC": 300_000, "TUC": 4_000, "PUC": 1_000, "TWU": 2_560, "PWU": 256, "TRU": 25_600, "PRU": 12_800}


def channel_paths(
    folder: Path, chpids: Mapping[int, Sequence[bool]], group: int = 2, bare: bool = False
) -> Path:
    """Write channel paths, busy or idle by minute; `bare` adds one whose records are only headers."""
    (layout,) = (one for one in layouts.layouts("D0R20") if one.release == "5.3")
    groups = [configuration(START_US)]
    for n in range(len(next(iter(chpids.values()))) + 1):
        end = START_US + n * MINUTE_US
        records = [monwrite.record("D0R20", end - 200, {"SYTEPM_CALCHPID": 0x10})] if bare else []
        for chpid, states in chpids.items():
            entry = {"SYTEPM_CUIV": 0x7F} | {
                f"SYTEPM_SMF73{name}": 60 * sum(states[:n]) * rate for name, rate in BUSY.items()
            }
            can = {"SYTEPM_CHPID": chpid, "SYTEPM_CMG": group, "SYTEPM_CMCV": 0x1F} | {
                f"SYTEPM_SMF73{k}": v for k, v in CAN.items()
            }
            sections = {"ECMENTRY": [entry], "CMCHARS": [can]}
            tod = _native.tod_from_unix_us(end - 100)
            records.append(
                record_encoder.encode(layout, {"SYTEPM_CALCHPID": chpid}, tod=tod, entries=sections)
            )
        groups.append(interval(end, records))
    return monwrite.write(folder / "a", groups)


def alias_pool(folder: Path, way: str | Way = "sim") -> Path:
    """Write the published intervals as counters of a pool of 16 aliases."""
    make, config = way_of(way)
    rows = publications.rows("hpalias")
    begin = round(datetime(2016, 9, 1, 22, 1, 18, tzinfo=UTC).timestamp() * 1e6)
    counters = {"MDISK": [0, 0], "PAGING": [0, 0]}
    groups = [configuration(begin, config)]
    for n in range(len(rows) // 2 + 1):
        end = begin + n * MINUTE_US
        entries = []
        for _, _, _, use, share, _, in_use, queued in rows[2 * n - 2 : 2 * n] if n else rows[:2]:
            if n:
                counters[use][0] += round(float(in_use) * MINUTE_US)
                counters[use][1] += round(float(queued) * MINUTE_US)
            busy, waited = counters[use]
            values = {"ZLTYPE": use, "ZLSHARE": int(share), "ZLINUSE": busy, "ZLQUEUED": waited}
            entries.append({f"IODHPP_{k}": v for k, v in values.items()})
        values = {"IODHPP_HPPOOLNM": 0, "IODHPP_HPPTOKEN": 0x0600, "IODHPP_HPPNALIS": 16}
        groups.append(interval(end, [make("D6R28", end - 100, values, {"CALUSE": entries})]))
    return monwrite.write(folder / "a", groups)


def alias_pool_alone(folder: Path) -> Path:
    """Write a pool of 8 aliases, whose uses are in no layout: 10 tries a second."""
    groups = [configuration(START_US)]
    for n in range(3):
        end = START_US + n * MINUTE_US
        values = {"HPPOOLNM": 3, "HPPTOKEN": 0x0701, "HPPNALIS": 8, "HPPTRIES": 600 * n}
        record = monwrite.record("D6R28", end - 100, {f"IODHPP_{k}": v for k, v in values.items()})
        groups.append(interval(end, [record]))
    return monwrite.write(folder / "a", groups)


def io_events(folder: Path) -> Path:
    """Write events of the I/O domain, one of them only a header, and a logon."""
    happened = [
        ("D6R1", {"IODVON_RDEVDEV": 0x145, "IODVON_RDEVSER": "VMPG1C"}),
        ("D6R17", {"IODDCH_CALCHPID": 0x41}),
        ("D6R29", {"IODHPC_HPPOOLNM": 2, "IODHPC_HPPTOKEN": 0x0600}),
        ("D6R25", {"IODQDA_RDEVDEV": 0xF00, "IODQDA_VMDUSER": "TCPIP", "IODQDA_VDEVDEV": 0x600}),
        ("D4R1", {"USELON_VMDUSER": "SOMEBODY"}),
    ]
    begin = START_US + 30 * S_US
    first, second, third, last = monwrite.minutes(4)
    events = [event(name, begin + i * S_US, values) for i, (name, values) in enumerate(happened)]
    later = [
        event("D6R2", begin + 2 * MINUTE_US, {"IODVOF_RDEVDEV": 0x145}),
        monwrite.bare_event("D6R42", begin - S_US),
    ]
    return monwrite.write(
        folder / "a", [configuration(START_US), first, *events, second, third, *later, last]
    )


MIB = 1024 * 1024
#: Type and counts per second of each PCI function, with the format of its block.
FUNCTIONS: Mapping[int, tuple[int, Mapping[str, int]]] = {
    0x10: (2, {"ZLFORMAT": 1, "ZLLOADS": 5, "ZLSTORES": 7, "ZLRXBYTE": 3 * MIB, "ZLRXPACK": 2000,
               "ZLTXBYTE": MIB}),
    0x11: (3, {"ZLFORMAT": 2, "ZLBLOCKS": 9, "ZLWORK": 250, "ZLMAXWRK": 1000}),
    0x12: (5, {"ZLFORMAT": 3, "ZLREFRSH": 11, "ZLTXBYTE": 2 * MIB}),
    0x13: (11, {"ZLFORMAT": 0, "ZLDMARD": MIB, "ZLDMAWR": 4 * MIB}),
}  # fmt: skip


def pci_functions(folder: Path, seconds: Sequence[int] = (60, 60), way: str | Way = "sim") -> Path:
    """Write PCI functions that are busy for these seconds of each minute; LINUX02 detaches one."""
    make, config = way_of(way)
    functions = [
        make("D1R27", START_US - 1_400, {"MTRPCI_ZLPFID": function, "MTRPCI_RPCIPFT": kind})
        for function, (kind, _) in FUNCTIONS.items()
    ]
    groups = [configuration(START_US, config, more=functions)]
    for n in range(len(seconds) + 1):
        end = START_US + n * MINUTE_US
        records = []
        for function, (_, rates) in FUNCTIONS.items():
            values = {"IODPAC_RPCIPFID": function, "IODPAC_VPCIPFID": function + 0x100}
            for name, rate in rates.items():
                still = name in ("ZLFORMAT", "ZLMAXWRK")
                values[f"IODPAC_{name}"] = rate if still else rate * sum(seconds[:n])
            records.append(make("D6R39", end - 100, values))
        if n == 1:
            groups.append(_attachment(config, "D6R36", "IODPAT", end - 30 * S_US, 0x10, "LINUX01"))
            groups.append(_attachment(config, "D6R36", "IODPAT", end - 20 * S_US, 0x11, "LINUX02"))
        if n == 2:
            groups.append(_attachment(config, "D6R37", "IODPDT", end - 20 * S_US, 0x11, "LINUX02"))
        groups.append(interval(end, records))
    return monwrite.write(folder / "a", groups)


def _attachment(
    config: Mapping[str, Any], record: str, prefix: str, time_us: int, function: int, user: str
) -> monwrite.Group:
    values = {"RPCIPFID": function, "VPCIPFID": function + 0x100, "VMDUSER": user}
    synthetic = layouts.sim_layouts(record) if config == monwrite.SIM_CONFIG else []
    layout = (synthetic or layouts.layouts(record))[0]
    tod = _native.tod_from_unix_us(time_us)
    return False, [record_encoder.encode(layout, {f"{prefix}_{k}": v for k, v in values.items()}, tod=tod)]


AREAS = [
    {"RDEVDEV": 0x2000, "CPVOLSER": "PAG000", "CALTYPE": "page", "CALSTART": 1, "ZLSLOTS": 1_000_000},
    {"RDEVDEV": 0x2001, "CPVOLSER": "PAG001", "CALTYPE": "page", "CALSTART": 1, "ZLSLOTS": 3_000_000},
    {"RDEVDEV": 0x2001, "CPVOLSER": "PAG001", "CALTYPE": "spol", "CALSTART": 9, "ZLSLOTS": 500_000},
]
MINUTE: list[tuple[str, Mapping[str, Any]]] = [
    ("D3R4", {"RDEVDEV": 0x2000, "CALVSER": "PAG000", "CALPAGE": 250_000, "EXPCTPRD": 60_000,
              "EXPCTPWR": 30_000, "SCGSSCH": 12_000, "EXPCURQC": 3, "ZLMLOAD": 1_500}),
    ("D3R4", {"RDEVDEV": 0x2001, "CALVSER": "PAG001", "CALPAGE": 450_000, "CALSPOOL": 50_000,
              "EXPCTPRD": 6_000, "EXPCTPWR": 24_000, "EXPCTSRD": 600, "EXPCTSWR": 60, "SCGSSCH": 6_000,
              "ZLMLOAD": 5_500}),
    ("D0R1", {"PFXCPUAD": 0, "PLSPIOPR": 66_000, "PLSPIOPW": 54_000}),
    ("D3R8", {"PGDBR": [0] * 5 + [11_000] + [0] * 14}),
    ("D0R3", {"RSAPGABL": 60_000_000, "RSAAVAIL": 2_500, "RSA2GAVL": 41_000, "RSAFRQWT": 2}),
    ("D3R1", {"RSAAVLLT": 1_500, "RSAAVLHT": 3_000, "RSAAVLLG": 20_000, "RSAAVLHG": 50_000, "RSAEMPTY": 15,
              "ZLRSVD": 123_456}),
    ("D6R21", {"RDEVDEV": 0x600, "LANID": "SYSTEM  VSW1", "VMDUSER": "DTCVSW1", "NICRXBYT": 60_000_000,
               "NICTXBYT": 30_000_000, "NICRXPKT": 60_000, "NICTXPKT": 42_000, "NICRXDSC": 30,
               "VQSOQOVR": 6}),
    ("D6R35", {"ZLDEV": 0x604, "ZLLAN": "SYSTEM  VSW1", "ZLRXBYT": 6_000, "ZLTXPKT": 60}),
    ("D8R1", {"OWNER": "LNX001", "VDEVDEV": 0x700, "LANID": "SYSTEM  VSW1", "SESTXBYT": 24_000_000,
              "SESRXBYT": 48_000_000, "SESTXPKT": 30_000, "SESRXPKT": 54_000, "SESRXERR": 6}),
    ("D8R1", {"OWNER": "LNX002", "VDEVDEV": 0x700, "LANID": "SYSTEM  VSW1", "SESTXBYT": 6_000_000,
              "SESRXBYT": 12_000_000, "SESTXDSC": 60}),
    ("D8R4", {"ZLNAME": "SYSTEM  GLOBAL1", "ZLRXBYT": 600_000, "ZLTXBYT": 300_000, "ZLRXPKT": 600}),
]  # fmt: skip


def storage(folder: Path, way: str | Way = "sim") -> Path:
    """Write paging volumes, available lists and virtual switches; for 5.3 only what it records."""
    make, config = way_of(way)
    minute, areas = MINUTE, AREAS
    if way == "5.3":
        ours = {"ZLMLOAD", "ZLRSVD", "ZLSLOTS"}
        minute = [
            (name, {key: value for key, value in given.items() if key not in ours})
            for name, given in MINUTE
            if name not in ("D6R35", "D8R4")
        ]
        areas = [{key: value for key, value in area.items() if key not in ours} for area in AREAS]
    return alike(folder / "a", minute, areas, make=make, config=config)


VOLUMES = 224
MEANS = ("rate", "avoided", "pend", "disc", "conn", "serv", "resp", "cu_wait", "queued", "busy", "read_pct")
#: Corrections of the published times within rounding: their sum is of unrounded times.
HIDDEN = {
    "AP1Z604G": {"queued": -0.0039},
    "AP2Z604G": {"disc": -0.004, "queued": 0.002},
    "AP3Z604G": {"disc": -0.0001},
    "AP5Z604G": {"queued": 0.0008},
}
RUNS = ("AP1Z604G", "AP2Z604G", "AP3Z604G", "AP4Z604D", "AP5Z604G")


def _means(run: str) -> dict[str, float]:
    """Return the published means, corrected within rounding."""
    row = publications.rows("paging")[RUNS.index(run)]
    found = dict(zip(MEANS, map(float, row[3:]), strict=True))
    for name, more in HIDDEN.get(run, {}).items():
        found[name] += more
    return found


def _swaying(number: int, times: int) -> float:
    """Return a deviation: up for `times` volumes and down by the same for the next `times`."""
    return (number // (2 * times) % 10) / 40 * (1 if number // times % 2 else -1)


def paging_rows(folder: Path, show: str) -> FakeSession:
    """Return measures of 224 paging volumes with the published means, as one group; pairs have one rate."""
    end = datetime(2019, 5, 1, 12, tzinfo=UTC)
    share = VOLUMES if show == "sum" else 1
    tables: dict[str, list[Mapping[str, object]]] = {"system": [], "interval": [], "device": [], "paging": []}
    for run in RUNS:
        mean = _means(run)
        head = {"system": run, "source": "zvm-monitor", "interval_end": end, "seconds": 600.0}
        tables["system"].append({"system": run, "source": "zvm-monitor", "release": "7.1.0"})
        tables["interval"].append({**head, "interval_start": end - timedelta(minutes=10)})
        for number in range(VOLUMES):
            slower = 1 + _swaying(number, 1)
            rate = mean["rate"] / share * (1 + _swaying(number, 2))
            named = {**head, "device": f"{0x4000 + number:04X}", "volume": f"PG{number:04}"}
            times = ("pend", "disc", "conn", "serv", "resp")
            tables["device"].append(
                {
                    **named,
                    "rate": rate,
                    "measured_rate": rate,
                    **{f"{name}_s": mean[name] / 1000 * slower for name in times},
                    "queued": mean["queued"] / share * slower,
                    "busy_pct": mean["busy"] / share * slower,
                    "cu_wait_s": 0.0,
                    "avoided_rate": 0.0,
                    "read_pct": mean["read_pct"],
                    "links": 0,
                    "paths": number % 2 + 7,
                }
            )
            tables["paging"].append({**named, "area": "PAGE", "slots": 9_000_000})
    session = FakeSession(tables)
    wanted = groups.parse(f'show = "{show}"\n[device]\n"4000-40DF" = "PAGING"\n', "groups.toml")
    for name in ("device", "paging"):
        session.connection.execute(f"ALTER TABLE {name} RENAME TO {name}_each")
        query = groups.sql(name, f"SELECT * FROM {name}_each", wanted)
        session.connection.execute(f"CREATE TABLE {name} AS {query}")
    return session


def paging_volumes(folder: Path, runs: Sequence[str] = RUNS) -> list[Path]:
    """Write counters of 224 volumes of each run over an hour, each at or near the published rate."""
    paths = []
    hour = 60 * MINUTE_US
    for run in runs:
        mean = _means(run)
        written = [configuration(START_US, {**SIM_CONFIG, "MTRSYS_SYSTMID": run}, 3600)]
        for end, minutes in ((START_US, 0), (START_US + hour, 60)):
            records = []
            for number in range(VOLUMES):
                given = {name: mean[name] for name in ("pend", "disc", "conn", "read_pct", "queued")}
                given |= {
                    "rate": mean["rate"] * (1 + _swaying(number, 1)),
                    "IODDEV_RDEVSER": f"PG{number:04}",
                }
                records.append(io_builder.activity(0x4000 + number, end, minutes, given))
                page = {"RDEVDEV": 0x4000 + number, "CALVSER": f"PG{number:04}", "CALPAGE": 1_000}
                values = {f"{PREFIXES['D3R4']}_{name}": value for name, value in page.items()}
                records.append(monwrite.sim_record("D3R4", end - 100, values))
            written.append(interval(end, records))
        paths.append(monwrite.write(folder / run, written))
    return paths


def rmf_disks(folder: Path) -> Path:
    """Write two intervals of z/OS: disks at 100 and then 10 requests per second, in HyperPAV, and invalid."""
    disk = smf_io_builder.DEVICE
    slower = {**disk, "SSC": 9_000, "MEC": 8_000, "CNN": 20_000, "PEN": 25_000, "DIS": 5_000, "IOS": 0.0}
    slower |= {"CMR": 6_000, "DVB": 1_000, "IDT": 400_000}
    base = {**disk, "NUM": 0x0A02, "NM2": 0x0A02, "SER": "ZLVOL2", "CNX": ["HPV"], "NUX": 900, "PSM": 450}
    varied = {**disk, "NUM": 0x0A03, "NM2": 0x0A03, "SER": "ZLVOL3", "CNF": ["VAC"]}
    records = [
        smf_io_builder.devices(disk, base, varied),
        smf_io_builder.devices(slower, base, varied, number=2),
    ]
    return smf_io_builder.written(folder / "disks.smf", records)


def rmf_queues(folder: Path) -> Path:
    """Write an interval of one logical control unit of z/OS and its cache."""
    records = [
        smf_io_builder.queuing(),
        smf_io_builder.cached(smf_io_builder.CACHED, pools=[smf_io_builder.POOL]),
    ]
    return smf_io_builder.written(folder / "queues.smf", records)
