"""What reports over many guests cost: 2,000 virtual machines in 1,440 intervals, from a lake.

The day is made once with zlens' own pack, which alone has all fields of D4R3 and D4R4, imported and kept
beside the other data. Between two samples every counter advances by one of some amounts at random, so that
differences are as unlike each other as those of a real day. Measured with files in the page cache.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

import bench

import zlens
from zlens import _native, lake
from zlens.catalog import layouts, plans

GUESTS = 2_000
INTERVALS = 1_440
PROCESSORS = 8
#: So many different steps from one interval to the next.
STEPS = 16
START_US = 1_767_225_600_000_000
INTERVAL_US = 60_000_000
TICK = 4096
#: What a count, a counter of four bytes and a time advance by at most in an interval.
MOST = {"sampled": 30, 4: 2_000, 8: INTERVAL_US * TICK}
#: Reports and the seconds they may take.
WANTED = (("ustat", 3.0), ("user", 3.0))


def layout_of(record: str) -> layouts.Layout:
    own = layouts.sim_layouts(record)
    return own[0] if own else next(one for one in layouts.layouts(record) if one.release == "5.3")


class Day:
    """Records of one interval as one large number; steps that lead to the next interval's are added to it."""

    def __init__(self, seed: int = 1) -> None:
        self.random = random.Random(seed)
        self.base = bytearray()
        self.ends: list[int] = []
        self.places: list[tuple[int, layouts.Layout]] = []
        for cpu in range(PROCESSORS):
            self._add("D0R2", {"SYTPRP_PFXCPUAD": cpu, "SYTPRP_PFXCPUTY": 3, "SYTPRP_PFXPRBTM": 1 << 62})
        logon = _native.tod_from_unix_us(START_US - 3_600_000_000)
        for guest in range(GUESTS):
            name = f"LNX{guest:05}"
            facts = {"USEACT_VMDUSER": name, "USEACT_VMDSLIST": 55, "USEACT_VMDPUTYP": 3}
            facts |= {"USEACT_CALTODON": logon, "USEACT_VMDRELSH": 100, "USEACT_VMDCTPVR": 250_000 + guest}
            self._add("D4R3", facts)
            self._add("D4R4", {"USEINT_VMDUSER": name})
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
        system = {"MTRSYS_SYSTMID": "GUESTS", "MTRSYS_HCPCPEID": layouts.SIM_MARK}
        config = [
            plans.encode(layout_of("D1R4"), system, tod=tod),
            plans.encode(layout_of("D1R9"), {"MTRSPR_INTERVAL": INTERVAL_US // 1_000_000}, tod=tod),
            plans.encode(layout_of("D1R11"), {}, tod=tod),
        ]
        writer.write([(True, 0x40, 0, 0, config)])
        total = int.from_bytes(self.base, "big")
        for _ in range(INTERVALS + 1):
            data = total.to_bytes(len(self.base), "big")
            records = [data[a:b] for a, b in zip([0, *self.ends], self.ends, strict=False)]
            writer.write([(True, 0x8A, 0, 0x0400, records)])
            total += self.random.choice(self.steps)
        writer.finish()


def day() -> Path:
    """The lake of a day; made once."""
    sources = [Path(__file__), *(layouts.sim_root() / layouts.file_name(one) for one in ("D4R3", "D4R4"))]
    recipe = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    path = bench.DATA / f"guests-{recipe}"
    if path.exists():
        return path
    bench.DATA.mkdir(exist_ok=True)
    for old in bench.DATA.glob("guests-*"):
        shutil.rmtree(old)
    with tempfile.TemporaryDirectory(dir=bench.DATA) as folder:
        file = Path(folder) / "guests.data"
        begin = time.perf_counter()
        Day().write(file)
        between = time.perf_counter()
        made = Path(folder) / "lake"
        lake.add([file], made)
        after = time.perf_counter()
        size = file.stat().st_size / 1e9
        made.rename(path)
    print(f"made {size:.1f} GB of guests in {between - begin:.0f} s, imported in {after - between:.0f} s")
    return path


def report(path: Path, name: str) -> str:
    with zlens.open(path) as session:
        return session.report(name)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=1000, help="not used: a day of guests is a day")
    parser.add_argument("--runs", type=int, default=5, help="runs of which the best counts (5)")
    arguments = parser.parse_args()
    print(f"machine: {bench.machine()}")
    results = bench.Results()
    path = day()
    for name, wanted in WANTED:
        lines = report(path, name).count("\n")
        seconds = bench.best(arguments.runs, lambda name=name: report(path, name))  # type: ignore[misc]
        detail = f"{GUESTS:,} guests, {INTERVALS:,} intervals, {lines:,} lines"
        results.at_most(f"zlens report {name}", seconds, wanted, detail)
    return 1 if results.missed else 0


if __name__ == "__main__":
    sys.exit(main())
