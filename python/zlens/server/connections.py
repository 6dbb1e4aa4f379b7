"""HTTP connections with a timeout, so that idle clients cannot occupy all connections."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

#: Seconds in which the header of a request must arrive.
ARRIVAL_S = 30.0


class TimeoutProtocol(H11Protocol):
    """The HTTP protocol; closes a connection whose request header does not arrive in time."""

    arrival_s = ARRIVAL_S
    _timeout: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._wait()
        else:
            self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        # From the first byte on: further bytes do not extend the timeout.
        if self._timeout is None:
            self._timeout = self.loop.call_later(self.arrival_s, self.transport.abort)

    def _stop(self) -> None:
        if self._timeout is not None:
            self._timeout.cancel()
            self._timeout = None
