"""A forwarder in Python that can send frames that the real one never sends."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

from patience import until
from zlens.live import protocol
from zlens.live.protocol import Frame, FrameKind
from zlens.live.receiver import Receiver

STREAM = "0123456789abcdef0123456789abcdef"


class Peer:
    """A connection to a receiver."""

    def __init__(
        self, receiver: Receiver, wrap: Callable[[socket.socket], socket.socket] | None = None
    ) -> None:
        plain = socket.create_connection(receiver.address, timeout=10)
        self.socket = wrap(plain) if wrap else plain

    def send(self, kind: FrameKind, sequence: int = 0, payload: bytes = b"", flags: int = 0) -> None:
        self.socket.sendall(Frame(kind, sequence, payload, flags).encode())

    def read(self) -> Frame:
        return protocol.read_frame(self._take)

    def _take(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def greet(self, **fields: Any) -> Frame:
        """Send a hello and return the response."""
        hello = {"version": protocol.VERSION, "name": "lnx1", "kind": "monreader", "stream": STREAM} | fields
        self.send(FrameKind.HELLO, payload=protocol.encode_fields(hello))
        return self.read()

    def deliver(self, sequence: int, data: bytes) -> None:
        """Send a set of one record and wait until it is durable."""
        self.send(FrameKind.DATA, sequence, data, protocol.END_OF_SET)
        self.acknowledged(sequence + 1)

    def acknowledged(self, sequence: int) -> None:
        """Wait until all records before this one are durable."""
        while True:
            answer = self.read()
            assert answer.kind is FrameKind.ACKNOWLEDGED, answer
            if answer.sequence >= sequence:
                assert answer.sequence == sequence
                return

    def close(self) -> None:
        self.socket.close()


def eventually(what: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    until(what)
