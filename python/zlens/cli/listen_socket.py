"""Sockets of servers: a port of this machine, another address, or a Unix socket."""

from __future__ import annotations

import argparse
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from zlens.cli.streams import print_message
from zlens.errors import QueryError

DEFAULT_PORT = 8017
#: Number of ports to try after the default port.
_NEXT = 20
#: Prefix of a Unix socket in --listen.
UNIX = "unix:"


def address(listener: socket.socket) -> tuple[str, str, int]:
    """Return the address to print, and its host and port."""
    name = listener.getsockname()
    if isinstance(name, str):
        return f"{UNIX}{name}", "localhost", 0
    host, port, *_ = name
    if host in ("0.0.0.0", "::"):
        # All addresses: the name of the machine can be opened.
        host = socket.gethostname().lower()
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/", host, port


@contextmanager
def open_socket(arguments: argparse.Namespace) -> Iterator[socket.socket]:
    """Yield the bound socket; used before inputs are read, so that a port in use fails at once."""
    listener = _socket(arguments)
    # Read the name now, because the server closes the socket.
    name = listener.getsockname()
    try:
        yield listener
    finally:
        listener.close()
        if isinstance(name, str):
            with suppress(OSError):
                os.unlink(name)


def _socket(arguments: argparse.Namespace) -> socket.socket:
    if arguments.listen is not None:
        if arguments.listen.startswith(UNIX):
            return _unix(arguments.listen.removeprefix(UNIX))
        host, colon, text = arguments.listen.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not colon or not host or not (text.isascii() and text.isdecimal()) or int(text) > 65535:
            raise QueryError(
                f"{arguments.listen!r} is not an address", expected="HOST:PORT, such as 0.0.0.0:8017"
            )
        return _bind(host, int(text))
    if arguments.port is not None:
        if not 0 <= arguments.port <= 65535:
            raise QueryError(f"{arguments.port} is not a port", expected="0 to 65535; 0: any free port")
        return _bind("127.0.0.1", arguments.port)
    for port in range(DEFAULT_PORT, DEFAULT_PORT + _NEXT):
        try:
            bound = _bind("127.0.0.1", port)
        except QueryError:
            continue
        if port != DEFAULT_PORT:
            print_message(f"port {DEFAULT_PORT} is in use; using {port}")
        return bound
    return _bind("127.0.0.1", 0)


def _unix(file: str) -> socket.socket:
    """Open a Unix socket for its owner and group."""
    if not hasattr(socket, "AF_UNIX"):
        raise QueryError("this system has no Unix sockets", cure="use --listen HOST:PORT")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_stale(file)
        previous_mask = os.umask(0o117)
        try:
            listener.bind(file)
        finally:
            os.umask(previous_mask)
        listener.listen(128)
    except (OSError, ValueError) as error:
        listener.close()
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise QueryError(
            f"cannot listen on {file}: {reason.lower()}", cure="choose another file with --listen unix:FILE"
        ) from None
    return listener


def _remove_stale(file: str) -> None:
    """Remove the socket of a server that has ended, but not of one that accepts connections."""
    try:
        if not stat.S_ISSOCK(os.stat(file).st_mode):
            return
    except OSError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(file)
        except ConnectionRefusedError:
            os.unlink(file)


def _bind(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # With its protocol, which asyncio checks: else a response on a persistent connection waits 40 ms.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except OSError as error:
        raise QueryError(f"{host} is not the address of a machine: {error.strerror or error}") from None
    try:
        if os.name == "posix":
            # Otherwise the port remains in use for a minute after a server ends.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise QueryError(
            f"cannot listen on port {port} of {host}: {(error.strerror or str(error)).lower()}",
            cure="choose another port with --port or --listen HOST:PORT; 0 selects any free port",
        ) from None
    return listener
