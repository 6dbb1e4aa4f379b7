"""Encoders of dumps in each physical format, and of compressed dumps."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable, Sequence

Records = Sequence[bytes]


def stream(records: Records) -> bytes:
    """Return each record after a descriptor word computed from its length."""
    return b"".join(len(one).to_bytes(2) + bytes(2) + one[4:] for one in records)


def blocked(records: Records, size: int = 27_998, *, extended: bool = False) -> bytes:
    """Return complete records in blocks."""
    blocks: list[bytes] = [b""]
    for one in records:
        one = stream([one])
        if blocks[-1] and 4 + len(blocks[-1]) + len(one) > size:
            blocks.append(b"")
        blocks[-1] += one
    return b"".join(_block(body, extended=extended) for body in blocks if body)


def _block(body: bytes, *, extended: bool) -> bytes:
    length = len(body) + 4
    return (0x80000000 | length if extended else length << 16).to_bytes(4) + body


def spanned(records: Records, size: int = 27_998) -> bytes:
    """Return records in segments that fill every block."""
    out, body = b"", b""
    for one in records:
        rest, first = one[4:], True
        while rest or first:
            if size - 4 - len(body) < 5:
                out, body = out + _block(body, extended=False), b""
            part, rest = rest[: size - 8 - len(body)], rest[size - 8 - len(body) :]
            body += _segment(part, first=first, last=not rest)
            first = False
    return out + (_block(body, extended=False) if body else b"")


def segments(records: Records, size: int) -> bytes:
    """Return records in segments without blocks."""
    out = b""
    for one in records:
        parts = [one[at : at + size - 4] for at in range(4, len(one), size - 4)]
        for nth, part in enumerate(parts):
            out += _segment(part, first=nth == 0, last=nth == len(parts) - 1)
    return out


def _segment(part: bytes, *, first: bool, last: bool) -> bytes:
    bits = {(True, True): 0, (True, False): 1, (False, True): 2, (False, False): 3}[first, last]
    return (len(part) + 4).to_bytes(2) + bytes((bits, 0)) + part


def zipped(data: bytes) -> bytes:
    """Return an archive with a text, a folder, and a member with the data."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("README.txt", "what is in here")
        archive.mkdir("smf")
        archive.writestr("smf/day.smf", data)
    return out.getvalue()


def zstandard(data: bytes) -> bytes:
    """Return a frame of uncompressed blocks."""
    blocks = [data[at : at + 100_000] for at in range(0, len(data), 100_000)] or [b""]
    out = b"\x28\xb5\x2f\xfd\x00\x38"
    for nth, block in enumerate(blocks):
        out += (len(block) << 3 | (nth == len(blocks) - 1)).to_bytes(3, "little") + block
    return out


FORMS: dict[str, Callable[[Records], bytes]] = {
    "blocks": blocked,
    "long blocks": lambda records: blocked(records, 262_144, extended=True),
    "spanned": spanned,
    "short blocks": lambda records: spanned(records, 333),
    "segments": lambda records: segments(records, 200),
    "one behind the other": lambda records: (
        spanned(records[:5], 700) + stream(records[5:9]) + blocked(records[9:], 5000, extended=True)
    ),
}

PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "two gzips": lambda data: gzip.compress(data[:999]) + gzip.compress(data[999:]),
    "zip": zipped,
    "zstd": zstandard,
}
