"""Records of z/OS systems on one machine over hours: SMF 70-1 with averages, 72-3 by class, 30 by job.

All amounts are in CPs used in an interval of 15 minutes; a CP is 144 MSU per hour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import smf70_builder as smf70
from fakes import START_US
from zlens import _native
from zlens.catalog import smf_sections, smf_writer

QUARTER_S = 900
QUARTER_US = QUARTER_S * 1_000_000
#: 400 sixteenths of a microsecond per service unit: 144 MSU per hour of a CP.
MSU = 144.0
#: The first interval begins with an hour.
FIRST_US = -(-START_US // (4 * QUARTER_US)) * 4 * QUARTER_US


@dataclass
class Work:
    """CPs that a service class used in each interval, and its jobs: the parts of its time that have records.

    reported   whether SMF 72-3 has the class
    """

    name: str
    cores: Sequence[float]
    jobs: Mapping[str, float] = field(default_factory=dict)
    reported: bool = True


@dataclass
class Image:
    """A z/OS system and its partition: its number, classes, uncaptured CPs, and fields of the records.

    samples    fields of its logical processors
    averages   SMF70LAC by interval; none is recorded without them
    silent     whether only other systems report the partition
    """

    system: str
    partition: str
    number: int
    classes: Sequence[Work]
    uncaptured: float = 0.0
    weight: int = 100
    cores: int = 4
    fields: Mapping[str, Any] = field(default_factory=dict)
    control: Mapping[str, Any] = field(default_factory=dict)
    samples: Mapping[str, int] = field(default_factory=dict)
    averages: Sequence[float] = ()
    silent: bool = False

    def used(self, number: int) -> float:
        """Return the CPs used in an interval."""
        return self.uncaptured + sum(each.cores[number] for each in self.classes)


def written(path: Path, images: Sequence[Image], physical: int = 8, capacity: int = 1152) -> Path:
    """Write the dump of the systems of a machine."""
    records: list[bytes] = []
    for number in range(len(images[0].classes[0].cores)):
        end_us = FIRST_US + (number + 1) * QUARTER_US
        for image in images:
            if not image.silent:
                records += _records(image, images, number, end_us, physical, capacity)
    writer = _native.SmfWriter(str(path))
    writer.write(records)
    writer.finish()
    return path


def _records(
    image: Image, images: Sequence[Image], number: int, end_us: int, physical: int, capacity: int
) -> list[bytes]:
    lpars = [
        smf70.Lpar(
            each.partition,
            each.number,
            [
                smf70.Logical("CP", cpu, busy, busy, weight=each.weight, fields=each.samples)
                for cpu in range(each.cores)
                for busy in (each.used(number) * QUARTER_S / each.cores,)
            ],
            fields=each.fields,
        )
        for each in images
    ]
    control = {"CPA_ACTUAL": 400, "CPA_SCALING_FACTOR": 1, "MCR": capacity, **image.control}
    if image.averages:
        control["LAC"] = round(image.averages[number])
    used = image.used(number) / image.cores
    cpus = [smf70.Cpu(cpu, 0, QUARTER_S * (1 - used)) for cpu in range(image.cores)]
    content = smf70.record(
        QUARTER_S, lpars, cpus, own=image.number, physical={"CP": physical}, control=control,
        management_s={"CP": 0.0},
    )  # fmt: skip
    records = smf70.encoded(image.system, content, end_us, QUARTER_S)
    for work in image.classes:
        if work.reported:
            records.append(_class(image, work, number, end_us))
        records += [
            _job(image, work, job, share * work.cores[number], asid, end_us)
            for asid, (job, share) in enumerate(work.jobs.items(), 20)
        ]
    return records


def _class(image: Image, work: Work, number: int, end_us: int) -> bytes:
    # With these coefficients a second is a million service units.
    period = {"CADF": 0xC0, "CPER": 1, "CCPU": work.cores[number] * QUARTER_S * 1e6, "CRGF": 0x08, "CRCP": 10}
    wms = {
        "MCNM": work.name, "MWNM": "WORK", "MNSP": "POLICY", "MCPU": 10_000, "MSRB": 10_000, "MADJ": 16,
        "NFFI": 256, "NFFS": 256,
    }  # fmt: skip
    return smf_writer.encode_record(
        smf_sections.layout("72"),
        3,
        system=image.system,
        local_us=end_us,
        sections={
            "product": [{"MVS": "ZV030100", "PTN": image.number, **smf_writer.interval(end_us, QUARTER_S)}],
            "wms": [wms],
            "scs": [period],
        },
    )


def _job(image: Image, work: Work, job: str, cores: float, asid: int, end_us: int) -> bytes:
    start_us = end_us - QUARTER_US
    named = {
        "JBN": job, "PGM": "IEFBR14", "STM": job, "JNM": f"STC{asid:05}", "STN": 1, "ASI": asid,
        "ISS": start_us, "IET": end_us,
    }  # fmt: skip
    return smf_writer.encode_record(
        smf_sections.layout("30"),
        2,
        system=image.system,
        local_us=end_us + 1_000_000,
        sections={
            "subsystem": [{"TYP": 2, "OSL": "SP7.2.5", "SYN": image.system}],
            "id": [named],
            "cas": [{"CPT": round(cores * QUARTER_S * 100)}],
            "prf": [{"SCN": work.name, "WLM": "WORK", "SNF": 256}],
        },
        header={"WID": "STC", "STP": 2},
    )
