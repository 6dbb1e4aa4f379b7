"""Records of SMF 70-1 from times in seconds, dumps of them, and a session over such a dump."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import smf_split
import zlens
from fakes import START_US
from zlens import _native
from zlens.api import Session
from zlens.catalog import smf_sections, smf_writer
from zlens.inputs.options import Options

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
    """A logical processor, as PR/SM reports it. own_weight: SMF70POW, in units of the partition's weight."""

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
    """A core of the recording system; threads: the number of consecutive processors that belong to it."""

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
    """Build one interval of one system; *PHYSICAL* is last, as in PR/SM's data."""
    spent = management_s or {}
    management = [Logical(kind, n, second, 0.0, 0.0, 0) for n, (kind, second) in enumerate(spent.items())]
    all_lpars = [*lpars, *([Lpar("PHYSICAL", 0, management)] if management else [])]
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
        "product": [{"PTN": own, "SAM": SAMPLES, **(product or {})}],
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


def encoded(
    system: str,
    content: Record,
    end_us: int,
    seconds: float,
    *,
    zone_s: int = 0,
    most: int | None = None,
    lengths: Mapping[str, int] | None = None,
) -> list[bytes]:
    """Encode a record, broken if it is longer than `most` bytes."""
    (product,) = content["product"]
    (control,) = content["control"]
    sections = {
        **content,
        "product": [{"MVS": "ZV030100", **smf_writer.interval(end_us, seconds, zone_s), **product}],
        "control": [{"MOD": "8561", "MDL": "716", "HWM": "T01", "CSC": "12F17", **control}],
    }
    facts: dict[str, Any] = {
        "system": system,
        "local_us": end_us + zone_s * US,
        "sections": sections,
        "lengths": lengths,
    }
    layout = smf_sections.layout("70")
    record = smf_writer.encode_record(layout, 1, **facts)
    return [record] if most is None else smf_split.split(layout, record, most)


def written(path: Path, systems: Mapping[str, Sequence[Record]], seconds: float = 1800.0, **way: Any) -> Path:
    """Write a dump of the records of systems, in order of intervals."""
    records = [
        piece
        for system, ones in systems.items()
        for k, content in enumerate(ones, 1)
        for piece in encoded(system, content, START_US + round(k * seconds * US), seconds, **way)
    ]
    writer = _native.SmfWriter(str(path))
    writer.write(records)
    writer.finish()
    return path


@contextmanager
def session(
    systems: Mapping[str, Sequence[Record]],
    seconds: float = 1800.0,
    options: Options | None = None,
    **way: Any,
) -> Iterator[Session]:
    """Open a session over a dump of the records of systems."""
    with TemporaryDirectory() as folder:
        path = written(Path(folder) / "made.smf", systems, seconds, **way)
        with zlens.open([path], options=options) as opened:
            yield opened
