"""Detection of data of another format before or after the data of a file, and how to extract it."""

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
from zlens.readers.recognition import DETECTION_BYTES, READERS, compressed_format, recognized
from zlens.schema.wording import phrase

RECORD_READERS = ("zvm.monwrite", "smf.dump")
#: Shorter runs of skipped bytes count as damage.
_MIN_FOREIGN_BYTES = 512
_SKIPPED = ("resync", "length", "header")
_ZIP = b"PK\x03\x04"
_ZIP_END = b"PK\x05\x06"
#: Number of bytes that are searched at a time for the end of a ZIP archive.
_PART = 1 << 20
#: Message of gzip and Zstandard decompression about the bytes after their data.
_REST = re.compile(r"(\d+) bytes after the \w+ data \(from byte (\d+)\)")
_GZIP = b"\x1f\x8b"
#: Maximum number of unpacked bytes to skip when identifying trailing data.
_MAX_SCANNED_BYTES = 1 << 30


def find_trailing_data(name: str, problems: Iterable[Problem], paths: Iterable[str]) -> Iterator[Problem]:
    """Yield a problem for each foreign file in a reader's files, detected in the bytes that it skipped."""
    sizes: dict[str, int] = {}
    gzip_paths: set[str] = set()
    for path in paths:
        try:
            with open(path, "rb") as file:
                first_bytes = file.read(DETECTION_BYTES)
                if compressed_format(first_bytes) is None:
                    sizes[path] = os.fstat(file.fileno()).st_size
                elif first_bytes.startswith(_ZIP):
                    yield from _zip_neighbors(path)
                elif first_bytes.startswith(_GZIP):
                    gzip_paths.add(path)
        except OSError:
            continue
    for problem in problems:
        if rest := _REST.match(problem.detail):
            yield from _format_after(problem.file, int(rest[2]), int(rest[2]) + int(rest[1]))
            continue
        if problem.file in gzip_paths:
            yield from _unpacked(problem, name)
            continue
        offset, size = problem.offset, sizes.get(problem.file)
        if (
            offset is None
            or size is None
            or problem.kind not in _SKIPPED
            or (problem.bytes or 0) < _MIN_FOREIGN_BYTES
        ):
            continue
        if offset and offset + (problem.bytes or 0) < size:
            # More data of the same file follows, so these bytes are damaged.
            continue
        end = offset + (problem.bytes or 0)
        format_name = _format(_head(problem.file, offset, end), end - offset, name)
        if format_name is not None:
            detail = f"the skipped bytes {offset:,} to {end:,} are {format_name}"
            yield _problem(problem.file, offset, end, detail)


def _format_after(path: str, offset: int, end: int) -> Iterator[Problem]:
    """Identify data after compressed data; it may have the same format."""
    format_name = _format(_head(path, offset, end), end - offset, None)
    if format_name is not None:
        detail = f"the bytes {offset:,} to {end:,}, which are not read, are {format_name}"
        yield _problem(path, offset, end, detail)


def _unpacked(problem: Problem, reader_name: str) -> Iterator[Problem]:
    """Identify the last bytes of an unpacked gzip file, which a reader skipped."""
    offset, size = problem.offset, problem.bytes or 0
    if (
        offset is None
        or problem.kind not in _SKIPPED
        or size < _MIN_FOREIGN_BYTES
        or offset > _MAX_SCANNED_BYTES
    ):
        return
    try:
        with gzip.open(problem.file) as file:
            file.seek(offset)
            first_bytes = file.read(min(DETECTION_BYTES, size))
    except (OSError, EOFError, zlib.error):
        return
    format_name = _format(first_bytes, size, reader_name)
    if format_name is not None:
        detail = f"the unpacked bytes {offset:,} to {offset + size:,}, which are skipped, are {format_name}"
        cure = "unpack the file and extract them to read them separately"
        yield Problem(None, "", problem.file, offset, None, "section", f"{detail}; {cure}", 0)


def _head(path: str, offset: int, end: int) -> bytes:
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            return file.read(min(DETECTION_BYTES, end - offset))
    except OSError:
        return b""


def _format(first_bytes: bytes, size: int, reader_name: str | None) -> str | None:
    """Return the format of data with these first bytes; None if unknown or the reader's own format."""
    if len(first_bytes) < min(_MIN_FOREIGN_BYTES, size) or not first_bytes.strip(b"\0"):
        return None
    compressed = compressed_format(first_bytes)
    if compressed is not None:
        return f"a {compressed[0]}"
    with suppress(InputError):
        name = recognized(first_bytes, size)
        return READERS[name] if name is not None and name != reader_name else None
    return None


def _zip_neighbors(path: str) -> Iterator[Problem]:
    """Find data before and after the last archive of a file, whose directory is at its end."""
    size = os.path.getsize(path)
    start, tail = _zip_end(path, size)
    index = tail.rfind(_ZIP_END)
    if index < 0 or len(tail) - index < 22:
        return
    directory_size, directory = struct.unpack_from("<II", tail, index + 12)
    first = start + index - directory_size - directory
    if directory != 0xFFFFFFFF and first >= _MIN_FOREIGN_BYTES:
        yield _problem(path, 0, first, f"the bytes up to {first:,} are another ZIP archive")
    (comment,) = struct.unpack_from("<H", tail, index + 20)
    end = start + index + 22 + comment
    if size > end:
        problems = list(_format_after(path, end, size)) if size - end >= _MIN_FOREIGN_BYTES else []
        detail = f"{size - end:,} bytes after the ZIP archive are not read"
        yield from problems or [Problem(None, "", path, end, None, "length", detail, size - end)]


def _zip_end(path: str, size: int) -> tuple[int, bytes]:
    """Return the last part of a file with the end of an archive, and its offset; large data may follow it."""
    start = size
    with open(path, "rb") as file:
        while start > 0 and size - start < _MAX_SCANNED_BYTES:
            # Parts overlap, so one of them contains the complete end.
            end, start = min(size, start + 22), max(0, start - _PART)
            file.seek(start)
            part = file.read(end - start)
            if _ZIP_END in part:
                return start, part
    return 0, b""


def _problem(path: str, offset: int, end: int, sentence: str) -> Problem:
    cure = phrase("cut_off", start=offset + 1, count=end - offset)
    return Problem(None, "", path, offset, None, "section", f"{sentence}; {cure}", 0)
