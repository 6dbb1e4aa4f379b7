"""What zlens costs on an SMF dump: `python bench/smf.py` writes one of the stated mix and measures.

Each interval of 15 minutes holds, for each of 24 processors, a record of type 113 subtype 1 and one of
subtype 2 with the counter sets of a z15 (188 counters), one of type 70 and 40 of type 72. With --only-113
the others are left out. Whole commands are measured with the file in the page cache, best of several runs.
"""

from __future__ import annotations

import argparse
import json
import struct
import subprocess
import sys
import time
from pathlib import Path

from bench import DATA, PROGRAM, best, machine, touch

from zlens import _native
from zlens.catalog import smf, smf_record
from zlens.options import Options
from zlens.readers.smf import SmfSource, open_files

PROCESSORS = 24
#: Counters of each set with counter versions 3 and 7.
SETS = (("basic", 6), ("problem", 2), ("crypto", 20), ("extended", 160))
START_US = 1_767_225_600_000_000
INTERVAL_US = 900_000_000


class Maker:
    """Records made once by the catalog and changed in place, which is quick enough for gigabytes."""

    def __init__(self) -> None:
        self.layout = smf.layout(113)
        self.templates = {
            (cpu, subtype): bytearray(self._record(cpu, subtype))
            for cpu in range(PROCESSORS)
            for subtype in (1, 2)
        }
        self.totals = [[cpu * 1000 + n for n in range(188)] for cpu in range(PROCESSORS)]
        header = smf_record.header(70, 1, "BENC", START_US)
        self.others = [bytearray(header + bytes(4888 - len(header)))]
        header = smf_record.header(72, 3, "BENC", START_US)
        self.others += [bytearray(header + bytes(1400 + 40 * n - len(header))) for n in range(40)]

    def _record(self, cpu: int, subtype: int) -> bytes:
        speed = "CPUSPEED" if subtype == 1 else "CPSP"
        first, second = ("CTRVERSION1", "CTRVERSION2") if subtype == 1 else ("CTRVN1", "CTRVN2")
        values = {
            "PNM": "HIS", "OSL": "SP7.2.5", "CTS": _native.tod_from_unix_us(START_US - INTERVAL_US),
            "CPUID": cpu, "CPUPROCCLASS": 0 if cpu % 4 else 4, speed: 5200, first: 3, second: 7,
            "MACHTYPE": "8561", "MACHMODEL": "T01", "MACHSEQCODE": "00000000000BE7C1",
        }  # fmt: skip
        sets = [smf_record.CounterSet(name, [0] * count) for name, count in SETS]
        return smf_record.encode(
            self.layout, subtype, system="BENC", local_us=START_US, values=values, sets=sets
        )

    def interval(self, number: int, subtypes: tuple[int, ...]) -> list[bytes]:
        end_us = START_US + number * INTERVAL_US
        start, end = (_native.tod_from_unix_us(us) for us in (end_us - INTERVAL_US, end_us))
        header = smf_record.header(113, 1, "BENC", end_us)[6:14]
        records = []
        for subtype in subtypes:
            for cpu in range(PROCESSORS):
                record = self.templates[cpu, subtype]
                record[6:14] = header
                struct.pack_into(">QQ", record, 72 + 24, start, end)
                struct.pack_into(">Q", record, 112 + 8, end)
                totals = self.totals[cpu]
                counted = [(n * 7919 + number * 104_729 + cpu) % 1_000_000_007 for n in range(188)]
                if subtype == 1:
                    struct.pack_into(">188Q", record, len(record) - 188 * 8, *counted)
                else:
                    totals[:] = map(int.__add__, totals, counted)
                    struct.pack_into(">188Q", record, len(record) - 188 * 8, *totals)
                records.append(bytes(record))
        for record in self.others:
            record[6:14] = header
        return records


def bench_file(size: int, *, only_113: bool, subtypes: tuple[int, ...]) -> Path:
    path = DATA / f"smf-{'113' if only_113 else 'mix'}-{''.join(map(str, subtypes))}-{size}.smf"
    if path.exists():
        return path
    DATA.mkdir(exist_ok=True)
    begin = time.perf_counter()
    maker = Maker()
    part = path.with_suffix(".part")
    writer = _native.SmfWriter(str(part))
    written = number = 0
    while written < size:
        number += 1
        records = maker.interval(number, subtypes)
        if not only_113:
            records += [bytes(record) for record in maker.others]
        writer.write(records)
        written += sum(map(len, records))
    writer.finish()
    part.replace(path)
    print(f"wrote {path.name} in {time.perf_counter() - begin:.0f} s")
    return path


def ask(path: Path, query: str) -> float:
    def run() -> object:
        return subprocess.run(
            [str(PROGRAM), "sql", str(path), "-q", query], stdout=subprocess.DEVNULL, check=True
        )

    return best(5, run)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=500, help="size of the file (500)")
    parser.add_argument("--only-113", action="store_true", help="no records of other types")
    parser.add_argument("--subtype", type=int, choices=(1, 2), help="of type 113 only this subtype")
    arguments = parser.parse_args()
    subtypes = (arguments.subtype,) if arguments.subtype else (1, 2)
    size = arguments.megabytes * 1_000_000
    path = bench_file(size, only_113=arguments.only_113, subtypes=subtypes)
    size = path.stat().st_size
    print(f"machine: {machine()}")
    base = touch(path, 5)
    plan = json.dumps(smf.plan(113))

    def say(what: str, seconds: float) -> None:
        print(
            f"{what:<44} {seconds:6.3f} s  {size / seconds / 1e9:5.2f} GB/s  {base / seconds:.2f} of touching"
        )

    say("pread and touch", base)
    say("index", best(5, lambda: _native.SmfFile.open(str(path), plan)))
    counters = [name for name, *_ in smf.columns(113) if name.startswith("c") and name.endswith("_d")]
    few = ["cpu_id", "interval_end", "c0_d", "c1_d"]
    say("index and four columns", best(3, lambda: opened(path).decoder.drain(few)))
    say("index and all counters", best(3, lambda: opened(path).decoder.drain(counters)))
    say("index and everything, subtypes compared", best(3, lambda: opened(path).decoder.drain(None, True)))
    say("zlens --help (the program alone)", best(5, lambda: subprocess.run(
        [str(PROGRAM), "--help"], stdout=subprocess.DEVNULL, check=True)))  # fmt: skip
    say("zlens info", best(5, lambda: subprocess.run(
        [str(PROGRAM), "info", str(path)], stdout=subprocess.DEVNULL, check=True)))  # fmt: skip
    say("zlens sql, sums of two counters", ask(path, "SELECT sum(c0_d), sum(c1_d) FROM smf113"))
    sums = ", ".join(f"sum({name})" for name in counters)
    say(f"zlens sql, sums of {len(counters)} counters", ask(path, f"SELECT {sums} FROM smf113"))
    return 0


def opened(path: Path) -> SmfSource:
    return open_files([str(path)], Options())


if __name__ == "__main__":
    sys.exit(main())
