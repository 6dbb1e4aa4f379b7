"""`make bench`: costs of zlens as ratios, measured in one run on one file.

The denominator is the minimal time to read the file: pread in 256 KiB windows, one byte touched in 64.
Everything is measured with the file in the page cache. Ratios are medians of rounds in which the denominator
is measured before, between and after; for complete commands the best run counts.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mix

from zlens import _native
from zlens.readers.zvm.monwrite import MonwriteSource
from zlens.session.open_inputs import open_inputs

ROOT = Path(__file__).parent.parent
DATA = Path(__file__).parent / ".data"
TOUCH = ROOT / "target" / "release" / "examples" / "touch"
PROGRAM = Path(sys.executable).parent / "zlens"
#: Three columns each of the record that most queries start with, and of the file's largest record type.
NARROW = ("D0R2", ["sytprp_pfxcpuad", "sytprp_pfxutime", "sytprp_pfxtmsys"])
WIDEST = ("D6R3", ["ioddev_rdevdev", "ioddev_scgssch", "ioddev_scmcntim"])


@dataclass(frozen=True)
class Round:
    """Seconds of compared operations, measured close together."""

    touch: float
    everything: float
    with_index: float
    narrow: float
    widest: float


def in_turns(path: Path) -> Round:
    """Measure a round; the denominator is taken in between, because the speed of a machine varies."""
    before = touch(path, 3)
    source = source_of(path)
    everything = best(3, lambda: decode_all(source))
    with_index = best(3, lambda: decode_all(source_of(path)))
    between = touch(path, 3)
    narrow = best(3, lambda: three_columns(path, *NARROW))
    widest = best(3, lambda: three_columns(path, *WIDEST))
    after = touch(path, 3)
    return Round(statistics.median((before, between, after)), everything, with_index, narrow, widest)


class Results:
    def __init__(self) -> None:
        self.missed = 0

    def at_least(self, what: str, ratio: float, wanted: float | None, detail: str) -> None:
        if wanted is None:
            self._say(what, f"{ratio:.2f}", "for comparison", None, detail)
        else:
            self._say(what, f"{ratio:.2f}", f"at least {wanted:.2f}", ratio >= wanted, detail)

    def at_most(self, what: str, seconds: float, wanted: float, detail: str) -> None:
        self._say(what, f"{seconds:.3f} s", f"at most {wanted:.3f} s", seconds <= wanted, detail)

    def at_most_ratio(self, what: str, ratio: float, wanted: float, detail: str) -> None:
        self._say(what, f"{ratio:.2f}", f"at most {wanted:.2f}", ratio <= wanted, detail)

    def _say(self, what: str, value: str, wanted: str, reached: bool | None, detail: str) -> None:
        self.missed += reached is False
        mark = {True: "  ok  ", False: "MISSED", None: "      "}[reached]
        print(f"{mark}  {what:<42} {value:>9}  ({wanted})  {detail}")


def best(runs: int, run: Callable[[], object]) -> float:
    least = float("inf")
    for _ in range(runs):
        begin = time.perf_counter()
        run()
        least = min(least, time.perf_counter() - begin)
    return least


def touch(path: Path, runs: int) -> float:
    done = subprocess.run([str(TOUCH), str(path), str(runs)], capture_output=True, text=True, check=True)
    return min(float(line) for line in done.stdout.split())


def command(*words: str) -> Callable[[], object]:
    def run() -> object:
        return subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)

    return run


def source_of(path: Path) -> MonwriteSource:
    from zlens import Options

    sources, _ = open_inputs([str(path)], Options())
    (source,) = sources
    assert isinstance(source, MonwriteSource)
    return source


def decode_all(source: MonwriteSource) -> int:
    """Decode every column of every record type to Arrow batches, dropping each before the next."""
    rows = 0
    for group in source.groups:
        chosen = [plan for record in source.types(group) for plan in source.plans(group, record)]
        system = {
            "name": group.info.system,
            "source": source.name,
            "files": group.files,
            "interval_ends": group.ends,
            "nominal_s": group.info.nominal_s,
            "resets": [],
        }
        decoder = _native.MonwriteDecoder([system], json.dumps(chosen), 0)
        for _, batch in decoder.batches(differences=False):
            rows += batch.num_rows
    return rows


def three_columns(path: Path, record: str, columns: list[str]) -> int:
    """Index, then decode three columns of one record type to Arrow batches."""
    import pyarrow

    source = source_of(path)
    rows = 0
    for group in source.groups:
        stream = source.decode(group, source.plans(group, record), []).stream(record.lower(), columns)
        for batch in pyarrow.RecordBatchReader.from_stream(stream):
            rows += batch.num_rows
    return rows


def bench_file(size: int) -> Path:
    """Return the file of this size and of this mix, written once."""
    recipe = hashlib.sha256(Path(mix.__file__).read_bytes()).hexdigest()[:12]
    path = DATA / f"mix-{recipe}-{size}.monwrite"
    if path.exists():
        return path
    DATA.mkdir(exist_ok=True)
    for old in DATA.glob("mix-*.monwrite"):
        old.unlink()
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=DATA) as folder:
        part = Path(folder) / "part"
        mix.write(part, size)
        os.replace(part, path)
    print(f"wrote {path.name} in {time.perf_counter() - begin:.0f} s")
    return path


def machine() -> str:
    model = platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    system = f"{platform.system()} {platform.release()}, load {os.getloadavg()[0]:.1f}"
    return f"{os.cpu_count()} x {model}, {memory:.0f} GiB, {system}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=1000, help="size of the file (1000)")
    parser.add_argument("--runs", type=int, default=5, help="rounds, and runs of each command (5)")
    arguments = parser.parse_args()
    runs = arguments.runs
    path = bench_file(arguments.megabytes * 1_000_000)
    size = path.stat().st_size
    print(f"machine: {machine()}, Python {platform.python_version()}")
    print(f"file: {size / 1e9:.3f} GB, an interval holds")
    for line in mix.described():
        print(f"  {line}")
    results = Results()

    all_rows = decode_all(source_of(path))
    rounds = [in_turns(path) for _ in range(runs)]
    base = statistics.median(one.touch for one in rounds)
    print(f"\npread and touch: {base:.3f} s, {size / base / 1e9:.1f} GB/s; medians of {runs} rounds")
    for what, seconds, wanted in (
        # The bound includes the index, because a reader of the file waits for it too.
        (f"index and every column of {all_rows:,} rows into Arrow", [one.with_index for one in rounds], 0.40),
        ("every column, the index at hand", [one.everything for one in rounds], None),
        (f"index and three columns of {NARROW[0]}", [one.narrow for one in rounds], 0.75),
        (f"index and three columns of {WIDEST[0]}", [one.widest for one in rounds], None),
    ):
        ratios = sorted(one.touch / each for one, each in zip(rounds, seconds, strict=True))
        middle = statistics.median(seconds)
        spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}; {middle:.3f} s, {size / middle / 1e9:.1f} GB/s"
        results.at_least(what, statistics.median(ratios), wanted, spread)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"        peak memory of these {peak:.0f} MiB")

    checksum = best(runs, command("sha256sum", str(path)))
    print(f"\nsha256sum: {checksum:.3f} s")
    name = str(PROGRAM)
    seconds = best(runs, command(name, "report", "prclog", str(path)))
    results.at_most("zlens report prclog", seconds, checksum + 0.5, "sha256sum plus 0.5 s")
    seconds = best(runs, command(name, "info", str(path)))
    results.at_most("zlens info", seconds, (checksum + 0.5) / 2, "half of that")
    seconds = best(runs, command(name, "--help"))
    results.at_most("zlens --help", seconds, 0.2, "")
    print(f"\n{results.missed} of 5 missed" if results.missed else "\nall reached")
    return 0


if __name__ == "__main__":
    sys.exit(main())
