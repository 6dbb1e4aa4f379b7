"""Memory to open a day of many systems: 16 clusters of 4 members, an interval a minute.

    python bench/clusters.py --folder /tmp/clusters

Writes the files once (one is built, the others are copies with another system name), opens them in a separate
process and prints its peak memory: after opening, and after queries on some record types of all systems.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mix import record_encoder

from zlens import _native
from zlens.catalog import layouts

START_US = 1_772_442_000_000_000
MINUTE_US = 60_000_000
#: System of the first file; the names of the others have the same length.
FIRST = "C00M0"


def record(name: str, time_us: int, values: dict[str, Any], length: int | None = None) -> bytes:
    layout = next(one for one in layouts.layouts(name) if one.release == "5.3")
    return record_encoder.encode(layout, values, tod=_native.tod_from_unix_us(time_us), length=length)


def interval(guests: int, devices: int, cpus: int) -> list[bytes]:
    """Build the samples of one interval, with the record lengths of a newer release."""
    found = [record("D3R1", START_US, {}, 952), record("D0R3", START_US, {}, 604)]
    for cpu in range(cpus):
        found.append(record("D0R2", START_US, {"SYTPRP_PFXCPUAD": cpu}, 352))
        found.append(record("D0R1", START_US, {}, 116))
        found.append(record("D3R2", START_US, {}, 760))
        found.append(record("D5R3", START_US, {}, 384))
    for user in range(guests):
        name = {"USELOF_VMDUSER": f"LINUX{user:03}"}
        guest = bytearray(record("D4R2", START_US, name, 508))
        guest[7] = 3
        found.append(bytes(guest))
    numbers = range(0x1000, 0x1000 + devices)
    return found + [record("D6R3", START_US, {"IODDEV_RDEVDEV": number}, 260) for number in numbers]


def stamped(records: list[bytes], end_us: int) -> Iterator[bytes]:
    for number, data in enumerate(records):
        tod = _native.tod_from_unix_us(end_us - 10_000 + number)
        yield data[:8] + tod.to_bytes(8, "big") + data[16:]


def make(path: Path, minutes: int, records: list[bytes]) -> None:
    config = {"MTRSYS_SYSTMID": FIRST, "MTRSYS_HCPCPEID": "5.3.0"}
    writer = _native.MonwriteWriter(str(path))
    first = [record("D1R4", START_US - 9, config), record("D1R9", START_US - 8, {"MTRSPR_INTERVAL": 60})]
    writer.write([(True, 0x80, 0, 0x200, [*first, record("D1R11", START_US - 7, {})])])
    for minute in range(minutes):
        end = START_US + minute * MINUTE_US
        writer.write([(True, 0x80, 0, 0x200, [*stamped(records, end), record("D1R11", end, {})])])
    writer.finish()


def copy(path: Path, target: Path, name: str) -> None:
    """Copy the file for another system: only its name differs, in the configuration record."""
    old, new = (_native.encode_text(text, 8) for text in (FIRST, name))
    with path.open("rb") as source, target.open("wb") as sink:
        head = source.read(1 << 20)
        sink.write(head.replace(old, new, 1))
        while block := source.read(1 << 24):
            sink.write(block)


def measure(folder: str) -> None:
    """Open the files in a separate process, and run a query over all systems."""
    import zlens

    begin = time.monotonic()
    with zlens.open([folder]) as session:
        systems = len(session.systems)
        report("opened", begin, systems)
        rows = session.sql("SELECT system, count(*) FROM d0r2 GROUP BY system").rows
        report(f"{sum(count for _, count in rows):,} records of processors counted", begin, systems)
        rows = session.sql("SELECT system, max(busy_pct) FROM load GROUP BY system").rows
        report(f"load of {len(rows)} systems", begin, systems)


def report(what: str, begin: float, systems: int) -> None:
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{systems} systems, {what}: {time.monotonic() - begin:.1f} s, {most:,.0f} MiB resident at most",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--folder", type=Path, required=True, help="where the files are written, or are already"
    )
    parser.add_argument("--members", type=int, default=64)
    parser.add_argument("--minutes", type=int, default=1440)
    parser.add_argument("--guests", type=int, default=100)
    parser.add_argument("--devices", type=int, default=150)
    parser.add_argument("--cpus", type=int, default=16)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(str(given.folder))
        return
    given.folder.mkdir(parents=True, exist_ok=True)
    first = given.folder / f"{FIRST}.monwrite"
    if not first.exists():
        make(first, given.minutes, interval(given.guests, given.devices, given.cpus))
    for number in range(1, given.members):
        name = f"C{number // 4:02}M{number % 4}"
        target = given.folder / f"{name}.monwrite"
        if not target.exists():
            copy(first, target, name)
    size = sum(path.stat().st_size for path in given.folder.iterdir())
    print(f"{given.members} files of {given.minutes} intervals, {size / 2**30:.2f} GiB", flush=True)
    subprocess.run([sys.executable, __file__, "--measure", "--folder", str(given.folder)], check=True)


if __name__ == "__main__":
    main()
