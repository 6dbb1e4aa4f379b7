"""The day that the page is measured on: 200 guests, 2,000 devices and 8 processors in 1,440 intervals.

Made once with zlens' own pack, which alone has all fields of some of the records, imported, and kept beside
the other data. As in guests.py every counter advances by one of some amounts at random from sample to sample.
"""

from __future__ import annotations

import hashlib
import random
import shutil
import tempfile
import time
from pathlib import Path

import bench
from guests import INTERVAL_US, STEPS, TICK, layout_of

from zlens import _native, lake
from zlens.catalog import layouts, plans
from zlens.lake import document, manifest

SYSTEM = "PAGEDAY"
INTERVALS = 1_440
GUESTS, DEVICES, PROCESSORS, POOLS = 200, 2_000, 8, 20
FIRST_DEVICE = 0x1000
START_US = 1_767_225_600_000_000
#: What a count, a counter of two or four bytes and a time advance by at most in an interval.
MOST = {"sampled": 30, 2: 20, 4: 2_000, 8: INTERVAL_US * TICK * 4 // 10}


class Day:
    """Records of one interval as one large number; steps that lead to the next interval's are added to it."""

    def __init__(self, seed: int = 1) -> None:
        self.random = random.Random(seed)
        self.base = bytearray()
        self.ends: list[int] = []
        self.places: list[tuple[int, layouts.Layout]] = []
        for cpu in range(PROCESSORS):
            self._add("D0R2", {"SYTPRP_PFXCPUAD": cpu, "SYTPRP_PFXCPUTY": 3, "SYTPRP_PFXPRBTM": 1 << 62})
            self._add("D0R1", {"SYTSYP_PFXCPUAD": cpu})
            self._add("D3R2", {"STORSP_PFXCPUAD": cpu})
        for single in ("D0R3", "D0R8", "D0R12", "D3R1"):
            self._add(single, {})
        logon = _native.tod_from_unix_us(START_US - 3_600_000_000)
        for guest in range(GUESTS):
            name = f"LNX{guest:05}"
            facts = {"USEACT_VMDUSER": name, "USEACT_VMDSLIST": 55, "USEACT_VMDPUTYP": 3}
            facts |= {"USEACT_CALTODON": logon, "USEACT_VMDRELSH": 100, "USEACT_VMDCTPVR": 250_000 + guest}
            self._add("D4R3", facts)
            self._add("D4R4", {"USEINT_VMDUSER": name})
        for number in range(DEVICES):
            device = FIRST_DEVICE + number
            named = {"IODDEV_RDEVDEV": device, "IODDEV_RDEVSID": number, "IODDEV_RDEVSER": f"V{device:04X}"}
            self._add("D6R3", named)
            self._add("D6R4", {"IODCAD_RDEVSID": number})
        for pool in range(POOLS):
            sizes = {"IODHPP_HPPOOLNM": pool, "IODHPP_HPPNBASE": 100, "IODHPP_HPPNALIS": 32}
            self._add("D6R28", sizes)
        self._add("D1R11", {})
        self.steps = [int.from_bytes(self._step(), "big") for _ in range(STEPS)]

    def _add(self, record: str, facts: dict[str, object]) -> None:
        layout = layout_of(record)
        self.places.append((len(self.base), layout))
        self.base += plans.encode(layout, facts, tod=_native.tod_from_unix_us(START_US))
        self.ends.append(len(self.base))

    def _step(self) -> bytearray:
        step = bytearray(len(self.base))
        for at, layout in self.places:
            step[at + 8 : at + 16] = (INTERVAL_US * TICK).to_bytes(8, "big")
            for field in layout.fields:
                if field.kind in ("counter", "timer", "sampled") and field.length in (4, 8):
                    most = MOST["sampled" if field.kind == "sampled" else field.length]
                    amount = self.random.randrange(most)
                    step[at + field.offset : at + field.end] = amount.to_bytes(field.length, "big")
        return step

    def write(self, path: Path) -> None:
        writer = _native.MonwriteWriter(str(path))
        tod = _native.tod_from_unix_us(START_US - INTERVAL_US)
        system = {"MTRSYS_SYSTMID": SYSTEM, "MTRSYS_HCPCPEID": layouts.SIM_MARK}
        config = [
            plans.encode(layout_of("D1R4"), system, tod=tod),
            plans.encode(layout_of("D1R9"), {"MTRSPR_INTERVAL": INTERVAL_US // 1_000_000}, tod=tod),
        ]
        for number in range(DEVICES):
            device = FIRST_DEVICE + number
            told = {"MTRDEV_RDEVDEV": device, "MTRDEV_RDEVSID": number, "MTRDEV_RDEVSER": f"V{device:04X}"}
            told |= {"MTRDEV_RDEVTYPE": 0x90, "MTRDEV_RDEVCLAS": 4}
            config.append(plans.encode(layout_of("D1R6"), told, tod=tod))
        config.append(plans.encode(layout_of("D1R11"), {}, tod=tod))
        writer.write([(True, 0x40, 0, 0, config)])
        total = int.from_bytes(self.base, "big")
        for _ in range(INTERVALS + 1):
            data = total.to_bytes(len(self.base), "big")
            records = [data[a:b] for a, b in zip([0, *self.ends], self.ends, strict=False)]
            writer.write([(True, 0x8A, 0, 0x0400, records)])
            total += self.random.choice(self.steps)
        writer.finish()


def day() -> Path:
    """The lake of the day; made once."""
    sources = [Path(__file__), Path(document.__file__), Path(manifest.__file__)]
    sources += sorted(layouts.sim_root().glob("*.toml"))
    recipe = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    path = bench.DATA / f"page-{recipe}"
    if path.exists():
        return path
    bench.DATA.mkdir(exist_ok=True)
    for old in bench.DATA.glob("page-*"):
        shutil.rmtree(old)
    with tempfile.TemporaryDirectory(dir=bench.DATA) as folder:
        file = Path(folder) / "day.data"
        begin = time.perf_counter()
        Day().write(file)
        between = time.perf_counter()
        made = Path(folder) / "lake"
        lake.add([file], made)
        after = time.perf_counter()
        size = file.stat().st_size / 1e9
        made.rename(path)
    print(f"made {size:.1f} GB of a day in {between - begin:.0f} s, imported in {after - between:.0f} s")
    return path
