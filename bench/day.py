"""A synthetic day of z/VM: records whose counters advance from sample to sample, imported once.

It has synthetic layouts, because only these have all fields of some records. Between two samples every
counter advances by a random amount out of several, so that differences vary as in a real day.
"""

from __future__ import annotations

import hashlib
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import bench

import record_encoder
from zlens import _native, lake
from zlens.catalog import layouts

INTERVALS = 1_440
#: Number of different steps from one interval to the next.
STEPS = 16
START_US = 1_767_225_600_000_000
INTERVAL_US = 60_000_000
TICK = 4096
LOGON = _native.tod_from_unix_us(START_US - 3_600_000_000)
#: Times of a core, the same in all records of its threads: these processors have none.
CORE_TIMES = ("SYTPRP_ZLCSAMPT", "SYTPRP_ZLCBUSYT", "SYTPRP_ZLCTHRDT")
#: A configuration record: its name and relevant fields.
Told = tuple[str, dict[str, object]]


def layout_of(record: str) -> layouts.RecordLayout:
    own = layouts.sim_layouts(record)
    return own[0] if own else next(one for one in layouts.layouts(record) if one.release == "5.3")


class Day:
    """Records of one interval as one large number, to which the steps to the next intervals are added.

    A counter that counts down starts at a value of `add` that is high enough.

    most: maximum advance of a count ("sampled"), a counter of four bytes and a time of eight
    """

    def __init__(self, system: str, most: dict[str | int, int], seed: int = 1) -> None:
        self.system = system
        self.most = most
        self.random = random.Random(seed)
        self.base = bytearray()
        self.ends: list[int] = []
        self.places: list[tuple[int, layouts.RecordLayout]] = []

    def add(self, record: str, facts: dict[str, object]) -> None:
        """Add a record to every interval."""
        layout = layout_of(record)
        self.places.append((len(self.base), layout))
        self.base += record_encoder.encode(layout, facts, tod=_native.tod_from_unix_us(START_US))
        self.ends.append(len(self.base))

    def add_processor(self, cpu: int) -> None:
        facts = {"SYTPRP_PFXCPUAD": cpu, "SYTPRP_ZLCORE": cpu, "SYTPRP_PFXCPUTY": 3}
        self.add("D0R2", facts | {"SYTPRP_PFXPRBTM": 1 << 62})

    def add_guest(self, guest: int) -> None:
        name = f"LNX{guest:05}"
        facts = {"USEACT_VMDUSER": name, "USEACT_VMDSLIST": 55, "USEACT_VMDPUTYP": 3}
        facts |= {"USEACT_CALTODON": LOGON, "USEACT_VMDRELSH": 100, "USEACT_VMDCTPVR": 250_000 + guest}
        self.add("D4R3", facts)
        self.add("D4R4", {"USEINT_VMDUSER": name})

    def _step(self) -> int:
        up, down = bytearray(len(self.base)), bytearray(len(self.base))
        for at, layout in self.places:
            up[at + 8 : at + 16] = (INTERVAL_US * TICK).to_bytes(8, "big")
            for field in layout.fields:
                if field.kind in ("counter", "timer", "sampled") and field.length in (4, 8):
                    most = self.most["sampled" if field.kind == "sampled" else field.length]
                    amount = 0 if field.name in CORE_TIMES else self.random.randrange(most)
                    step = down if field.direction == "down" else up
                    step[at + field.offset : at + field.end] = amount.to_bytes(field.length, "big")
        return int.from_bytes(up, "big") - int.from_bytes(down, "big")

    def write(self, path: Path, configuration: Iterable[Told] = ()) -> None:
        steps = [self._step() for _ in range(STEPS)]
        writer = _native.MonwriteWriter(str(path))
        tod = _native.tod_from_unix_us(START_US - INTERVAL_US)
        config: list[Told] = [
            ("D1R4", {"MTRSYS_SYSTMID": self.system, "MTRSYS_HCPCPEID": layouts.SIM_MARK}),
            ("D1R9", {"MTRSPR_INTERVAL": INTERVAL_US // 1_000_000}),
            *configuration,
            ("D1R11", {}),
        ]
        encoded = [record_encoder.encode(layout_of(record), facts, tod=tod) for record, facts in config]
        writer.write([(True, 0x40, 0, 0, encoded)])
        total = int.from_bytes(self.base, "big")
        for _ in range(INTERVALS + 1):
            data = total.to_bytes(len(self.base), "big")
            records = [data[a:b] for a, b in zip([0, *self.ends], self.ends, strict=False)]
            writer.write([(True, 0x8A, 0, 0x0400, records)])
            total += self.random.choice(steps)
        writer.finish()


def kept(name: str, sources: Iterable[Path], write: Callable[[Path], None]) -> Path:
    """Return the lake of what `write` writes; built once, and again when one of the sources has changed."""
    text = b"".join(source.read_bytes() for source in (Path(__file__), *sources))
    path = bench.DATA / f"{name}-{hashlib.sha256(text).hexdigest()[:12]}"
    if path.exists():
        return path
    bench.DATA.mkdir(exist_ok=True)
    for old in bench.DATA.glob(f"{name}-*"):
        shutil.rmtree(old)
    with tempfile.TemporaryDirectory(dir=bench.DATA) as folder:
        file = Path(folder) / f"{name}.data"
        begin = time.perf_counter()
        write(file)
        between = time.perf_counter()
        lake_path = Path(folder) / "lake"
        lake.add([file], lake_path)
        after = time.perf_counter()
        size = file.stat().st_size / 1e9
        lake_path.rename(path)
    print(f"made {size:.1f} GB of {name} in {between - begin:.0f} s, imported in {after - between:.0f} s")
    return path
