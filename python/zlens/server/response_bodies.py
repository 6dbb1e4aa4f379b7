"""Sends response bodies in chunks, with one memory limit for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from zlens.errors import ZlensError

#: Bytes of all bodies that are not sent yet; a further one is refused.
MOST = 512 * 1024**2
#: Bytes handed to the connection at a time.
_PIECE = 256 * 1024
#: Seconds that a client has to take a piece.
PATIENCE_S = 60.0
#: The type of an answer that is lines of JSON.
LINES = "application/x-ndjson"


class BusyError(ZlensError):
    """Too much is in progress."""


class TooManyError(BusyError):
    """One user has too much in progress."""


class BodySender:
    """All bodies on their way. Used by the thread of the server alone."""

    def __init__(self, most: int = MOST, patience_s: float = PATIENCE_S) -> None:
        self._most = most
        self._patience_s = patience_s
        self._bytes = 0

    def response(self, body: bytes, status: int) -> Response:
        """A response in JSON; BusyError if others leave no room for it."""
        if self._bytes and self._bytes + len(body) > self._most:
            raise BusyError(
                f"answers that are being sent take all of their {self._most / 1024**2:.0f} MB of memory",
                cure="wait until they have arrived, or ask for fewer rows",
            )
        self._bytes += len(body)
        return _Body(self, body, status)

    async def send(self, response: Response, scope: Scope, receive: Receive, send: Send) -> None:
        body = bytes(response.body)
        try:
            start = {"type": "http.response.start", "status": response.status_code}
            await send({**start, "headers": response.raw_headers})
            for at in range(0, max(len(body), 1), _PIECE):
                piece = {"type": "http.response.body", "body": body[at : at + _PIECE]}
                # It waits until the client has taken most of what came before.
                async with asyncio.timeout(self._patience_s):
                    await send({**piece, "more_body": at + _PIECE < len(body)})
        finally:
            self._bytes -= len(body)


class _Body(Response):
    def __init__(self, sending: BodySender, body: bytes, status: int) -> None:
        headers = {"content-type": "application/json", "cache-control": "no-store"}
        super().__init__(body, status_code=status, headers=headers)
        self._sending = sending

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._sending.send(self, scope, receive, send)


class JsonLinesResponse(Response):
    """Lines of JSON, each sent when it is there; the client has as much patience to expect as with a body."""

    def __init__(self, lines: AsyncGenerator[bytes], patience_s: float = PATIENCE_S) -> None:
        super().__init__(headers={"content-type": LINES, "cache-control": "no-store"})
        del self.headers["content-length"]
        self._lines = lines
        self._patience_s = patience_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._lines) as lines:
            start = {"type": "http.response.start", "status": self.status_code}
            await send({**start, "headers": self.raw_headers})
            async for line in lines:
                async with asyncio.timeout(self._patience_s):
                    await send({"type": "http.response.body", "body": line, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
