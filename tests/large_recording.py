"""A long recording by minutes, with many guests, one of which was busy only once.

Counters of all other guests advance by one of several steps per interval: the records of an interval are one
large number to which a step is added, so the file is written in a second.
"""

from __future__ import annotations

import random
from pathlib import Path

import guest_builder
import monwrite_builder as monwrite
from zlens import _native
from zlens.catalog import layouts

SYSTEM = "LARGE"
INTERVALS = 1_000
GUESTS, DEVICES, CPUS = 60, 60, 4
#: The guest used a processor all the time in this interval, and hardly at all in the others.
SPIKE, SPIKY = 613, "SPIKY"
FIRST_US = monwrite.START_US
_STEPS = 12


def write(path: Path, seed: int = 1) -> Path:
    """Write the file."""
    chosen = random.Random(seed)
    records: list[bytes] = []
    kinds: list[str] = []

    def add(name: str, values: dict[str, object]) -> None:
        records.append(monwrite.sim_record(name, FIRST_US - 200, values))
        kinds.append(name)

    for cpu in range(CPUS):
        add("D0R2", {"SYTPRP_PFXCPUAD": cpu, "SYTPRP_PFXCPUTY": 3, "SYTPRP_PFXPRBTM": 1 << 62})
    for number in range(GUESTS):
        values = {"VMDUSER": f"LNX{number:03}", "VMDSLIST": 55, "VMDPUTYP": 3}
        values |= {"CALTODON": guest_builder.tod(guest_builder.LOGON_US)}
        add("D4R3", {f"USEACT_{key}": value for key, value in values.items()})
    for number in range(DEVICES):
        add("D6R3", {"IODDEV_RDEVDEV": 0x1000 + number, "IODDEV_RDEVSID": number})
    ends = [sum(map(len, records[: n + 1])) for n in range(len(records))]
    steps = [int.from_bytes(_step(kinds, records, chosen), "big") for _ in range(_STEPS)]
    total = int.from_bytes(b"".join(records), "big")
    writer = _native.MonwriteWriter(str(path))
    config = {**monwrite.SIM_CONFIG, "MTRSYS_SYSTMID": SYSTEM}
    devices = [
        monwrite.sim_record(
            "D1R6",
            FIRST_US - 1_200,
            {"MTRDEV_RDEVDEV": 0x1000 + n, "MTRDEV_RDEVSID": n, "MTRDEV_RDEVCLAS": 4},
        )
        for n in range(DEVICES)
    ]
    writer.write([(True, 0x80, 0, 0x0200, monwrite.configuration(FIRST_US, config, more=devices)[1])])
    used = 0.0
    for number in range(INTERVALS + 1):
        end = FIRST_US + number * monwrite.MINUTE_US
        used += 60.0 if number == SPIKE else 0.06
        data = total.to_bytes(ends[-1], "big")
        found = [data[a:b] for a, b in zip([0, *ends], ends, strict=False)]
        spiky = [guest_builder.activity(end, SPIKY, used), guest_builder.processor(end, used, cpu=CPUS)]
        writer.write([(True, 0x80, 0, 0x0200, [*found, *spiky, monwrite.record("D1R11", end)])])
        total += chosen.choice(steps)
    writer.finish()
    return path


def _step(kinds: list[str], records: list[bytes], chosen: random.Random) -> bytearray:
    """Return what is added to an interval's records: a minute to their clock, an amount to every counter."""
    step = bytearray()
    for name, record in zip(kinds, records, strict=True):
        one = bytearray(len(record))
        one[8:16] = (monwrite.MINUTE_US * 4096).to_bytes(8, "big")
        layout = (layouts.sim_layouts(name) or [x for x in layouts.layouts(name) if x.release == "5.3"])[0]
        for field in layout.fields:
            if field.kind in ("counter", "timer") and field.length in (4, 8):
                most = monwrite.MINUTE_US * 4096 // 20 if field.length == 8 else 2_000
                one[field.offset : field.end] = chosen.randrange(most).to_bytes(field.length, "big")
        step += one
    return step
