"""Inputs of the configuration, the capability and the counters of a system."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import cluster_records

import monwrite_builder as monwrite
from monwrite_builder import MINUTE_US, S_US, START_US, Way, configuration, interval, way_of

NOMINAL = {"SYTSYG_CPUCAPAB": 696, "SYTSYG_SCPCAPAB": 696, "SYTSYG_ZLNOMCAP": 696, "SYTSYG_ZLCAPIND": 100}


def capability(
    folder: Path,
    values: Mapping[str, int] = NOMINAL,
    config: Mapping[str, int] | None = None,
    way: str | Way = "sim",
) -> Path:
    """Write a capability of 500 in the first samples, and these values in the last, the only one reported."""
    written, own_config = way_of(way)
    groups = [configuration(START_US - S_US, {**own_config, **(config or {})})]
    for minute in range(3):
        end = START_US + minute * MINUTE_US
        given = values if minute == 2 else {"SYTSYG_CPUCAPAB": 500}
        groups.append(interval(end, [written("D0R19", end - 100, given)]))
    return monwrite.write(folder / "x", groups)


def threads_per_core(folder: Path, state: int) -> Path:
    """Write three minutes of a system with this state of multithreading."""
    config = {**monwrite.SIM_CONFIG, "MTRSYS_ZLMTSTAT": state}
    return monwrite.write(folder / "x", [configuration(START_US - S_US, config), *monwrite.minutes(3)])


MACHINE: Mapping[str, Any] = {
    "MTRSYS_SYSTMID": "SYSTEMID",
    "MTRSYS_SYSMTYPE": "2964",
    "MTRSYS_SYSMMODL": "704",
    "MTRSYS_SYSMSEQC": "0000000000012F17",
    "MTRSYS_CPUCAPAB": 492,
    "MTRSYS_SCPCAPAB": 492,
    "MTRSYS_LPARCAF": 41,
    "MTRSYS_CPUCOUNT": 8,
    "MTRSYS_CPUCFGCT": 4,
    "MTRSYS_CPUDEDCT": 4,
    "MTRSYS_ZLRCPTOT": 103,
    "MTRSYS_ZLRCPCFG": 4,
    "MTRSYS_ZLRCPRSV": 99,
    "MTRSYS_ZLSCPTOT": 99,
    "MTRSYS_ZLSCPCFG": 99,
    "MTRSYS_ZLSCPRSV": 4,
    "MTRSYS_ZLCFGMOD": 1,
}
#: Differences of the two runs; the listing of the second has no lines of STP.
PLAIN = {"MTRSYS_ZLMTSTAT": 1, "MTRSYS_CPUSTNBY": 4}
THREADS = {"MTRSYS_ZLMTSTAT": 3, "MTRSYS_ZLMTIFL": 2}
SETTINGS: Mapping[str, Any] = {
    "ZLLIMIT": 1,
    "ZLDSPWD": 1,
    "ZLPOLAR": 1,
    "ZLGPD": 1,
    "ZLMTSTAT": 3,
    "ZLMTRQMX": 255,
    "ZLMTACMX": 2,
    "ZLPADCP": 6400,
    **{f"ZLTHW{kind}": 1 if kind == "CP" else 2 for kind in ("CP", "IFL", "ICF", "ZIIP")},
    **{f"ZLTRQ{kind}": 255 for kind in ("CP", "IFL", "ICF", "ZIIP")},
    **{f"ZLTSY{kind}": 2 if kind == "IFL" else 1 for kind in ("CP", "IFL", "ICF", "ZIIP")},
    **{f"ZLTAC{kind}": 2 if kind == "IFL" else 1 for kind in ("CP", "IFL", "ICF", "ZIIP")},
}
#: The defaults of z/VM 6.2 and later (IBM, z/VM Performance Update, 2013: STORBUF 300 250 200).
SRM: Mapping[str, Any] = {
    "SRMBIASI": 90,
    "SRMBIASD": 2,
    "SRMTSLIC": 5_000 * 4096,
    **{f"SRMP{n}LDG": value for n, value in ((1, 100), (2, 75), (3, 60))},
    **{f"SRMP{n}WSS": value for n, value in ((1, 300), (2, 250), (3, 200))},
    **{f"SRML{n}DSP": 32767 for n in (1, 2, 3)},
    "ZLUNPARK": 3,
}


def configured(
    folder: Path,
    threads: int = 2,
    starts: tuple[str, ...] = (),
    settings: Mapping[str, Any] | None = None,
    events: tuple[tuple[int, str, Mapping[str, Any]], ...] = (),
    way: str | Way = "sim",
) -> list[Path]:
    """Write the configuration of IBM's listings, of a run with or without threads, and two intervals.

    Each start has a file; the last of several has five processors configured.
    """
    starts = starts or ("16:31:32" if threads == 2 else "16:04:29",)
    return [
        _configured(folder / start.replace(":", ""), start, threads, settings or {}, events, way, last)
        for start, last in zip(starts, [False] * (len(starts) - 1) + [len(starts) > 1], strict=True)
    ]


def _configured(
    path: Path,
    start: str,
    threads: int,
    settings: Mapping[str, Any],
    events: tuple[tuple[int, str, Mapping[str, Any]], ...],
    way: str | Way,
    changed: bool,
) -> Path:
    build, first = way_of(way)
    if way == "5.3":
        first = {"MTRSYS_HCPCPEID": "5.3.0"}

    def record(name: str, time_us: int, values: Mapping[str, Any]) -> bytes:
        return build(name, time_us, {k: v for k, v in values.items() if way != "5.3" or "_ZL" not in k})

    config = {**MACHINE, **(THREADS if threads == 2 else PLAIN if way != "5.3" else {})}
    if changed:
        config["MTRSYS_CPUCFGCT"] = 5
    begin = round(datetime.fromisoformat(f"2015-02-14 {start}").replace(tzinfo=UTC).timestamp()) * S_US
    more = [record("D1R4", begin - 1_900, {**first, **config})]
    for cpu in range(4 * threads):
        values = {"PFXCPUAD": cpu, "PFXIDSER": bytes.fromhex("012F17"), "PFXCPUTY": 3}
        values |= {"ZLCORE": cpu // threads, "ZLTHRD": cpu % threads, "ZLSTATUS": int(cpu > 0)}
        more.append(record("D1R5", begin - 1_800 + cpu, {f"MTRPRP_{k}": v for k, v in values.items()}))
    given = {f"MTRSCH_{name}": value for name, value in {**SETTINGS, **settings}.items()}
    more.append(record("D1R16", begin - 1_700, given))
    groups = [configuration(begin, None, 30, more)]
    for k in range(3):
        end = begin + k * 30 * S_US
        groups.append(interval(end, [record("D0R8", end - 9, {})]))
    groups += [(False, [monwrite.sim_record(name, begin + s * S_US, values)]) for s, name, values in events]
    return monwrite.write(path, groups)


def default_settings(folder: Path) -> list[Path]:
    """Write the settings of SET SRM in z/VM 6.2 and later."""
    return configured(folder, settings=SRM)


# Counts of two processors: fields of D0R1 and D0R2.
ACTIVITY: Mapping[str, tuple[int, int]] = {"PLSCTSS": (9000, 673), "PLSCTCS": (1, 0), "PLSCTHS": (0, 0)}
ENTRIES: Mapping[str, tuple[int, int]] = {
    "PFXRUNCP": (20_000, 10_000),
    "PLSFPPFSUCCESS": (7_000, 3_000),
    "PFXFSTPX": (5_000, 2_000),
    "PFXFSTXC": (3_000, 1_000),
    "PFXFSTSG": (2_000, 1_000),
    "PFXFST44": (600, 400),
    "PLSWRUCP": (374, 300),
}
SYSTEM: Mapping[str, int] = {
    "FTRDONE": 19,
    "ZLTSDROP": 336,
    "ZLDIAGIO": 489,
    "ZLFPPART": 7449,
    "ZL9CNRDY": 18,
    "ZL9CWAIT": 642,
    "ZL9CSOFT": 7,
    "ZL9CDISP": 9553,
    "ZLSIEINT": 30232,
    "ZLENWAIT": 16548,
    "ZLFRSUBB": 34118,
    "ZLFRTOTB": 34118,
    "ZLFRSUBA": 178404,
    "ZLFRTOTA": 178407,
    "ZLFCLEAR": 294,
    "ZLAVREQB": 1052,
    "ZLAVREQA": 740,
}


def system_counters(folder: Path, way: str | Way = "sim") -> Path:
    """Write two samples a minute apart; the counters of the first are near their wrap."""
    written, config = way_of(way)
    groups = [configuration(START_US - S_US, config)]
    for sample in (0, 1):
        end = START_US + sample * MINUTE_US
        records = []
        for cpu in (0, 1):
            for name, prefix, counts in (("D0R1", "SYTSYP", ACTIVITY), ("D0R2", "SYTPRP", ENTRIES)):
                values = {key: (2**32 - 100 + sample * count[cpu]) % 2**32 for key, count in counts.items()}
                if way == "5.3" and name == "D0R2":
                    values = {"PFXRUNCP": values["PFXRUNCP"]}
                values |= {"PFXCPUAD": cpu, "PFXCPUTY": 3}
                records.append(written(name, end - 200, {f"{prefix}_{k}": v for k, v in values.items()}))
        counts_of = {k: v for k, v in SYSTEM.items() if way != "5.3" or not k.startswith("ZL")}
        values = {f"SYTSYG_{key}": 5 + sample * count for key, count in counts_of.items()}
        records.append(written("D0R19", end - 100, values))
        groups.append(interval(end, records))
    return monwrite.write(folder / "x", groups)


def translations(folder: Path) -> Path:
    """Write counters of address translations, the first of which wraps, and fewer processors at the end."""
    groups = [configuration(START_US)]
    for number in range(4):
        end = START_US + number * MINUTE_US
        values = {
            "SYTSYG_FTRDONE": (2**32 - 900 + 600 * number) % 2**32,
            "SYTSYG_FTRABORT": 50 + 6 * number,
            "SYTSYG_FTRNOTEL": 7,
            "SYTSYG_CPUCAPAB": 2000,
            "SYTSYG_CPUCOUNT": 8,
            "SYTSYG_CPUCFGCT": 6 if number < 3 else 5,
            "SYTSYG_CPUSTNBY": 1,
            "SYTSYG_CPURESVD": 1,
        }
        groups.append(interval(end, [monwrite.record("D0R19", end - 100, values)]))
    return monwrite.write(folder / "a.mon", groups)


def power_of_partition(folder: Path) -> Path:
    """Write sums of six readings a minute in a partition; the third minute has none of the machine.

    The powers are those of the example in the manual of zpwr: 1.7192, 40, 15406 and 7579 W.
    """
    groups = [monwrite.configuration(monwrite.START_US, {**monwrite.CONFIG, "MTRSYS_HCPCPEID": "7.3.0"})]
    for number in range(4):
        end = monwrite.START_US + number * monwrite.MINUTE_US
        readings = 6 * number
        sums = {"POWCPU": 140_000 * readings, "POWSTO": round(1719.2 * readings), "POWIO": 40_000 * readings}
        values = {"POWPARNM": "ZVMLPAR", "POWCOUNT": 1000 + readings, **sums}
        values["POWTOTCPC"] = 15_406_000 * min(readings, 12)
        values["POWUNASGN"] = 7_578_848 * min(readings, 12)
        groups.append(
            monwrite.interval(
                end, [cluster_records.real("D0R25", end - 100, cluster_records.named("SYTPOW", values))]
            )
        )
    return monwrite.write(folder / "a.mon", groups)
