"""Ports for servers under test."""

from __future__ import annotations

import socket


def free_socket() -> socket.socket:
    """A socket that listens on a port that was free."""
    found = socket.socket(proto=socket.IPPROTO_TCP)
    found.bind(("127.0.0.1", 0))
    found.listen(64)
    return found
