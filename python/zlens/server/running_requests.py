"""Requests in progress: each runs in a thread of its own and can be canceled by id."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import threading
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, TypeVar

from msgspec import Struct, field

from zlens.engine.cancellation import CancelToken
from zlens.errors import CanceledError
from zlens.schema.structs import attributes
from zlens.server.limits import RequestLimits
from zlens.server.response_bodies import BusyError, TooManyError

_T = TypeVar("_T")
#: The user of the current request, as a trusted proxy names them; None without one.
USER: ContextVar[str | None] = ContextVar("zlens_user", default=None)
#: Maximum number of requests in progress; further requests are rejected.
MOST = 64
#: Seconds to wait until a canceled request has ended.
_PATIENCE_S = 30.0


class RunningRequest(Struct):
    """One request in progress."""

    number: int
    id: str | None
    what: str
    user: str | None = None
    cancel: CancelToken = field(default_factory=CancelToken)
    began: float = field(default_factory=time.monotonic)

    def row(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "what": self.what,
            "seconds": round(time.monotonic() - self.began, 3),
            **attributes(self.cancel, "done", "of", "text"),
        }


class RunningRequests:
    """All requests in progress. If a proxy names users, each sees and cancels only their own."""

    def __init__(self, limits: RequestLimits | None = None, most: int = MOST) -> None:
        self.limits = limits or RequestLimits()
        self._most = most
        self._guard = threading.Lock()
        self._numbers = itertools.count(1)
        self._tasks: dict[int, RunningRequest] = {}

    def rows(self) -> list[dict[str, Any]]:
        user = USER.get()
        with self._guard:
            return [task.row() for task in self._tasks.values() if task.user == user]

    def cancel(self, id: str) -> int:
        """Cancel the user's requests with this id and return their number."""
        user = USER.get()
        with self._guard:
            tasks = [task for task in self._tasks.values() if task.id == id and task.user == user]
        for task in tasks:
            task.cancel.cancel("the request was canceled")
        return len(tasks)

    def cancel_all(self, patience_s: float = 10.0) -> None:
        """Cancel all requests and wait for them: a connection in use cannot be closed."""
        with self._guard:
            tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel.cancel("the server is ending")
        deadline = time.monotonic() + patience_s
        while self._tasks and time.monotonic() < deadline:
            time.sleep(0.02)

    async def run_request(
        self,
        id: str | None,
        what: str,
        compute: Callable[[], _T],
        wait_for_disconnect: Callable[[], Awaitable[None]],
    ) -> _T:
        """Return the result of `compute`, run in a thread; cancel it on disconnect or at the time limit."""
        user = USER.get()
        with self._guard:
            own_count = sum(task.user == user for task in self._tasks.values())
            if user is not None and own_count >= self.limits.questions:
                raise TooManyError(
                    f"you have {self.limits.questions} requests in progress, which is your limit",
                    cure="wait, or cancel some of them",
                )
            if len(self._tasks) >= self._most:
                raise BusyError(
                    f"{self._most} requests are already in progress", cure="wait, or cancel some of them"
                )
            task = RunningRequest(next(self._numbers), id, what, user)
            self._tasks[task.number] = task
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_T] = loop.create_future()

        def settle(result: _T | None, error: BaseException | None) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)  # type: ignore[arg-type]

        def run() -> None:
            result: _T | None = None
            failed: BaseException | None = None
            try:
                with task.cancel.current():
                    task.cancel.check()
                    result = compute()
            except BaseException as error:
                failed = error
            with self._guard:
                self._tasks.pop(task.number, None)
            try:
                loop.call_soon_threadsafe(settle, result, failed)
            except RuntimeError:
                # The server has ended, and no client waits for the result.
                return

        context = contextvars.copy_context()
        # A daemon thread, because a hanging one must not prevent the program from ending.
        threading.Thread(target=context.run, args=(run,), name=f"zlens-{what}", daemon=True).start()
        disconnect = asyncio.ensure_future(wait_for_disconnect())
        try:
            futures: set[asyncio.Future[Any]] = {future, disconnect}
            await asyncio.wait(futures, timeout=self.limits.seconds, return_when=asyncio.FIRST_COMPLETED)
            if not future.done():
                disconnected = disconnect.done()
                task.cancel.cancel(
                    "the client disconnected"
                    if disconnected
                    else f"the request exceeded the time limit of {self.limits.seconds:g} s"
                )
                await asyncio.wait({future}, timeout=_PATIENCE_S)
                if not future.done():
                    raise CanceledError("the request was canceled but has not stopped yet")
            return future.result()
        finally:
            task.cancel.cancel("the client disconnected")
            disconnect.cancel()
            if future.done() and not future.cancelled():
                future.exception()
