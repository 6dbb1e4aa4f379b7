"""Records of SMF 70-1 as fields of their sections, from times in seconds; and a session over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import fakes
from zlens.catalog import smf_sections
from zlens.options import Options
from zlens.readers import Column, Interval, SystemInfo
from zlens.session import Session

#: A record: fields by name, section by section.
Record = dict[str, list[dict[str, Any]]]

DEDICATED = 0xFFFF
#: Polarization in the first two bits of SMF70POF.
HORIZONTAL, LOW, MEDIUM, HIGH = 0x00, 0x40, 0x80, 0xC0
US = 1_000_000
NAMES = ("CP", "AAP", "IIP", "ICF", "IFL")
SAMPLES = 1800


@dataclass
class Logical:
    """A logical processor, as PR/SM tells of it. own_weight: SMF70POW, in units of the partition's weight."""

    type: str
    address: int
    total_s: float
    effective_s: float
    online_s: float | None = None
    weight: int = 100
    polarity: int = HORIZONTAL
    own_weight: float = 0.0
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Lpar:
    name: str
    number: int
    processors: Sequence[Logical]
    vertical: bool = False
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Cpu:
    """A processor as z/OS sees it: a thread, under multithreading. flags: SMF70CNF."""

    cid: int
    type: int
    wait_s: float
    parked_s: float = 0.0
    flags: int = 0x09
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Core:
    """A core of the system that writes; threads: how many of the processors, in their order, are its own."""

    number: int
    threads: int
    productivity: float
    busy_s: float
    valid: bool = True


def record(
    seconds: float,
    lpars: Sequence[Lpar],
    cpus: Sequence[Cpu],
    *,
    own: int,
    physical: Mapping[str, int],
    management_s: Mapping[str, float] | None = None,
    cores: Sequence[Core] = (),
    control: Mapping[str, Any] | None = None,
    product: Mapping[str, Any] | None = None,
) -> Record:
    """One interval of one system; *PHYSICAL* stands last, as PR/SM tells of it."""
    spent = management_s or {}
    told = [Logical(kind, n, second, 0.0, 0.0, 0) for n, (kind, second) in enumerate(spent.items())]
    all_lpars = [*lpars, *([Lpar("PHYSICAL", 0, told)] if told else [])]
    partitions: list[dict[str, Any]] = []
    logical: list[dict[str, Any]] = []
    for lpar in all_lpars:
        partitions.append(
            {
                "LPM": lpar.name,
                "LPN": lpar.number,
                "BDN": len(lpar.processors),
                "BDS": len(logical),
                "MSU": 0,
                "PFL": 0x2000 if lpar.vertical else 0,
                **lpar.fields,
            }
        )
        for one in lpar.processors:
            online_s = seconds if one.online_s is None else one.online_s
            logical.append(
                {
                    "PDT": round(one.total_s * US),
                    "EDT": round(one.effective_s * US),
                    "ONT": round(online_s * US),
                    "VPA": one.address,
                    "BPS": one.weight,
                    "VPF": 0,
                    "POF": one.polarity,
                    "CIX": NAMES.index(one.type) + 1,
                    "POW": round(one.own_weight * 4096 * SAMPLES),
                    **one.fields,
                }
            )
    skip = 0
    sections = []
    for core in cores:
        sections.append(
            {
                "CORE_ID": core.number,
                "CORE_FLG": 0x80 if core.valid else 0,
                "CPU_SKIP": skip,
                "CPU_NUM": core.threads,
                "PROD": round(core.productivity * 1024),
                "LPAR_BUSY": round(core.busy_s * 1000),
            }
        )
        skip += core.threads
    return {
        "product": [{"INT": seconds, "PTN": own, "SAM": SAMPLES, **(product or {})}],
        "control": [{"DSA": SAMPLES, "HHF": 0xC0, **(control or {})}],
        "cpu": [
            {"WAT": c.wait_s, "CID": c.cid, "CNF": c.flags, "TYP": c.type, "PAT": c.parked_s, **c.fields}
            for c in cpus
        ],
        "partition": partitions,
        "logical": logical,
        "name": [
            {"CIN": name, "CTN": physical.get(name, 0), "CAN": physical.get(name, 0) * SAMPLES}
            for name in NAMES
        ],
        "core": sections,
    }


def _values(section: smf_sections.Section, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of one section: 0 and blanks where nothing is said, and the bits of flags."""
    values: dict[str, Any] = {}
    for one in section.fields:
        kind = smf_sections.KINDS[one.kind]
        value = fields.get(one.name, None if kind == "time" else "" if kind == "text" else 0)
        values[one.column] = value
        for name, (bit, _) in one.bits.items():
            values[f"{one.column}_{name.lower()}"] = bool(value >> (8 * one.length - 1 - bit) & 1)
    unknown = set(fields) - {one.name for one in section.fields}
    assert not unknown, unknown
    return values


def _owners(made: Record) -> dict[str, list[int | None]]:
    """Which section a logical processor and a thread belong to."""
    partitions: list[int | None] = [None] * len(made["logical"])
    for number, one in enumerate(made["partition"]):
        partitions[one["BDS"] : one["BDS"] + one["BDN"]] = [number] * one["BDN"]
    cores: list[int | None] = [None] * len(made["cpu"])
    for number, one in enumerate(made["core"]):
        cores[one["CPU_SKIP"] : one["CPU_SKIP"] + one["CPU_NUM"]] = [number] * one["CPU_NUM"]
    return {"logical": partitions, "cpu": cores}


def tables(system: str, records: Sequence[Record], ends: Sequence[Interval]) -> list[fakes.FakeTable]:
    """The raw tables of a system's records."""
    found = []
    what = smf_sections.layout(70)
    for section in what.sections:
        columns = [Column(*facts) for facts in map(_facts, smf_sections.columns(what, section))]
        rows = []
        for offset, (made, end) in enumerate(zip(records, ends, strict=True)):
            owners = _owners(made).get(section.name)
            head = (system, "smf", "made", offset, end.end_us, end.end_us, end.seconds, end.flag)
            for number, fields in enumerate(made.get(section.name, [])):
                values = _values(section, fields) | {"section_no": number}
                if section.owner is not None and owners is not None:
                    values[section.owner.column] = owners[number]
                rows.append((*head, *(values.get(column.name) for column in columns)))
        found.append(fakes.FakeTable(section.table, (*fakes.HEADER, *columns), rows))
    return found


def _facts(column: Column) -> tuple[str, str]:
    return column.name, column.type


class SmfFake(fakes.FakeSource):
    name = "smf"


def session(
    systems: Mapping[str, Sequence[Record]],
    seconds: float = 1800.0,
    options: Options | None = None,
    **facts: Any,
) -> Session:
    """A session over records of systems, one interval after the other."""
    infos, made = [], []
    for name, records in systems.items():
        ends = [
            Interval(fakes.START_US + round(k * seconds * US), seconds, None, 1)
            for k in range(1, len(records) + 1)
        ]
        info = SystemInfo(name, "smf", machine_type="8561", serial="12F17", **facts)
        info.intervals = ends
        infos.append(info)
        made += tables(name, records, ends)
    return fakes.session([SmfFake(infos, made)], options)
