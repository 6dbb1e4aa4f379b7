"""Cost of zlens on an SMF dump: `python bench/smf.py` writes one of the stated mix and measures.

Each interval of 15 minutes holds, for each of 24 processors, a record of type 113 subtype 1 and one of
subtype 2 with the counter sets of a z15 (188 counters), one of type 70 with 24 processors, 6 partitions and
40 logical processors, and 40 of type 72 with one to three periods. --only-113 omits the other types,
--only-70 all but type 70; --all-types adds what RMF writes of devices, channels, storage and coupling
facilities, in records of up to 32 kB. Complete commands are measured with the file in the page cache, best of
several runs.
"""

from __future__ import annotations

import argparse
import json
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import DATA, PROGRAM, best, machine, touch

from zlens import _native
from zlens.catalog import smf, smf_identity, smf_record, smf_sections, smf_writer
from zlens.inputs.options import Options
from zlens.readers.smf.dump import SmfSource, open_files

PROCESSORS = 24
#: Counters of each set with counter versions 3 and 7.
SETS = (("basic", 6), ("problem", 2), ("crypto", 20), ("extended", 160))
START_US = 1_767_225_600_000_000
INTERVAL_US = 900_000_000


CLASSES = 40
#: Bytes of the sections of a record, without those that all records have.
LONGEST = 32_000
PROCESSOR_ACTIVITY: dict[str, list[dict[str, Any]]] = {
    "control": [{"MOD": "8561", "CSC": "00000000000BE7C1", "MDL": "724", "DSA": 900}],
    "cpu": [{"CID": n, "WAT": 300.5 + n, "CNF": 9} for n in range(PROCESSORS)],
    "partition": [{"LPM": f"LPAR{n}", "LPN": n, "BDS": n * 7, "BDN": 7} for n in range(6)],
    "logical": [{"VPA": n % 7, "PDT": 10**8 + n, "EDT": 10**8, "CIX": 1} for n in range(40)],
    "name": [{"CIN": "CP", "CTN": 24, "CAN": 21_600}],
}


def workload(number: int) -> dict[str, list[dict[str, Any]]]:
    """Build a service class of one to three periods."""
    periods = [
        {"CPER": n + 1, "CCPU": 1e6 * number, "CRTX": n + 1, "CVAL": 40} for n in range(number % 3 + 1)
    ]
    return {
        "wms": [{"MCNM": f"CLASS{number:03}", "MADJ": 1596, "MCPU": 10_000}],
        "scs": periods,
        "rts": [{"TRDB_1": n} for n in range(len(periods) + 1)],
    }


class Maker:
    """Records built once by the catalog and changed in place, which is fast enough for gigabytes."""

    def __init__(self) -> None:
        self.layout = smf.layout(113)
        self.templates = {
            (cpu, subtype): bytearray(self._record(cpu, subtype))
            for cpu in range(PROCESSORS)
            for subtype in (1, 2)
        }
        self.totals = [[cpu * 1000 + n for n in range(188)] for cpu in range(PROCESSORS)]
        self.rmf = [bytearray(self._rmf("70", PROCESSOR_ACTIVITY))]
        self.rmf += [bytearray(self._rmf("72", workload(n))) for n in range(CLASSES)]

    def add_other_types(self) -> None:
        """Add a record of each other type of RMF, with as many sections as it can hold."""
        for layout in smf_sections.layouts():
            if layout.base != "rmf" or layout.name in ("70", "72"):
                continue
            own = [each for each in layout.sections if each.triplet is not None and each.name != "product"]
            # Sections with the triplets of others are there once, as are those that are as long as a record.
            once = {each.within for each in own} | {each.name for each in own if each.length > 1000}
            rest = sum(each.length for each in own if each.name not in once)
            count = (LONGEST - sum(each.length for each in own if each.name in once)) // max(rest, 1)
            sections = {each.name: [{}] * (1 if each.name in once else count) for each in own}
            self.rmf.append(bytearray(self._rmf(layout.name, sections)))

    def _record(self, cpu: int, subtype: int) -> bytes:
        speed = "CPUSPEED" if subtype == 1 else "CPSP"
        first, second = ("CTRVERSION1", "CTRVERSION2") if subtype == 1 else ("CTRVN1", "CTRVN2")
        values = {
            "PNM": "HIS", "OSL": "SP7.2.5", "CTS": _native.tod_from_unix_us(START_US - INTERVAL_US),
            "CPUID": cpu, "CPUPROCCLASS": 0 if cpu % 4 else 4, speed: 5200, first: 3, second: 7,
            "MACHTYPE": "8561", "MACHMODEL": "T01", "MACHSEQCODE": "00000000000BE7C1",
        }  # fmt: skip
        sets = [smf_record.CounterSetValues(name, [0] * count) for name, count in SETS]
        return smf_record.encode(
            self.layout, subtype, system="BENC", local_us=START_US, values=values, sets=sets
        )

    def _rmf(self, name: str, sections: dict[str, list[dict[str, Any]]]) -> bytes:
        layout = smf_sections.layout(name)
        (subtype,) = layout.subtypes
        product = smf_writer.interval(START_US, INTERVAL_US / 1e6)
        given = {"product": [product], **sections}
        return smf_writer.encode_record(layout, subtype, system="BENC", local_us=START_US, sections=given)

    def rmf_interval(self, number: int) -> list[bytes]:
        """Return the RMF records of an interval; the product section is the first one in each."""
        end_us = START_US + number * INTERVAL_US
        header = smf_record.header(70, 1, "BENC", end_us)[6:14]
        tod = _native.tod_from_unix_us(end_us)
        start = smf_writer.interval(end_us, INTERVAL_US / 1e6)
        (encoded,) = (smf_writer.encode_record(smf_sections.layout("70"), 1, system="BENC", local_us=end_us,
                                    sections={"product": [start]}),)  # fmt: skip
        begins = encoded[100 + 10 : 100 + 18]
        for record in self.rmf:
            at = int.from_bytes(record[28:32])
            record[6:14] = header
            record[at + 10 : at + 18] = begins
            struct.pack_into(">Q", record, at + 80, tod)
        return [bytes(record) for record in self.rmf]

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
        return records


def bench_file(size: int, *, only: int | None, subtypes: tuple[int, ...], all_types: bool) -> Path:
    path = DATA / f"smf-{'types' if all_types else only or 'all'}-{''.join(map(str, subtypes))}-{size}.smf"
    if path.exists():
        return path
    DATA.mkdir(exist_ok=True)
    begin = time.perf_counter()
    maker = Maker()
    if all_types:
        maker.add_other_types()
    part = path.with_suffix(".part")
    writer = _native.SmfWriter(str(part))
    written = number = 0
    while written < size:
        number += 1
        records = maker.interval(number, subtypes) if only in (None, 113) else []
        if only != 113:
            rmf = maker.rmf_interval(number)
            records += rmf[:1] if only == 70 else rmf
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
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--only-113", action="store_const", const=113, dest="only", help="no other types")
    only.add_argument("--only-70", action="store_const", const=70, dest="only", help="no other types")
    only.add_argument("--all-types", action="store_true", help="all types that RMF writes")
    parser.add_argument("--subtype", type=int, choices=(1, 2), help="of type 113 only this subtype")
    arguments = parser.parse_args()
    subtypes = (arguments.subtype,) if arguments.subtype else (1, 2)
    size = arguments.megabytes * 1_000_000
    path = bench_file(size, only=arguments.only, subtypes=subtypes, all_types=arguments.all_types)
    size = path.stat().st_size
    print(f"machine: {machine()}")
    base = touch(path, 5)
    plan = json.dumps(smf.plan(113))

    def say(what: str, seconds: float) -> None:
        print(
            f"{what:<44} {seconds:6.3f} s  {size / seconds / 1e9:5.2f} GB/s  {base / seconds:.2f} of touching"
        )

    say("pread and touch", base)
    say("index", best(5, lambda: _native.SmfFile.open(str(path), plan, smf_identity.plan())))
    if arguments.only != 113:
        sections(path, say)
    if arguments.only == 70:
        return 0
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


def sections(path: Path, say: Callable[[str, float], None]) -> None:
    """Measure decoding of section tables, including the index, and complete queries."""
    for layout in opened(path).sections.layouts:
        seconds = best(3, lambda name=layout.name: opened(path).sections.decoder.drain(name))
        say(f"index and all sections of type {layout.name}", seconds)
    say("zlens sql, dispatch times of partitions", ask(
        path, "SELECT partition_no, sum(smf70pdt) FROM smf70_logical GROUP BY 1"))  # fmt: skip


def opened(path: Path) -> SmfSource:
    return open_files([str(path)], Options())


if __name__ == "__main__":
    sys.exit(main())
