"""Live updates: a workspace that is replaced when intervals close, and the events that notify clients."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from zlens.server import json_values, schema
from zlens.server.workspace import Workspace

if TYPE_CHECKING:
    from zlens.live.alerts import FindingAlert
    from zlens.live.watcher import Watcher, WatchStep

#: The type of an answer that is events.
EVENTS = "text/event-stream"
#: Seconds after which a client without events gets a comment, so that it knows that the server is there.
_HEARTBEAT_S = 15.0
#: Seconds that a client has to take an event.
_SEND_TIMEOUT_S = 30.0
#: Most intervals of a step that an event names.
_SHOWN = 100
#: Most clients that follow.
MAX_CLIENTS = 1000


class ServedWorkspace:
    """A place that is served until the end."""

    def __init__(self, place: Workspace) -> None:
        self._place = place
        self._guard = threading.Lock()
        self._users: dict[int, int] = {}
        self._old: dict[int, Workspace] = {}

    @property
    def current(self) -> Workspace:
        return self._place

    @contextmanager
    def use(self) -> Iterator[Workspace]:
        """The current workspace; it stays open until the context exits, even if it is replaced."""
        with self._guard:
            place = self._place
            key = id(place)
            self._users[key] = self._users.get(key, 0) + 1
        try:
            yield place
        finally:
            with self._guard:
                self._users[key] -= 1
                old = None
                if not self._users[key]:
                    del self._users[key]
                    old = self._old.pop(key, None)
            if old is not None:
                old.close()

    def close(self) -> None:
        with self._guard:
            places, self._old = [*self._old.values(), self._place], {}
        for place in places:
            place.close()


class LiveWorkspace(ServedWorkspace):
    """A place that is replaced when an interval has closed. Clients wait for events; slow ones skip some."""

    def __init__(self, place: Workspace) -> None:
        super().__init__(place)
        self._event: bytes | None = None
        self._number = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: set[asyncio.Event] = set()
        #: Those who wait for the next place alone, and are no clients.
        self._next: set[asyncio.Future[None]] = set()
        self._ended = False

    @property
    def clients(self) -> int:
        """How many clients follow."""
        return len(self._waiting)

    def replace(self, place: Workspace, event: dict[str, Any]) -> None:
        """Serve another place from now on, and tell all clients."""
        with self._guard:
            before, self._place = self._place, place
            unused = id(before) not in self._users
            if not unused:
                self._old[id(before)] = before
        if unused:
            before.close()
        body = json_values.body(event)
        self._number += 1
        self._event = b"id: %d\nevent: interval\ndata: %s\n\n" % (self._number, body)
        self._wake()

    def end(self) -> None:
        """Let all clients go."""
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        loop = self._loop
        if loop is not None:
            # The server may have ended.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._wake_all)

    def _wake_all(self) -> None:
        for waiting in self._waiting:
            waiting.set()
        for following in self._next:
            if not following.done():
                following.set_result(None)
        self._next.clear()

    async def wait_for_replacement(self) -> bool:
        """Wait until the place is replaced; False at the end."""
        self._loop = asyncio.get_running_loop()
        following = self._loop.create_future()
        self._next.add(following)
        await following
        return not self._ended

    async def events(self) -> AsyncGenerator[bytes]:
        """The newest event, and those that follow; one that comes while the last is sent replaces others."""
        self._loop = asyncio.get_running_loop()
        waiting = asyncio.Event()
        self._waiting.add(waiting)
        sent = None
        try:
            yield b"retry: 2000\n\n"
            while not self._ended:
                if self._event is not None and self._event is not sent:
                    sent = self._event
                    yield sent
                    continue
                waiting.clear()
                if self._event is sent and not self._ended:
                    try:
                        async with asyncio.timeout(_HEARTBEAT_S):
                            await waiting.wait()
                    except TimeoutError:
                        yield b": here\n\n"
        finally:
            self._waiting.discard(waiting)


def event(place: Workspace, live: Watcher, step: WatchStep) -> dict[str, Any]:
    """What clients learn of a step: the systems as in /schema, closed intervals, findings as in /findings."""
    alerts = [*live.alerts.open.values()] if live.alerts is not None else []
    return {
        "step": step.number,
        "systems": [schema.system(info, ()) for info in place.session.systems_in_order],
        "closed": [
            {
                "system": each.system,
                "source": each.source,
                "end": each.end_us / 1e6,
                "seconds": each.seconds,
                "busy_pct": each.busy_pct,
            }
            for each in step.closed[-_SHOWN:]
        ],
        "open": [_alert(alert) for alert in sorted(alerts, key=lambda alert: alert.finding.order)],
        "cleared": [_alert(alert) for alert in step.cleared],
    }


def _alert(alert: FindingAlert) -> dict[str, Any]:
    finding = alert.finding
    return {
        "rule": finding.rule.id,
        "severity": finding.severity,
        "title": finding.rule.title,
        "system": finding.system,
        "subject": finding.subject or None,
        "value": json_values.json_value(finding.value),
        "unit": finding.rule.unit or None,
        "since": alert.since_us / 1e6,
        "until": None if alert.until_us is None else alert.until_us / 1e6,
    }


class EventStreamResponse(Response):
    """Events as they come, until the client leaves."""

    def __init__(self, following: LiveWorkspace) -> None:
        super().__init__(headers={"content-type": EVENTS, "cache-control": "no-store"})
        del self.headers["content-length"]
        self._following = following

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        await send(start)

        async def gone() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass

        async def sending() -> None:
            async with aclosing(self._following.events()) as events:
                async for event in events:
                    async with asyncio.timeout(_SEND_TIMEOUT_S):
                        await send({"type": "http.response.body", "body": event, "more_body": True})
            await send({"type": "http.response.body", "body": b""})

        tasks = {asyncio.ensure_future(gone()), asyncio.ensure_future(sending())}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
