"""Memory for a day of SMF: `python bench/smf_memory.py` writes dumps of several sizes and measures.

Each gigabyte holds a day of four systems: every 15 minutes a record of type 113 subtype 1 for each of 24
processors, one of type 70 and 40 of type 72, and between them filler records of type 30 without sections and
of type 110, of 400 to 6,400 bytes. The dump has blocks of 27,998 bytes, with spanned records. The slope over
the sizes results in the memory for a day of 17 GB.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench import DATA, PROGRAM, machine
from smf import INTERVAL_US, START_US, Maker

from zlens.catalog import smf_record, smf_sections, smf_writer

#: Bytes of a segment in a block, of a block, and of the descriptor word of either.
BLOCK, WORD = 27_998, 4
PER_GIGABYTE = 4
INTERVALS = 96
DAY_GB = 17
ALLOWED_GIB = 2.0


def sections(end_us: int) -> list[bytes]:
    """Build one record of type 70 and 40 of type 72, with sections."""
    common = smf_writer.interval(end_us, INTERVAL_US / 1e6)
    rmf70, rmf72 = smf_sections.layout("70"), smf_sections.layout("72")
    product = {**common, "SAM": 900, "PTN": 1, "SNM": "B000"}
    cpus = [{"WAT": 400.0 + cpu, "CID": cpu, "TYP": 0} for cpu in range(24)]
    partitions = [{"LPM": f"LP{n:02}", "LPN": n, "BDN": 10, "BDS": 10 * n} for n in range(20)]
    logical = [{"VPA": n % 10, "PDT": 1e6 * n, "EDT": 9e5 * n, "BPS": 100} for n in range(200)]
    found = [
        smf_writer.encode_record(
            rmf70, 1, system="B000", local_us=end_us,
            sections={"product": [product], "cpu": cpus, "partition": partitions, "logical": logical},
        )
    ]  # fmt: skip
    for n in range(40):
        periods = [{"CCPU": 1e6 + n, "CSRB": 1e5, "CRCP": 100 + n} for _ in range(3)]
        parts = {"product": [product], "wms": [{"MCNM": f"CLASS{n:02}"}], "scs": periods}
        found.append(smf_writer.encode_record(rmf72, 3, system="B000", local_us=end_us, sections=parts))
    return found


class Blocks:
    """Writer of full blocks, in which records are split into segments."""

    def __init__(self, path: Path) -> None:
        self.out = path.open("wb", 1 << 20)
        self.body = bytearray()
        self.written = 0

    def write(self, record: bytes) -> None:
        at, first = WORD, True
        while at < len(record) or first:
            room = BLOCK - WORD - len(self.body)
            if room < 2 * WORD:
                self.close()
                continue
            part = record[at : at + room - WORD]
            at += len(part)
            last = at >= len(record)
            bits = (0 if last else 1) if first else (2 if last else 3)
            self.body += struct.pack(">HBB", len(part) + WORD, bits, 0) + part
            first = False

    def close(self) -> None:
        self.out.write(struct.pack(">HH", len(self.body) + WORD, 0) + self.body)
        self.written += len(self.body) + WORD
        self.body.clear()


def fillers() -> list[bytearray]:
    generator = random.Random(30)
    found = []
    for record, subtype in ((30, 4), (30, 5), (110, 1), (110, 1)) * 16:
        header = smf_record.header(record, subtype, "B000", START_US)
        rest = bytes(400 - len(header)) + generator.randbytes(generator.randrange(100, 6000))
        found.append(bytearray(header + rest))
    return found


def bench_file(gigabytes: int) -> Path:
    path = DATA / f"smf-day-{gigabytes}.smf"
    if path.exists():
        return path
    DATA.mkdir(exist_ok=True)
    begin = time.perf_counter()
    maker, filling = Maker(), fillers()
    part = path.with_suffix(".part")
    blocks = Blocks(part)
    names = [f"B{n:03}".encode("cp037") for n in range(PER_GIGABYTE * gigabytes)]
    number = 0
    for interval in range(1, INTERVALS + 1):
        end_us = START_US + interval * INTERVAL_US
        fixed = [*maker.interval(interval, (1,))]
        records = [*fixed, *sections(end_us)]
        share = gigabytes * 1_000_000_000 * interval // INTERVALS
        for name in names:
            for record in records:
                blocks.write(record[:14] + name + record[18:])
        for record in _some(filling):
            if blocks.written >= share:
                break
            number += 1
            record[6:14] = records[0][6:14]
            record[14:18] = names[number % len(names)]
            record[-8:] = number.to_bytes(8)
            blocks.write(bytes(record))
    blocks.close()
    blocks.out.close()
    part.replace(path)
    print(f"wrote {path.name} in {time.perf_counter() - begin:.0f} s")
    return path


def _some(records: list[bytearray]) -> Iterator[bytearray]:
    while True:
        yield from records


def peak(*command: str) -> tuple[float, float]:
    """Return the peak memory of a program in GiB, and its seconds."""
    begin = time.perf_counter()
    running = subprocess.Popen([str(PROGRAM), *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(running.pid, 0)
    running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode:
        raise SystemExit(f"zlens {' '.join(command)} ended with {running.returncode}")
    return used.ru_maxrss / 2**20, time.perf_counter() - begin


def slope(sizes: list[float], values: list[float]) -> tuple[float, float]:
    """Fit a line by least squares; return its slope and intercept."""
    mean_size, mean = sum(sizes) / len(sizes), sum(values) / len(values)
    square = sum((size - mean_size) ** 2 for size in sizes)
    rise = sum((s - mean_size) * (v - mean) for s, v in zip(sizes, values, strict=True)) / square
    return rise, mean - rise * mean_size


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=int, nargs="+", default=[1, 2, 4], help="sizes (1 2 4)")
    arguments = parser.parse_args()
    print(f"machine: {machine()}")
    seen: dict[str, list[float]] = {}
    sizes: list[float] = []
    for gigabytes in arguments.gigabytes:
        path = bench_file(gigabytes)
        sizes.append(path.stat().st_size / 1e9)
        lake = DATA / "smf-day-lake"
        shutil.rmtree(lake, ignore_errors=True)
        commands = {"info": ("info", str(path)), "import": ("import", str(path), "--lake", str(lake))}
        for what, command in commands.items():
            used, seconds = peak(*command)
            seen.setdefault(what, []).append(used)
            print(f"{what:<8} {sizes[-1]:5.2f} GB  {used:6.3f} GiB  {seconds:6.1f} s")
        shutil.rmtree(lake, ignore_errors=True)
    for what, values in seen.items():
        rise, base = slope(sizes, values)
        day = base + rise * DAY_GB
        verdict = "reached" if day < ALLOWED_GIB else "MISSED"
        print(
            f"{what:<8} {base:.3f} GiB + {rise:.3f} GiB per GB: {day:.2f} GiB for {DAY_GB} GB, "
            f"allowed {ALLOWED_GIB:g}: {verdict}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
