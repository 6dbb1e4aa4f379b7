"""Questions that are being worked on: each in a thread of its own, with a name by which it can be ended."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from zlens.engine.cancelling import Cancel
from zlens.errors import Cancelled, ZlensError

_T = TypeVar("_T")
#: More questions at a time are turned away.
MOST = 64
#: After so many seconds a question is ended.
LIMIT_S = 600.0
#: How long an ended question may take to end before nobody waits for it any more.
_PATIENCE_S = 30.0


class BusyError(ZlensError):
    """More is being asked than can be worked on."""


@dataclass
class Task:
    """One question that is being worked on."""

    number: int
    id: str | None
    what: str
    cancel: Cancel = field(default_factory=Cancel)
    began: float = field(default_factory=time.monotonic)

    def row(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "what": self.what,
            "seconds": round(time.monotonic() - self.began, 3),
            "done": self.cancel.done,
            "of": self.cancel.of,
            "text": self.cancel.text,
        }


class Running:
    """All questions that are being worked on."""

    def __init__(self, limit_s: float = LIMIT_S, most: int = MOST) -> None:
        self._limit_s = limit_s
        self._most = most
        self._guard = threading.Lock()
        self._numbers = itertools.count(1)
        self._tasks: dict[int, Task] = {}

    def rows(self) -> list[dict[str, Any]]:
        with self._guard:
            return [task.row() for task in self._tasks.values()]

    def cancel(self, id: str, why: str = "the question was cancelled") -> int:
        """End the questions of that name; how many there were."""
        with self._guard:
            found = [task for task in self._tasks.values() if task.id == id]
        for task in found:
            task.cancel.cancel(why)
        return len(found)

    def cancel_all(self, patience_s: float = 10.0) -> None:
        """End all questions and wait for that: a connection cannot be closed while it works."""
        with self._guard:
            found = list(self._tasks.values())
        for task in found:
            task.cancel.cancel("the server is ending")
        until = time.monotonic() + patience_s
        while self.rows() and time.monotonic() < until:
            time.sleep(0.02)

    async def ask(
        self, id: str | None, what: str, work: Callable[[], _T], gone: Callable[[], Awaitable[None]]
    ) -> _T:
        """What `work` returns, done in a thread. It is ended when `gone` returns, and by the time limit."""
        with self._guard:
            if len(self._tasks) >= self._most:
                raise BusyError(
                    f"{self._most} questions are being worked on already", cure="wait, or cancel some of them"
                )
            task = Task(next(self._numbers), id, what)
            self._tasks[task.number] = task
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[_T] = loop.create_future()

        def settle(found: _T | None, error: BaseException | None) -> None:
            if answer.done():
                return
            if error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(found)  # type: ignore[arg-type]

        def run() -> None:
            found: _T | None = None
            failed: BaseException | None = None
            try:
                with task.cancel.current():
                    task.cancel.check()
                    found = work()
            except BaseException as error:
                failed = error
            with self._guard:
                self._tasks.pop(task.number, None)
            try:
                loop.call_soon_threadsafe(settle, found, failed)
            except RuntimeError:
                # The server has ended meanwhile, and nobody waits.
                return

        context = contextvars.copy_context()
        # A thread of the background: one that hangs must not keep the program from ending.
        threading.Thread(target=context.run, args=(run,), name=f"zlens-{what}", daemon=True).start()
        watch = asyncio.ensure_future(gone())
        try:
            waited: set[asyncio.Future[Any]] = {answer, watch}
            await asyncio.wait(waited, timeout=self._limit_s, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                left = watch.done()
                task.cancel.cancel(
                    "whoever asked has gone"
                    if left
                    else f"the question was ended after {self._limit_s:g} s, the longest a question may take"
                )
                await asyncio.wait({answer}, timeout=_PATIENCE_S)
                if not answer.done():
                    raise Cancelled("the question was given up; it is still ending")
            return answer.result()
        finally:
            task.cancel.cancel("whoever asked has gone")
            watch.cancel()
            if answer.done() and not answer.cancelled():
                answer.exception()
