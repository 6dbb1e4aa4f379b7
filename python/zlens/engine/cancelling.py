"""Ending long work early: by an interrupt of the terminal, or because whoever asked no longer wants it.

A `Cancel` belongs to one question. It is current for the work done in `with cancel.current():` and whatever
that calls, and `check()` between two steps of such work raises `Cancelled` once somebody has ended it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar

from zlens.errors import Cancelled

_T = TypeVar("_T")
#: How often an interrupt is repeated: the engine passes over some.
_AGAIN_S = 0.05


class Connection(Protocol):
    """What can be interrupted: a connection of the engine."""

    def interrupt(self) -> None: ...


class Lock(Protocol):
    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool: ...

    def release(self) -> None: ...


class Cancel:
    """Ends the work of one question, from another thread.

    done, of, text: how far the work has come, where it can tell
    """

    def __init__(self) -> None:
        self._flag = threading.Event()
        self._guard = threading.Lock()
        self._working: list[Connection] = []
        self._why = ""
        self.done: float | None = None
        self.of: float | None = None
        self.text = ""

    @property
    def cancelled(self) -> bool:
        return self._flag.is_set()

    def cancel(self, why: str = "the question was cancelled") -> None:
        """End the work; returns at once."""
        with self._guard:
            if self._flag.is_set():
                return
            self._why = why
            self._flag.set()
        threading.Thread(target=self._interrupt, name="zlens-cancel", daemon=True).start()

    def _interrupt(self) -> None:
        # Under the guard: a connection that has ended may soon work for the next step.
        while True:
            with self._guard:
                if not self._working:
                    return
                for connection in self._working:
                    connection.interrupt()
            threading.Event().wait(_AGAIN_S)

    def check(self) -> None:
        """Raise Cancelled where the work is not wanted any more."""
        if self._flag.is_set():
            raise Cancelled(self._why)

    @contextmanager
    def current(self) -> Iterator[Cancel]:
        """For the work inside, this is what `check()` asks."""
        token = _CURRENT.set(self)
        try:
            yield self
        finally:
            _CURRENT.reset(token)

    def work(self, connection: Connection, work: Callable[[], _T]) -> _T:
        """Do something long with a connection, which is interrupted when this is cancelled."""
        with self._guard:
            self.check()
            self._working.append(connection)
        try:
            return work()
        except Exception:
            self.check()
            raise
        finally:
            with self._guard:
                self._working.remove(connection)


_CURRENT: ContextVar[Cancel | None] = ContextVar("zlens_cancel", default=None)


def check() -> None:
    """Raise Cancelled where the work that is being done is not wanted any more."""
    current = _CURRENT.get()
    if current is not None:
        current.check()


def tell(done: float, of: float, text: str = "") -> None:
    """Say how far the work has come, and end it here where it is not wanted any more."""
    current = _CURRENT.get()
    if current is not None:
        current.check()
        current.done, current.of, current.text = done, of, text


@contextmanager
def held(lock: Lock) -> Iterator[None]:
    """A lock, for which one that was cancelled does not wait."""
    while not lock.acquire(timeout=_AGAIN_S if _CURRENT.get() is not None else 1.0):
        check()
    try:
        yield
    finally:
        lock.release()


def interruptible(connection: Connection, work: Callable[[], _T]) -> _T:
    """Do something long with a connection so that a Cancel or an interrupt of the terminal ends it.

    In the main thread it is done in another thread, while this one waits for it or for the interrupt.
    """
    current = _CURRENT.get()
    if threading.current_thread() is not threading.main_thread():
        return current.work(connection, work) if current is not None else work()
    done: list[_T] = []
    failed: list[BaseException] = []
    ended = threading.Event()

    def run() -> None:
        try:
            done.append(current.work(connection, work) if current is not None else work())
        except BaseException as error:
            failed.append(error)
        finally:
            ended.set()

    _hand_over(run)
    try:
        # Not `Thread.join`: interrupted, it takes a running thread for one that has ended.
        while not ended.wait(0.1):
            pass
    except BaseException:
        while not ended.is_set():
            connection.interrupt()
            ended.wait(0.1)
        raise
    if failed:
        raise failed[0]
    return done[0]


_handed: SimpleQueue[Callable[[], None]] = SimpleQueue()
_worker: threading.Thread | None = None
_worker_of: int | None = None


def _hand_over(run: Callable[[], None]) -> None:
    """Have something done in the thread that works for the main thread, which does one thing at a time."""
    global _handed, _worker, _worker_of
    if _worker is None or _worker_of != os.getpid():
        # A process that was forked has no threads but one.
        _handed, _worker_of = SimpleQueue(), os.getpid()
        _worker = threading.Thread(target=_work, args=(_handed,), name="zlens-engine", daemon=True)
        _worker.start()
    _handed.put(run)


def _work(handed: SimpleQueue[Callable[[], None]]) -> None:
    while True:
        handed.get()()


@contextmanager
def once(made: set[Any], name: Any) -> Iterator[None]:
    """Note that something is made; not if making it is ended or fails, so that the next one begins again."""
    made.add(name)
    try:
        yield
    except BaseException:
        made.discard(name)
        raise
