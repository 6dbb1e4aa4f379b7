"""Live updates: a workspace that is replaced when intervals close, and the events that notify clients."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from starlette.types import Receive, Scope, Send

from zlens.server import json_values, schema
from zlens.server.response_bodies import StreamedResponse, wait_for_disconnect
from zlens.server.workspace import Workspace

if TYPE_CHECKING:
    from zlens.live.alerts import FindingAlert
    from zlens.live.watch_step import WatchStep
    from zlens.live.watcher import Watcher

#: Content type of server-sent events.
EVENTS = "text/event-stream"
#: Seconds without events after which clients receive a comment, as a sign that the server is running.
_HEARTBEAT_S = 15.0
#: Seconds that a client has to receive an event.
_SEND_TIMEOUT_S = 30.0
#: Maximum intervals of a step in an event.
_SHOWN = 100
#: Maximum clients of live updates.
MAX_CLIENTS = 1000


class ServedWorkspace:
    """A workspace that is served until the server ends."""

    def __init__(self, workspace: Workspace) -> None:
        self.current = workspace
        #: Whether new data cannot be stored.
        self.is_blocked = False
        self._guard = threading.Lock()
        self._users: dict[int, int] = {}
        self._replaced: dict[int, Workspace] = {}

    @contextmanager
    def use(self) -> Iterator[Workspace]:
        """Yield the current workspace; it stays open until the context exits, even if it is replaced."""
        with self._guard:
            workspace = self.current
            key = id(workspace)
            self._users[key] = self._users.get(key, 0) + 1
        try:
            yield workspace
        finally:
            with self._guard:
                self._users[key] -= 1
                replaced = None
                if not self._users[key]:
                    del self._users[key]
                    replaced = self._replaced.pop(key, None)
            if replaced is not None:
                replaced.close()

    def close(self) -> None:
        with self._guard:
            workspaces, self._replaced = [*self._replaced.values(), self.current], {}
        for workspace in workspaces:
            workspace.close()


class LiveWorkspace(ServedWorkspace):
    """A workspace that is replaced when intervals close. Clients wait for events; slow ones skip some."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._event: bytes | None = None
        self._number = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: set[asyncio.Event] = set()
        #: Waiters for the next workspace that are not clients.
        self._next: set[asyncio.Future[None]] = set()
        self._is_finished = False

    @property
    def clients(self) -> int:
        """Number of connected clients."""
        return len(self._waiting)

    def replace(self, workspace: Workspace, event: dict[str, Any]) -> None:
        """Serve another workspace and notify all clients."""
        with self._guard:
            previous, self.current = self.current, workspace
            is_unused = id(previous) not in self._users
            if not is_unused:
                self._replaced[id(previous)] = previous
        if is_unused:
            previous.close()
        body = json_values.body(event)
        self._number += 1
        self._event = b"id: %d\nevent: interval\ndata: %s\n\n" % (self._number, body)
        self._wake()

    def block(self, is_blocked: bool) -> None:
        """Notify all clients that new data cannot be stored, or can be again."""
        if is_blocked != self.is_blocked:
            self.is_blocked = is_blocked
            self._wake()

    def end(self) -> None:
        """End the event streams of all clients."""
        self._is_finished = True
        self._wake()

    def _wake(self) -> None:
        loop = self._loop
        if loop is not None:
            # The event loop may be closed.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._wake_all)

    def _wake_all(self) -> None:
        for waiting in self._waiting:
            waiting.set()
        for future in self._next:
            if not future.done():
                future.set_result(None)
        self._next.clear()

    async def wait_for_replacement(self) -> bool:
        """Wait until the workspace is replaced; returns False when the server ends."""
        self._loop = asyncio.get_running_loop()
        future = self._loop.create_future()
        self._next.add(future)
        await future
        return not self._is_finished

    async def events(self) -> AsyncGenerator[bytes]:
        """Yield the newest event, then later ones; of events that arrive during a send, only the last.

        Events of storage tell whether new data cannot be stored, as `/readyz` does.
        """
        self._loop = asyncio.get_running_loop()
        waiting = asyncio.Event()
        self._waiting.add(waiting)
        sent = None
        reported = False
        try:
            yield b"retry: 2000\n\n"
            while not self._is_finished:
                if self.is_blocked is not reported:
                    reported = self.is_blocked
                    yield b"event: storage\ndata: %s\n\n" % json_values.body({"blocked": reported})
                    continue
                if self._event is not None and self._event is not sent:
                    sent = self._event
                    yield sent
                    continue
                waiting.clear()
                if self._event is sent and self.is_blocked is reported and not self._is_finished:
                    try:
                        async with asyncio.timeout(_HEARTBEAT_S):
                            await waiting.wait()
                    except TimeoutError:
                        yield b": here\n\n"
        finally:
            self._waiting.discard(waiting)


def event(workspace: Workspace, live: Watcher, step: WatchStep) -> dict[str, Any]:
    """Return the event of a step: systems as in /schema, closed intervals, findings as in /findings."""
    session = workspace.session
    alerts = [*live.alerts.open.values()] if live.alerts is not None else []
    return {
        "step": step.number,
        "systems": [schema.system(session, info, ()) for info in session.systems_in_order],
        "closed": [
            {
                **json_values.attributes(interval, "system", "source"),
                "end": interval.end_us / 1e6,
                **json_values.attributes(interval, "seconds", "busy_pct"),
            }
            for interval in step.closed[-_SHOWN:]
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
        **json_values.attributes(finding, "system", "data"),
        "subject": finding.subject or None,
        "value": json_values.json_value(finding.value),
        "unit": finding.rule.unit or None,
        "since": alert.since_us / 1e6,
        "until": None if alert.until_us is None else alert.until_us / 1e6,
    }


class EventStreamResponse(StreamedResponse):
    """A stream of events until the client disconnects."""

    def __init__(self, workspace: LiveWorkspace) -> None:
        super().__init__(workspace.events(), EVENTS, _SEND_TIMEOUT_S)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = super().__call__(scope, receive, send)
        tasks = {asyncio.ensure_future(wait_for_disconnect(receive)), asyncio.ensure_future(sending)}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
