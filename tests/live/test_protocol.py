"""Tests of forwarder frames: the same bytes as in Rust; damaged frames are refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iterations import iterations
from zlens.errors import ReceiverError
from zlens.live import protocol
from zlens.live.protocol import END_OF_SET, Frame, FrameKind


def test_frame_encoding_equals_forwarder() -> None:
    # The same bytes as in crates/forward/tests/wire.rs.
    frame = Frame(FrameKind.DATA, 0x0102_0304_0506_0708, b"abc", END_OF_SET)
    assert frame.encode().hex() == "5a46030100000003010203040506070886e64c6e616263"


def test_fields_are_lines() -> None:
    frame = Frame(FrameKind.GAP, payload=protocol.encode_fields({"reason": "a\nb", "sets": 3}))
    assert frame.fields == {"reason": "a b", "sets": "3"}


@settings(max_examples=iterations(300, 20), deadline=None)
@given(data=st.data())
def test_damaged_frames_are_refused(data: st.DataObject) -> None:
    """A frame with one changed bit is never accepted."""
    payload = data.draw(st.binary(max_size=200))
    frame = Frame(
        FrameKind.DATA, data.draw(st.integers(0, 2**64 - 1)), payload, data.draw(st.integers(0, 255))
    )
    encoded = bytearray(frame.encode())
    bit = data.draw(st.integers(0, len(encoded) * 8 - 1))
    encoded[bit // 8] ^= 1 << bit % 8
    rest = bytes(encoded)

    def take(count: int) -> bytes:
        nonlocal rest
        if len(rest) < count:
            raise EOFError
        taken, rest = rest[:count], rest[count:]
        return taken

    with pytest.raises((ReceiverError, EOFError)):
        protocol.read_frame(take)
