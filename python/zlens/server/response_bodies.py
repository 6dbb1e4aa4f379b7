"""Response bodies, sent in chunks, with one memory limit for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from zlens.errors import ZlensError

#: Maximum bytes of all pending bodies; a further one is rejected.
MOST = 512 * 1024**2
#: Bytes passed to the connection at a time.
_PIECE = 256 * 1024
#: Seconds that a client has to receive a chunk.
PATIENCE_S = 60.0
#: Content type of lines of JSON.
LINES = "application/x-ndjson"


class BusyError(ZlensError):
    """Too many requests are in progress."""


class TooManyError(BusyError):
    """One user has too many requests in progress."""


async def wait_for_disconnect(receive: Receive) -> None:
    """Wait until the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass


class BodySender:
    """All pending bodies. Used only by the thread of the server."""

    def __init__(self, most: int = MOST, patience_s: float = PATIENCE_S) -> None:
        self._most = most
        self._patience_s = patience_s
        self._bytes = 0

    def response(self, body: bytes, status: int) -> Response:
        """Return a response in JSON; raises BusyError if pending bodies leave no memory for it."""
        if self._bytes and self._bytes + len(body) > self._most:
            raise BusyError(
                f"responses that are being sent use all of their {self._most / 1024**2:.0f} MB of memory",
                cure="wait until they have been sent, or request fewer rows",
            )
        self._bytes += len(body)
        return _Body(self, body, status)

    async def send(self, response: Response, scope: Scope, receive: Receive, send: Send) -> None:
        body = bytes(response.body)
        try:
            start = {"type": "http.response.start", "status": response.status_code}
            await send({**start, "headers": response.raw_headers})
            for offset in range(0, max(len(body), 1), _PIECE):
                message = {"type": "http.response.body", "body": body[offset : offset + _PIECE]}
                # `send` waits until the client has received most of the previous chunks.
                async with asyncio.timeout(self._patience_s):
                    await send({**message, "more_body": offset + _PIECE < len(body)})
        finally:
            self._bytes -= len(body)


class _Body(Response):
    def __init__(self, sender: BodySender, body: bytes, status: int) -> None:
        headers = {"content-type": "application/json", "cache-control": "no-store"}
        super().__init__(body, status_code=status, headers=headers)
        self._sender = sender

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._sender.send(self, scope, receive, send)


class StreamedResponse(Response):
    """Parts of a body, each sent when it is available; the client has `patience_s` to receive it."""

    def __init__(
        self, parts: AsyncGenerator[bytes], media: str = LINES, patience_s: float = PATIENCE_S
    ) -> None:
        super().__init__(headers={"content-type": media, "cache-control": "no-store"})
        del self.headers["content-length"]
        self._parts = parts
        self._patience_s = patience_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._parts) as parts:
            start = {"type": "http.response.start", "status": self.status_code}
            await send({**start, "headers": self.raw_headers})
            async for part in parts:
                async with asyncio.timeout(self._patience_s):
                    await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
