"""Frames between a forwarder (crates/forward) and a receiver, as described in docs/forward-reference.md."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping
from enum import IntEnum

from msgspec import Struct

from zlens.errors import ReceiverError

VERSION = "1"
_MAGIC = b"ZF"
#: Magic, kind, flags, bytes of the payload, sequence number, checksum of these and the payload.
_HEADER = struct.Struct(">2sBBIQI")
_CHECKED = _HEADER.size - 4
#: Maximum bytes of a record, and of a payload with text fields.
MAX_PAYLOAD = 1 << 20
MOST_TEXT = 4096
_MOST_FIELDS = 32
#: Flag of a record that ends a set of data, so that the data is complete without the next record.
END_OF_SET = 1


class FrameKind(IntEnum):
    """Kind of a frame. The forwarder sends the first six, the receiver the others."""

    HELLO = 1
    BEGIN = 2
    DATA = 3
    GAP = 4
    ALIVE = 5
    END = 6
    WELCOME = 17
    ACKNOWLEDGED = 18
    REFUSED = 19


class Frame(Struct, frozen=True):
    kind: FrameKind
    sequence: int = 0
    payload: bytes = b""
    flags: int = 0

    def encode(self) -> bytes:
        start = struct.pack(">2sBBIQ", _MAGIC, self.kind, self.flags, len(self.payload), self.sequence)
        return start + struct.pack(">I", zlib.crc32(self.payload, zlib.crc32(start))) + self.payload

    @property
    def fields(self) -> dict[str, str]:
        """The payload as lines of `key value`.

        Raises ReceiverError if the payload is malformed.
        """
        try:
            lines = self.payload.decode("utf-8").splitlines()
        except UnicodeDecodeError:
            raise ReceiverError("a frame of text is not UTF-8") from None
        if len(self.payload) > MOST_TEXT or len(lines) > _MOST_FIELDS:
            raise ReceiverError(
                f"a frame of text has {len(self.payload)} bytes and {len(lines)} lines",
                expected=f"at most {MOST_TEXT} and {_MOST_FIELDS}",
            )
        return {key: value for key, _, value in (line.partition(" ") for line in lines)}


def encode_fields(fields: Mapping[str, object]) -> bytes:
    """Return fields as the payload of a frame; line breaks in values become spaces."""
    lines = (f"{key} {' '.join(str(value).split())}\n" for key, value in fields.items())
    return "".join(lines).encode()[:MOST_TEXT]


def read_frame(read_bytes: Callable[[int], bytes], most: int = MAX_PAYLOAD) -> Frame:
    """Read the next frame; `read_bytes` returns exactly the requested number of bytes.

    Raises ReceiverError if the bytes are not a frame, its payload exceeds `most` bytes, or it is corrupt.
    """
    header = read_bytes(_HEADER.size)
    magic, kind, flags, length, sequence, checksum = _HEADER.unpack(header)
    if magic != _MAGIC or kind not in FrameKind.__members__.values():
        raise ReceiverError(
            "the data received is not a frame of a forwarder", cure="check that the port is zlens' port"
        )
    if length > most:
        raise ReceiverError(f"a frame has {length} bytes", expected=f"at most {most}")
    payload = read_bytes(length) if length else b""
    if zlib.crc32(payload, zlib.crc32(header[:_CHECKED])) != checksum:
        raise ReceiverError("a frame was corrupted in transit", expected=f"checksum {checksum:08x}")
    return Frame(FrameKind(kind), sequence, payload, flags)
