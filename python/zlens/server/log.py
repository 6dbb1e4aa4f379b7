"""One line of JSON for each request: which page, how it was answered, how long it took; nothing of data."""

from __future__ import annotations

import datetime as dt
import json
import time
from typing import TextIO

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from zlens.server.endpoints import ENDPOINTS
from zlens.server.guard import HEALTH, METRICS

#: Pages by name; others may be named after anything.
_PATHS = frozenset({"/", METRICS, *HEALTH, *(endpoint.path for endpoint in ENDPOINTS)})
_OTHER = "other"
_METHODS = frozenset({"GET", "HEAD", "POST"})


class Logged:
    """An application whose answers are logged when they are complete, or their client is gone."""

    def __init__(self, app: ASGIApp, stream: TextIO) -> None:
        self._app = app
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status, size = time.perf_counter(), 0, 0

        async def seen(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
            size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, seen)
        finally:
            line = {
                "time": dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                "method": scope["method"] if scope["method"] in _METHODS else _OTHER,
                "path": scope["path"] if scope["path"] in _PATHS else _OTHER,
                "status": status,
                "bytes": size,
                "seconds": round(time.perf_counter() - start, 6),
            }
            print(json.dumps(line), file=self._stream, flush=True)
