"""HTTP connections with a timeout and limits, so that idle clients cannot occupy all connections."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable, Iterable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

#: Seconds in which the header of a request must arrive.
ARRIVAL_S = 30.0
#: Maximum number of connections, which leaves room for 1,000 clients of live updates; fewer if the limit of
#: open files is low.
_CONNECTIONS = 1536
#: Connections accepted at a time. asyncio counts them only after it has accepted them all.
BACKLOG = 64


def most_connections() -> int:
    """Return the maximum number of connections: inputs and the engine need most of the open files."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _CONNECTIONS if files < 0 else max(min(_CONNECTIONS, (files - 2 * BACKLOG) // 2), BACKLOG)


class TimeoutProtocol(H11Protocol):
    """The HTTP protocol; closes a connection whose request header does not arrive in time.

    Beyond `most` connections, or three quarters of them from one address, it closes the one that has waited
    the longest for a request. Only if all have sent theirs is it the new one.
    """

    arrival_s = ARRIVAL_S
    most = most_connections()
    _timeout: asyncio.TimerHandle | None = None
    _opened = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._opened = self.loop.time()
        self._wait()
        host = self._host
        if host is not None:
            same_host = (each for each in self._open_connections() if each._host == host)
            _make_room(same_host, self.most * 3 // 4)
        _make_room(self._open_connections(), self.most)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._wait()
        else:
            self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    @property
    def waits(self) -> bool:
        """Whether no complete request has arrived, or none since the last response."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    @property
    def _host(self) -> str | None:
        """The client's address; None for a Unix socket, which a proxy opens for all its users."""
        return None if self.client is None else self.client[0]

    def _open_connections(self) -> Iterable[TimeoutProtocol]:
        # A closed connection is in the set until the next turn of the event loop.
        connections = (each for each in self.connections if isinstance(each, TimeoutProtocol))
        return (each for each in connections if not each.transport.is_closing())

    def _wait(self) -> None:
        # From the first byte on: further bytes do not extend the timeout.
        if self._timeout is None:
            self._timeout = self.loop.call_later(self.arrival_s, self.transport.abort)

    def _stop(self) -> None:
        if self._timeout is not None:
            self._timeout.cancel()
            self._timeout = None


def _make_room(connections: Iterable[TimeoutProtocol], most: int) -> None:
    """Close a connection if there are more than `most`, among which is a new one."""
    found = list(connections)
    if len(found) > most:
        # Those without any request first: the client of a reused connection may send the next one.
        waiting = (each for each in found if each.waits)
        min(waiting, key=lambda each: (each.cycle is not None, each._opened)).transport.abort()


def accept_errors(report: Callable[[str], object]) -> Callable[[asyncio.AbstractEventLoop, Any], None]:
    """Return a handler of errors of the event loop: reports that no connection can be accepted, once."""
    is_reported = False

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal is_reported
        error = context.get("exception")
        if "socket" not in context or not isinstance(error, OSError):
            loop.default_exception_handler(context)
        elif not is_reported:
            is_reported = True
            report(f"connections cannot be accepted: {(error.strerror or str(error)).lower()}")

    return handle
