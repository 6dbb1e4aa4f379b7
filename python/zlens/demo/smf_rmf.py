"""Records of processors, workload and jobs of the demo machine's z/OS partition, for each quarter of an hour.

They contain what the hypervisor dispatched, as in the other demo files, and the work performed. Their levels
are newer than the machine: a z10 counted no instructions of address spaces.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from zlens.catalog import smf_writer
from zlens.demo import machine, rmf, smf_coupling, smf_hiperdispatch, smf_io, smf_storage, zos
from zlens.demo.machine import PHYSICAL, MachineMinute
from zlens.demo.zos import ClassWork, Sections, SpaceWork, Values
from zlens.models.partitions.rolling_average import SAMPLE_S, WINDOW_S, RollingAverage

QUARTER_US = rmf.INTERVAL * machine.MINUTE
QUARTER_S = rmf.INTERVAL * 60
ZONE_US = machine.ZONE_S * machine.SECOND
#: Samples of PR/SM and of RMF in a quarter: one a second.
SAMPLES = QUARTER_S
#: Records are written this long after their interval end.
_LATE_US = 34_000
#: The IPL was two days before the hour, and address spaces were started then.
_STARTED_US = machine.START_US - 2 * 86_400 * machine.SECOND
#: CPU types by section number, from 1.
_TYPES = ("CP", "IFL")
#: SMF70POF of a processor that is vertical high.
_HIGH = 0xC0
#: SMF70CPA_ACTUAL and its scale: a CP of this model in sixteenths of a microsecond per service unit.
_ADJUSTMENT, _SCALE = 548_571, 1000
#: Million service units in an hour of a CP: 3600 s at 16 / adjustment of a million a second.
_MSU_OF_CPU = 57_600 * _SCALE / _ADJUSTMENT
#: Length of a sample of WLM's four-hour average.
_SAMPLE_MINUTES = round(SAMPLE_S / 60)
#: Goals by kind: SMF's bit, and the report class for the same work.
_GOALS = {"percentile": 0x80, "average": 0x40, "velocity": 0x20, "system": 0x08}
_REPORT_CLASS = {"CICSHI": "RCICS"}
#: The tenant resource group, its service class, and how often its memory is sampled in a quarter.
_TENANT = {
    "TRG_NAME": "TRGBRNCH",
    "TRG_DESC": "Transactions of the branches",
    "TRG_TNTID": "BRANCHES",
    "TRG_TNTNAME": "Branches of the bank",
    "TRG_SBID": "ZL-SOLUTION-1",
}
_TENANT_CLASS = "CICSHI"
_MEMORY_SAMPLES = 15

#: Product section of records of RMF, without times.
_PRODUCT = {
    "MFV": 111, "PRD": "RMF", "SAM": SAMPLES, "CYC": 1000, "FLA": ["ISM"], "MVS": "ZV011100", "IML": 3,
    "PTN": 3, "SYN": 0, "XNM": "ZLPLEX", "SNM": machine.ZOS_SYSTEM,
}  # fmt: skip
#: Control section of records of classes, without what changes.
_WORKLOAD = {
    "MNSP": "ZLPOLICY", "MCPU": 10_000, "MIOC": 5000, "MSRB": 10_000, "MTVL": zos.SAMPLE_MS,
    "MTVNUM": zos.samples_of(QUARTER_US), "MCPG": 1, "MADJ": zos.ADJUSTMENT, "NFFI": 256, "NFFS": 256,
    "CPA_ACTUAL": _ADJUSTMENT, "CPA_SCALING_FACTOR": _SCALE,
}  # fmt: skip
#: Control section of records of processors, without what changes.
_CONTROL = {
    "MOD": machine.MACHINE_TYPE, "BNP": sum(PHYSICAL.values()), "INB": ["PHY", "DGE"], "MDL": machine.MODEL,
    "DSA": SAMPLES, "CPA": round(_ADJUSTMENT / _SCALE), "WLA": machine.MSU_CAPACITY,
    "HWM": machine.HARDWARE_MODEL, "CSC": machine.SERIAL, "GJT": _STARTED_US, "HHF": ["HHS", "HHA"],
    "MPC": machine.MODEL, "MCR": machine.MSU_CAPACITY, "MPR": machine.MSU_CAPACITY, "NRM": 256, "CAI": 100,
    "CPA_ACTUAL": _ADJUSTMENT, "CPA_SCALING_FACTOR": _SCALE, "IPL_TIME": _STARTED_US,
}  # fmt: skip


class QuarterHourWriter:
    """Reads the hour and returns records after each quarter."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(f"smf quarters {seed}")
        self.before: MachineMinute | None = None
        #: Five-minute samples of the partition's MSU, and the minute of the last one.
        self.average = RollingAverage()
        self.sampled: MachineMinute | None = None
        self.tenant_average = RollingAverage()
        #: Instructions counted in the quarter.
        self.instructions = 0
        self.jobs = 0

    def add_minute(self, minute: MachineMinute) -> list[bytes]:
        """Process a completed minute; returns the records written at its end."""
        if minute.number % _SAMPLE_MINUTES == 0:
            self.add_sample(minute)
        if minute.number % rmf.INTERVAL:
            return []
        before, self.before = self.before, minute
        records = [] if before is None else list(self.records(before, minute))
        self.instructions = 0
        return records

    def add_sample(self, minute: MachineMinute) -> None:
        """Add the MSU since the last sample; the four hours before the first were like it."""
        last, self.sampled = self.sampled, minute
        if last is None:
            return
        used = _effective_us(minute) - _effective_us(last)
        seconds = (minute.end_us - last.end_us) / 1e6
        rate = used / 1e6 / seconds * _MSU_OF_CPU
        if minute.number == _SAMPLE_MINUTES:
            self.average.add(last.end_us / 1e6, WINDOW_S, rate)
        self.average.add(minute.end_us / 1e6, seconds, rate)

    def records(self, before: MachineMinute, current: MachineMinute) -> Iterator[bytes]:
        end_us = current.end_us
        own_use, previous = current.use(machine.ZOS_PARTITION), before.use(machine.ZOS_PARTITION)
        dispatched = sum(own_use.effective_us) - sum(previous.effective_us)
        work = zos.simulate_quarter(
            self.random, dispatched, len(own_use.total_us), QUARTER_US, self.instructions
        )
        product = smf_writer.interval(end_us, QUARTER_S, machine.ZONE_S) | _PRODUCT
        local_us = end_us + ZONE_US + _LATE_US
        sections = {"product": [product], **self.processors(before, current)}
        cpus = len(own_use.total_us)
        sections["asid"] = [smf_hiperdispatch.queues(work, cpus, SAMPLES, QUARTER_US)]
        storage = smf_storage.StorageQuarter(
            work, dispatched / (len(own_use.total_us) * QUARTER_US), QUARTER_S
        )
        (tenant_work,) = (each for each in work if each.service.name == _TENANT_CLASS)
        sections["tenant"] = [self.tenant(tenant_work, storage, end_us)]
        yield zos.encode("processor", local_us, sections)
        yield from storage.records(product, local_us)
        yield smf_hiperdispatch.periods(work, end_us)
        for class_work in work:
            sections = {"product": [product], **_class(class_work, report="")}
            yield zos.encode("class_period", local_us + 20_000, sections)
            if report := _REPORT_CLASS.get(class_work.service.name):
                sections = {"product": [product], **_class(class_work, report=report)}
                yield zos.encode("class_period", local_us + 20_000, sections)
            for space in class_work.works:
                yield from self.address_space(class_work, space, end_us, storage)
        for entity, io_sections in smf_io.sections(work, QUARTER_S, SAMPLES):
            yield zos.encode(entity, local_us + 30_000, {"product": [product], **io_sections})
        requests = sum(each.disk_io()["starts"] for each in work)
        transactions = sum(each.ended for each in work)
        for entity, found in smf_coupling.sections(requests, transactions, QUARTER_S, machine.ZOS_SYSTEM):
            yield zos.encode(entity, local_us + 40_000, {"product": [product], **found})

    # -- processors --------------------------------------------------------------------------------------

    def processors(self, before: MachineMinute, current: MachineMinute) -> Sections:
        partitions: list[Values] = []
        logical: list[Values] = []
        cpus: list[Values] = []
        for number, (use, previous) in enumerate(zip(current.uses, before.uses, strict=True), 1):
            is_own = use.name == machine.ZOS_PARTITION
            partitions.append(
                {
                    "LPM": use.name,
                    "LPN": number,
                    "BDN": len(use.total_us),
                    "BDS": len(logical),
                    "BDA": len(use.total_us) * SAMPLES,
                    "SPN": "ZLPLEX" if is_own else "",
                    "STN": machine.ZOS_SYSTEM if is_own else "",
                    "PFL": ["PWF"] if is_own else 0,
                }
            )
            for address, (total, total_then, effective, effective_then) in enumerate(
                zip(use.total_us, previous.total_us, use.effective_us, previous.effective_us, strict=True)
            ):
                logical.append(
                    {
                        "PDT": total - total_then,
                        "EDT": effective - effective_then,
                        "VPA": address,
                        "BPS": use.weight,
                        "CIX": _TYPES.index(use.kind) + 1,
                        "POF": _HIGH if is_own else 0,
                        "ACS": use.weight * SAMPLES,
                        "ONT": use.online_us[address] - previous.online_us[address],
                        "POW": use.weight * 4096 * SAMPLES // len(use.total_us) if is_own else 0,
                    }
                )
                if is_own:
                    cpus.append(_cpu(address, total - total_then))
        partitions.append(
            {"LPM": "PHYSICAL", "LPN": 0, "BDN": len(current.physical), "BDS": len(logical), "BDA": 0}
        )
        pairs = zip(current.physical, before.physical, strict=True)
        for address, ((kind, us), (_, us_then)) in enumerate(pairs):
            logical.append({"PDT": us - us_then, "VPA": address, "CIX": _TYPES.index(kind) + 1})
        control = {
            **_CONTROL,
            "LAC": round(self.average.mean(current.end_us / 1e6).value or 0),
            "TRG_M_CNT": _MEMORY_SAMPLES,
        }
        names = [{"CIN": kind, "CTN": PHYSICAL[kind], "CAN": PHYSICAL[kind] * SAMPLES} for kind in _TYPES]
        return {"control": [control], "cpu": cpus, "partition": partitions, "logical": logical, "name": names}

    def tenant(
        self, class_work: ClassWork, storage: smf_storage.StorageQuarter, end_us: int
    ) -> dict[str, object]:
        """Return the section of the tenant resource group; the four hours before the first were like it."""
        units = sum(map(zos.service_units, (class_work.task, class_work.srb)))
        rate = units / 1e6 * 3600 / QUARTER_S
        if self.tenant_average.mean(end_us / 1e6 - QUARTER_S).value is None:
            self.tenant_average.add(end_us / 1e6 - QUARTER_S, WINDOW_S, rate)
        self.tenant_average.add(end_us / 1e6, QUARTER_S, rate)
        frames = sum(storage.regions[space.space.job] for space in class_work.works)
        return {
            **_TENANT,
            "TRG_SUCP": round(units),
            "TRG_LAC": round(self.tenant_average.mean(end_us / 1e6).value or 0),
            "TRG_MEM": frames * _MEMORY_SAMPLES,
        }

    # -- jobs --------------------------------------------------------------------------------------------

    def address_space(
        self, class_work: ClassWork, work: SpaceWork, end_us: int, storage: smf_storage.StorageQuarter
    ) -> Iterator[bytes]:
        """Return the interval of a started task, or the end of a job and its step, which lasted a quarter."""
        space = work.space
        is_job = space.kind == zos.JOB
        if is_job:
            self.jobs += 1
        start_us = end_us - QUARTER_US
        started_us = start_us if is_job else _STARTED_US + space.asid * 1_300_000
        service = zos.service_units(work.task), zos.service_units(work.srb)
        identification = {
            "JBN": space.job,
            "PGM": space.program,
            "STM": "RUN" if is_job else space.job,
            "JNM": f"JOB{4100 + self.jobs:05}" if is_job else f"STC{space.asid:05}",
            "STN": 1,
            "CLS": "A" if is_job else "",
            **dict.fromkeys(("AST", "PPS", "SIT", "STD", "RST", "RSD"), started_us + ZONE_US),
            "RUD": "ZLBATCH" if is_job else "ZLTASK",
            "ISS": start_us,
            "IET": end_us,
            "ASI": space.asid,
        }
        sections: Sections = {
            "id": [identification],
            "cas": [
                {"CPT": work.task, "CPS": work.srb, "IST": start_us + ZONE_US, "IDT": start_us + ZONE_US}
            ],
            "counter": [
                {"INST_CP_TASK": work.task_instructions, "INST_CP_PREEMPTSRB": work.srb_instructions}
            ],
            "prf": [
                {
                    "WLM": class_work.service.workload,
                    "SCN": class_work.service.name,
                    "RCN": _REPORT_CLASS.get(class_work.service.name, ""),
                    **{"CPC": 10, "SRC": 10, "SNF": 256},
                    "SRV_L": round(sum(service)),
                    "CSU_L": round(service[0]),
                    "SRB_L": round(service[1]),
                }
            ],
            "accounting": [{"ACT": text} for text in space.accounting],
            **storage.sections(work),
        }
        for subtype in (4, 5) if is_job else (6,) if space.asid < 20 else (2,):
            written = {"TYP": subtype, "RVN": "05", "PNM": "SMF", "OSL": "SP7.1.1"}
            system = {"SYN": machine.ZOS_SYSTEM, "SYP": "ZLPLEX"}
            yield zos.encode(
                "job",
                end_us + ZONE_US + 2 * _LATE_US,
                {"subsystem": [{**written, **system}], **sections},
                lengths=smf_storage.LENGTHS,
                subtype=subtype,
                header={"WID": space.kind},
            )


def _effective_us(minute: MachineMinute) -> int:
    return sum(minute.use(machine.ZOS_PARTITION).effective_us)


def _cpu(address: int, total_us: int) -> Values:
    """Return a processor as z/OS sees it, and as the report of the same quarter prints it."""
    busy_pct = 100 * total_us / QUARTER_US
    interrupts = round(round(busy_pct * 14.2, 2) * QUARTER_S)
    polled = round(interrupts * 0.041)
    return {
        # Time in which it was ready but not dispatched is not wait time.
        "WAT": QUARTER_S - smf_hiperdispatch.MVS_FACTOR * total_us / 1e6,
        "CID": address,
        "CNF": ["DCI", "STA"],
        "TYP": 0,
        "SLH": interrupts - polled,
        "TPI": polled,
        "PAT": 0.0,
    }


def _class(class_work: ClassWork, *, report: str) -> Sections:
    """Return the sections of a service class, or of the report class for the same work."""
    service, goal = class_work.service, class_work.service.goal
    cpu, srb = zos.service_units(class_work.task), zos.service_units(class_work.srb)
    io = class_work.disk_io()
    units = io["starts"] * 0.5
    using = class_work.cpu_using + class_work.io_using
    delay = class_work.cpu_delay + class_work.io_delay
    # Transactions are active for their response time, address spaces all the time.
    active_us = class_work.response_us if class_work.buckets else len(service.spaces) * QUARTER_US
    period = {
        "CRTX": 1 if class_work.buckets else 0,
        # Use of resources and, if transactions end, response times.
        "CADF": 0x80 | (0x40 if class_work.ended else 0),
        "CPER": 1,
        "CRTF": 0x80 if goal.response_ms else 0,
        "CRGF": _GOALS[goal.kind],
        "CVAL": goal.response_ms or goal.velocity,
        "CPCT": goal.percent,
        "CIMP": goal.importance,
        "CSRV": cpu + srb + units,
        "CCPU": cpu,
        "CSRB": srb,
        "CIOC": units,
        "CTAT": active_us / 1024,
        "CTRR": active_us / 1024,
        "CRCP": class_work.ended,
        "CTET": class_work.response_us / 1024,
        "CTETX": float(class_work.response_us),
        "CXETX": class_work.response_us * 0.9,
        "CQDTX": class_work.response_us * 0.1,
        "CCUS": class_work.cpu_using,
        "CIOU": class_work.io_using,
        "CTOU": using,
        "CCDE": class_work.cpu_delay,
        "CIOD": class_work.io_delay,
        "CTOT": delay,
        "CIDL": class_work.idle,
        "CTSA": float(using + delay + class_work.idle),
        "CICT": io["connect"],
        "CIDT": io["disconnect"],
        "CIWT": io["pending"],
        "CIRC": io["starts"],
        "RTDM": goal.response_ms,
        "PLSC": service.name if report else "",
    }
    sections: dict[str, list[Values]] = {
        "wms": [
            {
                "MSCF": ["MRCL"] if report else ["MOVE"],
                **_WORKLOAD,
                "MWNM": "" if report else service.workload,
                "MCNM": report or service.name,
                "MCDE": service.text,
                "CLSC": service.name if report else "",
            }
        ],
        "scs": [period],
    }
    if class_work.buckets:
        # The last bound covers all longer times.
        bounds = [*zos.BOUNDS, 0xFFFFFFFF]
        sections["rts"] = [
            {f"TRDB_{number}": value for number, value in enumerate(values, 1)}
            for values in (bounds, class_work.buckets)
        ]
    return sections
