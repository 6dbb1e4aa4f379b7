"""Detects data of another format before or after the data of a file, and tells how to extract it."""

from __future__ import annotations

import gzip
import os
import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress

from zlens.errors import InputError
from zlens.inputs.problems import Problem
from zlens.readers.recognition import DETECTION_BYTES, compressed_format, recognized
from zlens.schema.wording import phrase

#: By name of READERS, what their files are.
_NAMES = {
    "zvm.monwrite": "MONWRITE data",
    "rmf.postprocessor": "an RMF Postprocessor XML report",
    "rmf.monitor3": "an RMF Monitor III XML report",
    "smf.dump": "an SMF dump",
    "linux.sysinfo": "a copy of the texts of a Linux",
    "openmetrics.hmc": "Prometheus text of an HMC exporter",
    "openmetrics.dds": "OpenMetrics text of RMF's Distributed Data Server",
    "rmf.listing": "a printed RMF report",
    "listing.source": "a printed report",
    "zos.text": "z/OS console text",
    "zvm.console": "z/VM console text",
    "linux.counters": "counters of Linux",
}
RECORD_READERS = ("zvm.monwrite", "smf.dump")
#: Shorter runs of skipped bytes count as damage.
_MIN_FOREIGN_BYTES = 512
_SKIPPED = ("resync", "length", "header")
_ZIP = b"PK\x03\x04"
_ZIP_END = b"PK\x05\x06"
#: Bytes that are searched for the end of a ZIP archive at a time.
_PART = 1 << 20
#: What decompression of gzip and Zstandard reports of the bytes after their data.
_REST = re.compile(r"(\d+) bytes after the \w+ data \(from byte (\d+)\)")
_GZIP = b"\x1f\x8b"
#: Maximum number of unpacked bytes to skip when identifying trailing data.
_MAX_SCANNED_BYTES = 1 << 30


def find_trailing_data(name: str, problems: Iterable[Problem], paths: Iterable[str]) -> Iterator[Problem]:
    """A problem for each other file in the files of a reader, found where that skipped bytes."""
    sizes: dict[str, int] = {}
    gzips: set[str] = set()
    for path in paths:
        try:
            with open(path, "rb") as file:
                begin = file.read(DETECTION_BYTES)
                if compressed_format(begin) is None:
                    sizes[path] = os.fstat(file.fileno()).st_size
                elif begin.startswith(_ZIP):
                    yield from _zip_neighbors(path)
                elif begin.startswith(_GZIP):
                    gzips.add(path)
        except OSError:
            continue
    for problem in problems:
        rest = _REST.match(problem.detail)
        if rest is not None:
            yield from _format_after(problem.file, int(rest[2]), int(rest[2]) + int(rest[1]))
            continue
        if problem.file in gzips:
            yield from _unpacked(problem, name)
            continue
        at, size = problem.offset, sizes.get(problem.file)
        if (
            at is None
            or size is None
            or problem.kind not in _SKIPPED
            or (problem.bytes or 0) < _MIN_FOREIGN_BYTES
        ):
            continue
        if at and at + (problem.bytes or 0) < size:
            # More of the same file follows: these bytes are damaged.
            continue
        end = at + (problem.bytes or 0)
        what = _format(_head(problem.file, at, end), end - at, name)
        if what is not None:
            yield _problem(problem.file, at, end, f"the skipped bytes {at:,} to {end:,} are {what}")


def _format_after(path: str, at: int, end: int) -> Iterator[Problem]:
    """Identify data after compressed data; it may have the same format."""
    what = _format(_head(path, at, end), end - at, None)
    if what is not None:
        yield _problem(path, at, end, f"the bytes {at:,} to {end:,}, which are not read, are {what}")


def _unpacked(problem: Problem, own: str) -> Iterator[Problem]:
    """What the last bytes of an unpacked gzip file are, which a reader skipped."""
    at, size = problem.offset, problem.bytes or 0
    if at is None or problem.kind not in _SKIPPED or size < _MIN_FOREIGN_BYTES or at > _MAX_SCANNED_BYTES:
        return
    try:
        with gzip.open(problem.file) as file:
            file.seek(at)
            head = file.read(min(DETECTION_BYTES, size))
    except (OSError, EOFError, zlib.error):
        return
    what = _format(head, size, own)
    if what is not None:
        detail = f"the unpacked bytes {at:,} to {at + size:,}, which are skipped, are {what}"
        cure = "unpack the file and cut them off to read them by themselves"
        yield Problem(None, "", problem.file, at, None, "section", f"{detail}; {cure}", 0)


def _head(path: str, at: int, end: int) -> bytes:
    try:
        with open(path, "rb") as file:
            file.seek(at)
            return file.read(min(DETECTION_BYTES, end - at))
    except OSError:
        return b""


def _format(head: bytes, size: int, own: str | None) -> str | None:
    """The format of data with these first bytes; None if unknown or the format of the file itself."""
    if len(head) < min(_MIN_FOREIGN_BYTES, size) or not head.strip(b"\0"):
        return None
    found = compressed_format(head)
    if found is not None:
        return f"a {found[0]}"
    with suppress(InputError):
        name = recognized(head, size)
        return _NAMES[name] if name is not None and name != own else None
    return None


def _zip_neighbors(path: str) -> Iterator[Problem]:
    """Find data before and after the last archive of a file, whose directory is at its end."""
    size = os.path.getsize(path)
    start, tail = _zip_end(path, size)
    place = tail.rfind(_ZIP_END)
    if place < 0 or len(tail) - place < 22:
        return
    directory_size, directory = struct.unpack_from("<II", tail, place + 12)
    first = start + place - directory_size - directory
    if directory != 0xFFFFFFFF and first >= _MIN_FOREIGN_BYTES:
        yield _problem(path, 0, first, f"the bytes up to {first:,} are another ZIP archive")
    (comment,) = struct.unpack_from("<H", tail, place + 20)
    end = start + place + 22 + comment
    if size > end:
        told = list(_format_after(path, end, size)) if size - end >= _MIN_FOREIGN_BYTES else []
        detail = f"{size - end:,} bytes behind the ZIP archive are not read"
        yield from told or [Problem(None, "", path, end, None, "length", detail, size - end)]


def _zip_end(path: str, size: int) -> tuple[int, bytes]:
    """The bytes with the last end of an archive, and where they begin: behind it a large file may follow."""
    start = size
    with open(path, "rb") as file:
        while start > 0 and size - start < _MAX_SCANNED_BYTES:
            # Parts overlap, so that an end is whole in one of them.
            end, start = min(size, start + 22), max(0, start - _PART)
            file.seek(start)
            part = file.read(end - start)
            if _ZIP_END in part:
                return start, part
    return 0, b""


def _problem(path: str, at: int, end: int, what: str) -> Problem:
    cure = phrase("cut_off", start=at + 1, count=end - at)
    return Problem(None, "", path, at, None, "section", f"{what}; {cure}", 0)
