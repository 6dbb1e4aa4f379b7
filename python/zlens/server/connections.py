"""Connections that send no request: closed after some time, so that they cannot take all that there are."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

#: Seconds in which the head of a request must arrive.
ARRIVAL_S = 30.0


class TimeoutProtocol(H11Protocol):
    """Speaks HTTP, and closes a connection whose request line and headers do not arrive in time."""

    arrival_s = ARRIVAL_S
    _late: asyncio.TimerHandle | None = None

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
        # From the first byte on: more of them do not win more time.
        if self._late is None:
            self._late = self.loop.call_later(self.arrival_s, self.transport.abort)

    def _stop(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
