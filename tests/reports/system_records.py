"""Inputs of z/OS, of Linux and of programs that export metrics."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import publications

import smf30_builder
import smf70_builder as smf70
import smf99_builder as smf99
import sysinfo_builder
from measures.test_smf70 import S0W1_S, ZIIP_S, four_ziips, s0w1
from readers import smf113_builder
from readers.section_builder import rmf
from readers.test_dds import MADE
from smf72_rows import UNITS, Row, opened, period
from zlens.session.session import CoreSession


def linux_system(folder: Path, more: str = "", alone: bool = False) -> Path:
    """Write texts of a Linux system; `more` is added to its sysinfo, the only text if `alone`."""
    if alone:
        path = folder / "sysinfo"
        path.write_text(sysinfo_builder.SYSINFO + more, encoding="utf-8")
        os.utime(path, (sysinfo_builder.MOMENT_S,) * 2)
        return path
    texts = sysinfo_builder.texts(proc__sysinfo=sysinfo_builder.SYSINFO + more)
    return sysinfo_builder.folder(folder / "s", texts)


def capability_factors(folder: Path, factors: Mapping[int, int] | None = None) -> Path:
    """Write a Linux system with these capability adjustments, by default those of the published table."""
    if factors is None:
        factors = {int(row[0]): round(float(row[2]) * 65536) for row in publications.rows("caf")}
    lines = [line for line in sysinfo_builder.SYSINFO.splitlines() if not line.startswith("Adjustment")]
    at = next(k for k, line in enumerate(lines) if line.startswith("Secondary"))
    lines[at:at] = [f"Adjustment {cpus:02}-way:    {value}" for cpus, value in factors.items()]
    texts = sysinfo_builder.texts(proc__sysinfo="\n".join(lines) + "\n")
    return sysinfo_builder.folder(folder / "s", texts)


def scrapes(folder: Path, *msu: str) -> list[Path]:
    """Write scrapes of RMF's Distributed Data Server, 100 s apart, with these MSUs of PROD1."""
    paths = []
    for number, value in enumerate(msu):
        path = folder / f"scrape{number}.txt"
        text = MADE.replace('line_type="CP"} 400', f'line_type="CP"}} {value}')
        path.write_text(text, encoding="utf-8")
        os.utime(path, (1_700_000_000 + 100 * number,) * 2)
        paths.append(path)
    return paths


def jobs(folder: Path) -> Path:
    """Write a job with a step and an interval, and another job without counts."""
    record = smf30_builder.record
    records = [record(smf30_builder.INTERVAL), record(smf30_builder.STEP, 30), record(smf30_builder.JOB, 31)]
    records.append(record(smf30_builder.JOB, 40, job="OTHER", counts=None))
    return smf113_builder.dump(folder / "a", records)


def jobs_with_io(folder: Path) -> Path:
    """Write an interval with I/O and paging, and one without, whose paging counts are incomplete."""
    io, storage = smf30_builder.IO, smf30_builder.STORAGE
    idle = {"io_activity": [io | {"AIS": 0}], "storage": [storage | {"SFL": ["SIN"]}]}
    records = [
        smf30_builder.record(smf30_builder.INTERVAL, more={"io_activity": [io], "storage": [storage]}),
        smf30_builder.record(smf30_builder.INTERVAL, 1, job="IDLE", more=idle),
    ]
    return smf113_builder.dump(folder / "a", records)


def zos_paging(folder: Path) -> Path:
    """Write paging and page data sets of two quarters of an hour; the second has twice the pages read."""
    records: list[bytes] = []
    for quarter in (1, 2):
        paging: dict[str, Any] = {
            "ULC": 20_000 * quarter, "UHC": 65_535, "UAC": 50_000, "FIN": 2000,
            "MNT": 98_000, "MXT": 98_000, "LVT": 98_000, "MNF": 700 * quarter, "MXF": 9000,
            "LVF": 4000 * quarter, "MNX": 28_000, "MXX": 31_000, "LVX": 30_000,
            "MSR": 100, "XSR": 300, "ASR": 200, "MNA": 100_000, "MXA": 100_000, "TSC": 100_000,
            "MNU": 60_000, "MXU": 80_000, "LVU": 70_000, "PIN": 9000 * quarter, "POT": 4500,
            "SNI": 1800, "LNI": 900, "SNO": 900, "SBI": 2700, "LBI": 1800, "BLP": 45_000, "BLK": 4500,
            "VIN": 90, "VOT": 180, "SIN": 450, "SOT": 360, "PMV": 1800, "PMT": 9.0, "GRN": 90_000,
            "FBN": 180_000, "1RN": 27_000, "NRN": 2700, "LSI": 9, "RFL": ["PLP"],
            "L8M": 10, "L8X": 30, "L8A": 20, "PLM": 1, "PLX": 3, "PLA": 2,
        }  # fmt: skip
        records += rmf(71, 900 * quarter, {"paging": [paging]})
        for name, kind, used in (("PLPA", "LPA", 60), ("COMMON", "COM", 85), ("LOCAL1", "LOC", 30)):
            page_data_set: dict[str, Any] = {
                "DSN": f"PAGE.{name}", "PST": [kind], "FL2": ["DNM", "VIO"] if kind == "LOC" else ["DNM"],
                "CHA": "a800", "VOL": "PAGE01", "DEV": "33909", "SLA": 10_000, "MNU": 90 * used,
                "MXU": 100 * used, "AVU": 95 * used, "LVU": 95 * used, "USE": 90, "REQ": 90,
                "SIO": 450 * quarter, "PGX": 9000 * quarter,
            }  # fmt: skip
            records += rmf(75, 900 * quarter, {"page_data_set": [page_data_set]}, product={"SAM": 900})
    return smf113_builder.dump(folder / "a", records)


def printed_paging(folder: Path) -> Path:
    """Return the transcription of a printed page."""
    return Path(__file__).parents[2] / "docs" / "published" / "listings" / "rmf-paging.txt"


def address_space(folder: Path) -> Path:
    """Write an interval of a system address space."""
    return smf113_builder.dump(folder / "a", [smf30_builder.record(smf30_builder.SYSTEM)])


def ziips(folder: Path) -> Path:
    """Write four zIIPs with two threads per core, with times that result in IBM's figures."""
    return smf70.written(folder / "made.smf", {"SYSA": [four_ziips()]}, ZIIP_S)


def zpdt(folder: Path) -> Path:
    """Write the zPDT system S0W1, with times that result in the figures of smf2db."""
    return smf70.written(folder / "made.smf", {"S0W1": [s0w1()]}, S0W1_S)


def own_partition(folder: Path, valid: bool = True) -> Path:
    """Write a system's data of its own partition: a group, a limit, power saving; samples may be invalid."""
    control = {
        "MCR": 1000, "WLA": 400, "LAC": 250, "GAU": -5, "CAI": 90, "CCR": 1, "PMT": 5, "PML": 20,
        "PMI": 1800, "PMW": 900, "PMP": 7, "HHF": 0xC0,
    }  # fmt: skip
    fields = {"PFL": 0x4000, "GNM": "GROUP1", "GMU": 800}
    lpar = smf70.Lpar("A", 1, [smf70.Logical("CP", 0, 10, 9)], fields=fields)
    content = smf70.record(100, [lpar], [smf70.Cpu(0, 0, 80)], own=1, physical={"CP": 4}, control=control)
    content["product"][0]["FLA"] = 0x40 if valid else 0x4000
    content["asid"] = [{"RMN": 0, "RMM": 3, "RTT": 360}]
    return smf70.written(folder / "made.smf", {"A": [content]}, 100)


def capacity_group(folder: Path) -> Path:
    """Write a partition's data with its capacity group, queues of work, and the power of a z17."""
    lpars = [
        smf70.Lpar(
            name,
            number,
            [smf70.Logical("CP", 0, busy, busy - 10, fields={"NSW": capped, "NCA": capped // 2})],
            fields={"PFL": ["GRP"], "GNM": "GROUP1", "GMU": 200, "MSU": msu},
        )
        for number, (name, busy, capped, msu) in enumerate((("LP1", 910, 360, 80), ("LP2", 460, 0, 0)), 1)
    ]
    # 400 sixteenths of a microsecond per service unit: 144 MSU per hour of a CP.
    control = {
        "CPA_ACTUAL": 400, "CPA_SCALING_FACTOR": 1, "INB": ["SON"], "NUMPOWERSAMPLES": 60,
        "CPUPOWER": 60 * 70_000_000, "STORAGEPOWER": 60 * 1_000_000, "IOPOWER": 60 * 2_000_000,
        "CPCTOTALPOWER": 60 * 3_000_000_000, "CPCUNASSRESPOWER": 60 * 500_000_000,
        "CPCINFRAPOWER": 60 * 1_000_000_000, "POWERPARTITIONNAME": "LP1",
    }  # fmt: skip
    content = smf70.record(1800, lpars, [smf70.Cpu(0, 0, 450)], own=1, physical={"CP": 2}, control=control)
    content["asid"] = [
        {
            "RMM": 9, "RTT": 3600, "OMM": 4, "OTT": 2700, "IMN": 70, "IMM": 80, "ITT": 1800 * 75,
            "U00": 700, "U01": 1000, "U02": 100, "SRM": 900, "CMN": 1, "CMM": 12, "CTT": 1800,
        }
    ]  # fmt: skip
    return smf70.written(folder / "made.smf", {"SYSA": [content]}, 1800)


def parking(folder: Path) -> Path:
    """Write two minutes of HiperDispatch: four decisions with reasons, and a change of the topology."""
    increase, decrease = smf99.INCREASE, smf99.DECREASE
    unpark = {"VCM_DIAGCAPINCR": [f"{increase}DISCRUPREQU", f"{increase}DISCRUNPARK"], "VCM_MVSBUSY": 96 * 16}
    park = [f"{decrease}{name}" for name in ("BUSYTHR", "DISCRPARK", "DISCRPAREQU")]
    one_parked = {"VCM_CPULOUNPARKED": 2, "VCM_CPULOPARKED": 1}
    processors = [
        {
            "HD_TOPOCHG_CPU_INDEX": cpu, "CP_MISC": polarity, "CP_CI_NLINUSE": 3, "CP_CI_NL1": cpu + 1,
            "CP_CI_NL2": 2, "CP_CI_NL3": 1,
        }
        for cpu, polarity in enumerate((3, 2, 1))
    ]  # fmt: skip
    moved = [{**processors[0], "CP_CI_NL1": 9}, *processors[1:]]
    nodes = {0: 1, 1: 1, 2: 2}
    records = [
        smf99.topology(2, processors, nodes),
        smf99.decision(2),
        smf99.decision(4, unpark),
        smf99.decision(62, {**one_parked, "VCM_MVSBUSY": 96 * 16, "VCM_CECCAPFREE": 1_000_000}),
        smf99.topology(62, processors, nodes),
        smf99.decision(64, {**one_parked, "VCM_MVSBUSY": 40 * 16, "VCM_DIAGCAPDECR": park}),
        smf99.decision(66, VCM_FLAG2=["VCM_CECCAPVALID"]),
        smf99.topology(66, moved, nodes),
    ]
    return smf99.written(folder, records)


def published_class(folder: Path) -> CoreSession:
    """IBM, z/VM and simultaneous multithreading (2015, 2020): RMF report of the class WASTRANS."""
    mean = 12.69 * 614.053 / 0.001024
    row = period(
        614.053,
        {"mcnm": "WASTRANS", "mwnm": "WASWKLD", "mnsp": "PATPLEX", "mcf": 1024, "mcfs": 1508},
        ccpu=3545.743 * UNITS,
        csup=1995.640 * UNITS,
        csuc=2.64 * UNITS,
        crcp=5_502_452,
        ctat=mean,
        ctrr=mean,
        ciea=mean,
    )
    return opened([row])._core


def classes_with_goals(folder: Path, count: int = 2) -> CoreSession:
    """Return classes with each kind of goal, in equal intervals."""
    rows: list[Row] = [
        period(of={"mcnm": "HIGH"}, crgf=32, cval=50, cimp=1, ctou=300, ctot=100, ctsa=1000.0, ccde=60),
        period(
            of={"mcnm": "ONLINE", "ggnm": "LIMITED", "mcde": "what customers do"},
            cper=2, crgf=128, crtf=128, cval=500, cpct=90, rtdm=500, cimp=2, crcp=100, ctetx=100 * 0.4e6,
            buckets=[10, 0, 0, 0, 0, 60, 20, 0, 0, 0, 0, 0, 0, 10],
        ),
        period(of={"mcnm": "AVERAGE"}, crgf=64, crtf=64, cval=2, cimp=3, crcp=10, ctetx=10 * 3e6),
        period(of={"mcnm": "ALL", "mscf_mrcl": True, "mwnm": ""}, crs1=128, crgf=32, cval=50, cadf=32),
    ]  # fmt: skip
    return opened(*[rows] * count)._core


def class_with_states(folder: Path) -> CoreSession:
    """Return a class with samples of states, service and disk times in 10 s."""
    service: dict[str, Any] = {"csrv": 1e6, "ccpu": 9e5, "csrb": 1e5, "tpdp": 2 / 0.001024}
    row = period(
        10.0, ctsa=1000.0, ccus=100, supu=50, ctot=225, ccde=125, capr=10, caco=15, cidl=500, cunk=75,
        ctat=500 / 0.001024, ctrr=250 / 0.001024, circ=1000, cict=1 / 0.000128, cidt=2 / 0.000128,
        ciwt=0.5 / 0.000128, ciot=0.1 / 0.000128, **service,
    )  # fmt: skip
    return opened([row])._core


def published(folder: Path, name: str) -> Path:
    """Return the transcription of a published listing."""
    return Path(__file__).parents[2] / "docs" / "published" / "listings" / f"{name}.txt"
