"""Reads tar archives, of which files may be missing or damaged, with or without gzip."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO

#: Unpacked bytes after an archive that are read to find the end of the gzip data.
MAX_FINISH = 1 << 30
_BLOCK = 512
_GZIP = b"\x1f\x8b"
#: Two blocks of zeros end an archive, which is padded with zeros to a multiple of 20 blocks.
_PADDING = 22
_NAME_LIMIT = 64 * 1024


class DamageError(Exception):
    """Damage that stops reading an archive: kind, offset, message."""


def is_tar(first_bytes: bytes) -> bool:
    """Return whether a file with these first bytes is a tar, with or without gzip."""
    if first_bytes.startswith(_GZIP):
        try:
            first_bytes = zlib.decompressobj(wbits=31).decompress(first_bytes, _BLOCK)
        except zlib.error:
            return False
    # The original format of tar has no such text.
    return first_bytes[257:262] == b"ustar" or (
        len(first_bytes) >= _BLOCK and _checksum_matches(first_bytes[:_BLOCK])
    )


def read_members(file: BinaryIO, longest: int) -> Iterator[tuple[int, str, bytes, int]]:
    """Yield offset, name, first bytes (up to `longest`) and time in microseconds of every file in a tar.

    Raises DamageError, and zlib.error for damaged gzip data.
    """
    is_gzip = file.read(2) == _GZIP
    file.seek(0)
    if not is_gzip:
        yield from _members(file.read, longest)
        return
    unpacking = _Unpacking(file.read)
    try:
        yield from _members(unpacking.read, longest)
        unpacking.finish()
    except DamageError as error:
        kind, offset, detail = error.args
        raise DamageError(kind, offset, f"{detail} (offset in the unpacked archive)") from None


class _Unpacking:
    """Unpacks gzip data in chunks."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._unpack = zlib.decompressobj(wbits=31)
        self._rest = b""

    def read(self, size: int) -> bytes:
        """Return up to `size` unpacked bytes; fewer only at the end."""
        parts: list[bytes] = []
        while size:
            if not self._rest:
                self._rest = self._read(64 * 1024)
            part = self._unpack.decompress(self._rest, size)
            had_input = bool(self._rest)
            self._rest = self._unpack.unconsumed_tail
            if self._unpack.eof:
                # Separately packed archives may be concatenated.
                self._rest = self._unpack.unused_data or self._read(64 * 1024)
                if self._rest.startswith(_GZIP):
                    self._unpack = zlib.decompressobj(wbits=31)
                elif not part:
                    break
            elif not part and not had_input:
                break
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def finish(self) -> None:
        """Unpack the data after the archive, because only its end shows whether the data is complete.

        Raises DamageError if the end is missing, zlib.error if the checksum is wrong.
        """
        remaining = MAX_FINISH
        while part := self.read(min(remaining, 64 * 1024)):
            remaining -= len(part)
            if not remaining:
                raise DamageError("length", MAX_FINISH, "too much follows the archive; not read to its end")
        if not self._unpack.eof:
            raise DamageError("truncated", 0, "the gzip data has no end; files may be missing")


def _members(read: Callable[[int], bytes], longest: int) -> Iterator[tuple[int, str, bytes, int]]:
    position = 0
    zeros = 0
    long_name: str | None = None
    while True:
        header = read(_BLOCK)
        start = position
        position += len(header)
        if header and not header.strip(b"\0"):
            zeros += 1
            if zeros > _PADDING:
                return
            continue
        if zeros and not header:
            return
        # Another archive may follow the end of this one in the same file.
        zeros = 0
        if len(header) < _BLOCK:
            raise DamageError("truncated", start, "the archive has no end marker")
        if not _checksum_matches(header):
            raise DamageError("header", start, "this is not a tar header; not read from here on")
        size, time = _field(header[124:136]), _field(header[136:148])
        if size is None or time is None:
            raise DamageError("length", start, "a header without a length; not read from here on")
        padded = -(-size // _BLOCK) * _BLOCK
        kind = header[156:157]
        limit = _NAME_LIMIT if kind in b"Lxg" else longest
        data = read(min(padded, limit))
        position += len(data)
        if len(data) < min(padded, limit):
            raise DamageError("truncated", start, "the archive ends inside a file")
        position += _skip(read, padded - len(data), start)
        if kind == b"L":
            long_name = data[:size].rstrip(b"\0").decode("utf-8", "replace")
        elif kind == b"x":
            long_name = _pax_path(data[:size]) or long_name
        elif kind != b"g":
            if kind in b"0\0" and kind:
                name = long_name if long_name is not None else _name(header)
                yield start, name, data[:size], min(time, 2**40) * 1_000_000
            long_name = None


def _skip(read: Callable[[int], bytes], size: int, start: int) -> int:
    remaining = size
    while remaining:
        part = read(min(remaining, 64 * 1024))
        if not part:
            raise DamageError("truncated", start, "the archive ends inside a file")
        remaining -= len(part)
    return size


def _checksum_matches(header: bytes) -> bool:
    stated = _field(header[148:156])
    return stated == sum(header) - sum(header[148:156]) + 8 * 0x20


def _field(raw: bytes) -> int | None:
    """Parse a header number: octal digits, or binary after a byte X'80'."""
    if raw[:1] == b"\x80":
        return int.from_bytes(raw[1:], "big")
    text = raw.strip(b"\0 ")
    return int(text or b"0", 8) if re.fullmatch(rb"[0-7]*", text) else None


def _name(header: bytes) -> str:
    name = header[:100].partition(b"\0")[0]
    # Otherwise the field contains the first part of a POSIX name, which GNU archives use differently.
    if header[257:263] == b"ustar\0" and (prefix := header[345:500].partition(b"\0")[0]):
        name = prefix + b"/" + name
    return name.decode("utf-8", "replace")


def _pax_path(data: bytes) -> str | None:
    """Return the path in an extended header: records of length, blank, key=value and newline."""
    while data:
        length, _, _ = data.partition(b" ")
        if not re.fullmatch(rb"\d{1,6}", length) or not len(length) + 2 < int(length) <= len(data):
            return None
        record = data[len(length) + 1 : int(length) - 1]
        if record.startswith(b"path="):
            return record[5:].decode("utf-8", "replace")
        data = data[int(length) :]
    return None
