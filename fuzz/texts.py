"""Fuzzing of the readers in Python: texts of Linux, z/OS, CP, RMF and an HMC, listings, throughput files.

    python fuzz/texts.py --seconds 60 [TARGET...]

Inputs are complete ones with small damage. An input whose result is new is kept and damaged further. For any
bytes, the result must be rows and problems, or one sentence (InputError); inputs with another result, or with
one that takes too long, are written to fuzz/artifacts/texts.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

import rmf_builder  # noqa: E402
import sysinfo_builder  # noqa: E402
import zos_samples  # noqa: E402
from readers import (  # noqa: E402
    test_cp_console,
    test_dds,
    test_hmc,
    test_hyptop,
    test_linux_counters,
    test_listing_formats,
    test_listing_published,
    test_lspai,
    test_rmf_printed,
    test_zmemtopo,
    test_zos_notices,
    test_zpwr,
)
from zlens.errors import InputError  # noqa: E402
from zlens.inputs.options import Options  # noqa: E402
from zlens.inputs.problems import KINDS  # noqa: E402
from zlens.readers.linux import counters as linux_counters  # noqa: E402
from zlens.readers.linux import hyptop, sysinfo, zmemtopo, zpwr  # noqa: E402
from zlens.readers.listing import source as listing  # noqa: E402
from zlens.readers.openmetrics import dds, hmc  # noqa: E402
from zlens.readers.rmf import listing as rmf_printed  # noqa: E402
from zlens.readers.rmf import monitor3 as rmf_monitor3  # noqa: E402
from zlens.readers.rmf import postprocessor as rmf_xml  # noqa: E402
from zlens.readers.throughput import table as throughput  # noqa: E402
from zlens.readers.zos import text as zos_text  # noqa: E402
from zlens.readers.zvm import console as zvm_console  # noqa: E402

#: Maximum number of inputs with new results, time of a result, and size of an input.
MOST_KEPT = 400
LONGEST_S = 20.0
LARGEST = 256 * 1024

_PIECES = (
    *(b"\0", b"\xff", b"\n", b"\r\n", b" ", b"\t", b",", b";", b":", b'"', b"'", b"\\", b"#", b"%"),
    *(b"-1", b"0", b"99999999999999999999", b"1e999", b"nan", b"0x", b"1.000.000", b"18446744073709551616"),
    *(b"{", b"}", b"[", b"]", b"<", b"/>", b"&amp;", b"<!--", b"]]>", b"\xef\xbb\xbf", b"\xc3\x28", b"N/A"),
)


def of_reader(module: ModuleType) -> Callable[[str], Hashable]:
    """Return a function that opens a file with a reader and reads all its data."""

    def read(path: str) -> Hashable:
        source = module.open_files([path], Options())
        counts = []
        for table in (table for tables in source.tables.values() for table in tables):
            table.stream([column.name for column in table.columns]).__arrow_c_stream__()
            counts.append(table.name)
        data = Path(path).read_bytes()
        # Offsets in compressed data refer to the decompressed bytes.
        most = None if data.startswith(b"\x1f\x8b") else len(data)
        shapes = set()
        for problem in source.problems(complete=True):
            assert problem.kind in KINDS, problem
            assert problem.detail, problem
            assert problem.offset is None or problem.offset >= 0, problem
            assert problem.offset is None or most is None or problem.offset <= most, problem
            shapes.add((problem.kind, _shape(problem.detail)))
        source.resets()
        rows = source.inventory()
        assert source.info()
        return frozenset(shapes), tuple(sorted(counts)), sum(row.count for row in rows).bit_length()

    return read


def of_throughput(path: str) -> Hashable:
    found = throughput.read(path)
    assert all(row.end_us > row.start_us for row in found.rows)
    return tuple(one.meaning for one in found.columns), len(found.rows).bit_length(), found.local


def _shape(sentence: str) -> str:
    """Return a sentence without its quoted texts and numbers."""
    return re.sub(r"\d+", "9", re.sub(r"'[^']*'|\"[^\"]*\"", "''", sentence))


def seeds() -> dict[str, tuple[Callable[[str], Hashable], list[bytes]]]:
    """Return for each target its reading function, and complete inputs."""
    linux = test_linux_counters
    counters = [
        *(linux.PERF_TEXT, linux.PERF_EACH, linux.PERF_CSV, linux.perf_json(), linux.LSHWC, linux.LSCPUMF),
        *(linux.SERVICE, json.dumps(linux.lshwc_json()), json.dumps(linux.lshwc_json(), indent=1)),
        *(test_lspai.csv(), test_lspai.csv(short=True), test_lspai.as_json()),
    ]
    machine = sysinfo_builder.texts()
    z_os = [
        *(
            zos_samples.DISPLAY_HIS,
            zos_samples.DISPLAY_HIS_SERVICE,
            zos_samples.DISPLAY_CORES,
            zos_samples.DISPLAY_CPUS,
        ),
        *(zos_samples.cnt(), zos_samples.cnt(by_set=True, halves=True), test_zos_notices.LOG),
    ]
    loads = [
        "start,end,count,response (ms)\n2026-03-02 09:00,2026-03-02 09:01,5,0.5\n",
        "Time;Requests/min;System;Workload\n2026-03-02T09:00:00Z;60;A;web\n2026-03-02T09:01:00Z;70;A;web\n",
    ]
    published = test_listing_published.FILES
    listings = [path.read_bytes() for path in published]
    printed = [path.read_bytes() for path in sorted(test_listing_published.FOLDER.glob("rmf-*.txt"))]
    header = test_rmf_printed.HEADER.format(
        system="A", date="04/12/2022", time="08.00.00", interval="14.59.999"
    )
    printed.append(test_rmf_printed.DEVICE.format(header=header).encode())
    mailed = [test_listing_formats.flowed, test_listing_formats.quoted, test_listing_formats.page]
    listings += [
        bytes(text) if isinstance(text, bytes) else text.encode()
        for text in (form(test_listing_formats.PRCLOG) for form in mailed)
    ]
    return {
        "linux_counters": (of_reader(linux_counters), [text.encode() for text in counters]),
        "linux_power": (
            of_reader(zpwr),
            [text.encode() for text in (test_zpwr.as_json(), test_zpwr.as_lines(), test_zpwr.as_csv())],
        ),
        "linux_hypervisor": (
            of_reader(hyptop),
            [
                text.encode()
                for text in (
                    test_hyptop.as_json(),
                    test_hyptop.as_lines(),
                    test_hyptop.as_json(test_hyptop.OTHERS),
                )
            ],
        ),
        "linux_memory": (
            of_reader(zmemtopo),
            [text.encode() for text in (test_zmemtopo.as_json(), test_zmemtopo.as_lines())],
        ),
        "sysinfo": (
            of_reader(sysinfo),
            [
                sysinfo_builder.SYSINFO.encode(),
                sysinfo_builder.tar(machine),
                sysinfo_builder.tar(machine, packed=True),
                sysinfo_builder.tar(machine, "one/") + sysinfo_builder.tar(machine, "two/"),
            ],
        ),
        "hmc": (of_reader(hmc), [test_hmc.MADE.encode()]),
        "dds": (of_reader(dds), [test_dds.MADE.encode()]),
        "rmf_xml": (of_reader(rmf_xml), [rmf_builder.document(*rmf_builder.half_hours(3)).encode()]),
        "rmf_printed": (of_reader(rmf_printed), printed),
        "rmf_monitor3": (of_reader(rmf_monitor3), [rmf_builder.document(rmf_builder.monitor3()).encode()]),
        "zos_text": (of_reader(zos_text), [text.encode() for text in z_os]),
        "zvm_console": (
            of_reader(zvm_console),
            [
                text.encode()
                for text in (
                    test_cp_console.NOMINAL,
                    test_cp_console.REDUCED,
                    test_cp_console.LOAD,
                    test_cp_console.SHARE,
                )
            ],
        ),
        "listing": (of_reader(listing), [*listings, test_listing_formats.UNKNOWN.encode()]),
        "throughput": (of_throughput, [text.encode() for text in loads]),
    }


def damaged(corpus: list[bytes], chance: random.Random) -> bytes:
    """Return an input with some damage, or with a part of another."""
    data = bytearray(chance.choice(corpus))
    for _ in range(chance.choice((1, 1, 2, 3, 5, 12))):
        at = chance.randrange(len(data) + 1)
        match chance.randrange(8):
            case 0:
                data[at : at + 1] = bytes((chance.randrange(256),))
            case 1:
                del data[at : at + chance.choice((1, 3, 20, 200, 2000))]
            case 2:
                data[at:at] = chance.choice(_PIECES)
            case 3:
                piece = chance.choice(_PIECES)
                data[at : at + len(piece)] = piece
            case 4:
                other = chance.choice(corpus)
                begin = chance.randrange(len(other) + 1)
                data[at:at] = other[begin : begin + chance.choice((5, 50, 500))]
            case 5:
                # Repeat or delete a line.
                begin = data.rfind(b"\n", 0, at) + 1
                end = data.find(b"\n", at) + 1 or len(data)
                data[begin:end] = data[begin:end][:4096] * chance.choice((0, 2, 30))
            case 6:
                data[at:at] = data[at : at + 1] * chance.choice((10, 1000, 100_000))
            case 7 if chance.random() < 0.2:
                del data[at:]
        del data[LARGEST:]
    return bytes(data)


def tried(name: str, chance: random.Random, folder: Path) -> Iterator[bytes | None]:
    """Yield endlessly: None for an input with a valid result, otherwise the input."""
    read, corpus = seeds()[name]
    known: set[Hashable] = set()
    path = folder / f"input-{name}"
    while True:
        data = damaged(corpus, chance)
        path.write_bytes(data)
        begin = time.monotonic()
        try:
            answer: Hashable = read(str(path))
        except InputError as error:
            answer = _shape(str(error.message))
        except Exception:
            traceback.print_exc()
            yield data
            continue
        if time.monotonic() - begin > LONGEST_S:
            print(f"{name}: an answer after {time.monotonic() - begin:.0f} s")
            yield data
            continue
        if answer not in known:
            known.add(answer)
            if len(corpus) < MOST_KEPT:
                corpus.append(data)
        yield None


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(seeds())} (all)")
    parser.add_argument("--seconds", type=float, default=60, help="how long each is tried (60)")
    parser.add_argument("--inputs", type=int, default=None, help="how many inputs each is given at most")
    parser.add_argument("--seed", type=int, default=time.time_ns(), help="the same damage again")
    arguments = parser.parse_args(words)
    failed = 0
    for name in arguments.targets or seeds():
        chance = random.Random(f"{name} {arguments.seed}")
        until, done = time.monotonic() + arguments.seconds, 0
        with tempfile.TemporaryDirectory() as folder:
            for bad in tried(name, chance, Path(folder)):
                done += 1
                if bad is not None:
                    failed += 1
                    kept = HERE / "artifacts" / "texts" / f"{name}-{hashlib.sha1(bad).hexdigest()}"
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    kept.write_bytes(bad)
                    print(f"{name}: not answered as it should be: {kept}")
                if time.monotonic() > until or done == arguments.inputs:
                    break
        print(f"{name}: {done:,} inputs, seed {arguments.seed}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
