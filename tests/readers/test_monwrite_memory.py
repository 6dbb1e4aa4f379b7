"""Tests that the memory to open files is a small part of their size, for any number of files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import monwrite_builder as monwrite
from zlens import _native

FILES = 24
#: The first files also allocate what all files share, so only the others are counted.
SCRIPT = """
import resource, sys, zlens
def most(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
kept = [zlens.open(sys.argv[1:5])]
first = most()
kept.append(zlens.open(sys.argv[5:]))
print(most() - first, sum(len(session.systems) for session in kept))
"""


def test_memory_grows_slower_than_input(tmp_path: Path) -> None:
    records = [
        monwrite.record("D6R3", monwrite.START_US, {"IODDEV_RDEVDEV": number}) for number in range(150)
    ]
    groups = [monwrite.configuration(monwrite.START_US)]
    for minute in range(200):
        end = monwrite.START_US + minute * monwrite.MINUTE_US
        tod = _native.tod_from_unix_us(end - 100).to_bytes(8, "big")
        groups.append(monwrite.interval(end, [data[:8] + tod + data[16:] for data in records]))
    first = monwrite.write(tmp_path / "F00.mon", groups).read_bytes()
    name, size = _native.encode_text("MADETEST", 8), len(first)
    paths = [tmp_path / "F00.mon"]
    for number in range(1, FILES):
        path = tmp_path / f"F{number:02}.mon"
        path.write_bytes(first.replace(name, _native.encode_text(f"OTHER{number:02}", 8), 1))
        paths.append(path)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, paths)], capture_output=True, text=True, check=True
    )
    grown, systems = map(int, done.stdout.split())
    assert systems == FILES
    # Twelve bytes for every page of 4096 bytes, and the identity of a system.
    assert grown < (FILES - 4) * size / 20, (grown, size)
