"""Files that stand in one, one behind the other: what was skipped is named, and how to cut it off."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator

from zlens.errors import InputError
from zlens.inputs.problems import Problem
from zlens.readers.recognition import HEAD, READERS, packed, reader
from zlens.schema.wording import say

#: Readers of records, which skip what is none; by name of READERS, what their files are.
_NAMES = {
    "zvm.monwrite": "MONWRITE data",
    "rmf.postprocessor": "an RMF Postprocessor XML report",
    "rmf.monitor3": "an RMF Monitor III XML report",
    "smf.dump": "an SMF dump",
    "linux.sysinfo": "a copy of the texts of a Linux",
    "hmc.exporter": "Prometheus text of an HMC exporter",
    "zos.text": "z/OS console text",
    "linux.counters": "counters of Linux",
}
OF_RECORDS = ("zvm.monwrite", "smf.dump")
#: Bytes of less are damage.
_LEAST = 512
_SKIPPED = ("resync", "length", "header")
_ZIP = b"PK\x03\x04"
_ZIP_END = b"PK\x05\x06"
#: The end of a ZIP archive: a comment may follow its 22 bytes.
_ZIP_TAIL = 22 + 0xFFFF


def named(name: str, problems: Iterable[Problem], paths: Iterable[str]) -> Iterator[Problem]:
    """A problem for each other file in the files of a reader, found where that skipped bytes."""
    sizes: dict[str, int] = {}
    for path in paths:
        try:
            with open(path, "rb") as file:
                begin = file.read(HEAD)
                if packed(begin) is None:
                    sizes[path] = os.fstat(file.fileno()).st_size
                elif begin.startswith(_ZIP):
                    yield from _before(path)
        except OSError:
            continue
    for problem in problems:
        at, size = problem.offset, sizes.get(problem.file)
        if at is None or size is None or problem.kind not in _SKIPPED or (problem.bytes or 0) < _LEAST:
            continue
        if at and at + (problem.bytes or 0) < size:
            # More of the same file follows: these bytes are damaged.
            continue
        end = at + (problem.bytes or 0)
        what = _format(problem.file, at, end, name)
        if what is not None:
            yield _problem(problem.file, at, end, f"the skipped bytes {at:,} to {end:,} are {what}")


def _format(path: str, at: int, end: int, own: str) -> str | None:
    """What a part of a file is; None if it is unknown, or what the file is."""
    try:
        with open(path, "rb") as file:
            file.seek(at)
            head = file.read(min(HEAD, end - at))
    except OSError:
        return None
    found = packed(head)
    if found is not None:
        return f"a {found[0]}"
    for name in READERS:
        try:
            if reader(name).detect(head, end - at):
                return _NAMES[name] if name != own else None
        except InputError:
            continue
    return None


def _before(path: str) -> Iterator[Problem]:
    """The archive before the last one of a file: only the last one's directory is at the end."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        start = max(0, size - _ZIP_TAIL)
        file.seek(start)
        tail = file.read(_ZIP_TAIL)
    place = tail.rfind(_ZIP_END)
    if place < 0 or len(tail) - place < 22:
        return
    directory_size, directory = struct.unpack_from("<II", tail, place + 12)
    first = start + place - directory_size - directory
    if directory != 0xFFFFFFFF and first >= _LEAST:
        yield _problem(path, 0, first, f"the bytes up to {first:,} are another ZIP archive")


def _problem(path: str, at: int, end: int, what: str) -> Problem:
    cure = say("cut_off", start=at + 1, count=end - at)
    return Problem(None, "", path, at, None, "section", f"{what}; {cure}", 0)
