"""Ports for servers under test."""

from __future__ import annotations

import socket


def free_socket() -> socket.socket:
    """Return a socket that listens on a free port."""
    found = socket.socket(proto=socket.IPPROTO_TCP)
    found.bind(("127.0.0.1", 0))
    found.listen(64)
    return found
