"""Cancellation of long-running work, by Ctrl-C or by the caller.

A `CancelToken` belongs to one query. It is current for all work in `with token.current():`; between two steps
of such work, `check_canceled()` raises `CanceledError` once the token is canceled.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from queue import SimpleQueue
from typing import Protocol, TypeVar

from zlens.errors import CanceledError

_T = TypeVar("_T")
#: Seconds between repeated interrupts, because the engine misses some.
_RETRY_S = 0.05


class Interruptible(Protocol):
    """An object that can be interrupted, such as a connection of the engine."""

    def interrupt(self) -> None: ...


class Connections:
    """Connections that work on one statement, interrupted together."""

    def __init__(self, *connections: Interruptible) -> None:
        self._connections = [*connections]

    def add(self, connection: Interruptible) -> None:
        self._connections.append(connection)

    def interrupt(self) -> None:
        for connection in [*self._connections]:
            connection.interrupt()


class Lock(Protocol):
    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool: ...

    def release(self) -> None: ...


class CancelToken:
    """Cancels the work of one query from another thread.

    done, of, text: progress of the work, if known
    """

    def __init__(self) -> None:
        self._flag = threading.Event()
        self._guard = threading.Lock()
        self._working: list[Interruptible] = []
        self._why = ""
        self.done: float | None = None
        self.of: float | None = None
        self.text = ""

    @property
    def cancelled(self) -> bool:
        return self._flag.is_set()

    def cancel(self, why: str = "the query was canceled") -> None:
        """Cancel the work; returns immediately."""
        with self._guard:
            if self._flag.is_set():
                return
            self._why = why
            self._flag.set()
        threading.Thread(target=self._interrupt, name="zlens-cancel", daemon=True).start()

    def _interrupt(self) -> None:
        # Under the guard, because a finished connection may soon work for the next step.
        while True:
            with self._guard:
                if not self._working:
                    return
                for connection in self._working:
                    connection.interrupt()
            threading.Event().wait(_RETRY_S)

    def check(self) -> None:
        """Raise CanceledError if the token is canceled."""
        if self._flag.is_set():
            raise CanceledError(self._why)

    @contextmanager
    def current(self) -> Iterator[CancelToken]:
        """Make this the token that `check()` consults inside the block."""
        token = _CURRENT.set(self)
        try:
            yield self
        finally:
            _CURRENT.reset(token)

    def work(self, connection: Interruptible, work: Callable[[], _T]) -> _T:
        """Run long work on a connection, which is interrupted on cancellation."""
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


_CURRENT: ContextVar[CancelToken | None] = ContextVar("zlens_cancel", default=None)


def check_canceled() -> None:
    """Raise CanceledError if the current work is canceled."""
    current = _CURRENT.get()
    if current is not None:
        current.check()


def report_progress(done: float, of: float, text: str = "") -> None:
    """Report the progress of the work; raises CanceledError if it is canceled."""
    current = _CURRENT.get()
    if current is not None:
        current.check()
        current.done, current.of, current.text = done, of, text


@contextmanager
def hold_lock(lock: Lock) -> Iterator[None]:
    """Hold a lock; a canceled query stops waiting for it."""
    while not lock.acquire(timeout=_RETRY_S if _CURRENT.get() is not None else 1.0):
        check_canceled()
    try:
        yield
    finally:
        lock.release()


def interruptible(connection: Interruptible, work: Callable[[], _T]) -> _T:
    """Run long work on a connection so that a token or an interrupt from the terminal cancels it.

    In the main thread the work runs in another thread, while this one waits for it or for the interrupt.
    """
    current = _CURRENT.get()
    if threading.current_thread() is not threading.main_thread():
        return current.work(connection, work) if current is not None else work()
    results: list[_T] = []
    errors: list[BaseException] = []
    finished = threading.Event()

    def run() -> None:
        try:
            results.append(current.work(connection, work) if current is not None else work())
        except BaseException as error:
            errors.append(error)
        finally:
            finished.set()

    _run_in_worker(run)
    try:
        # Not `Thread.join`: when interrupted, it considers a running thread finished.
        while not finished.wait(0.1):
            pass
    except BaseException:
        while not finished.is_set():
            connection.interrupt()
            finished.wait(0.1)
        raise
    if errors:
        raise errors[0]
    return results[0]


_handed: SimpleQueue[Callable[[], None]] = SimpleQueue()
_worker: threading.Thread | None = None
_worker_of: int | None = None


def _run_in_worker(run: Callable[[], None]) -> None:
    """Run a function in the worker of the main thread, which runs one at a time."""
    global _handed, _worker, _worker_of
    if _worker is None or _worker_of != os.getpid():
        # A forked process has only one thread.
        _handed, _worker_of = SimpleQueue(), os.getpid()
        _worker = threading.Thread(target=_work, args=(_handed,), name="zlens-engine", daemon=True)
        _worker.start()
    _handed.put(run)


def _work(handed: SimpleQueue[Callable[[], None]]) -> None:
    while True:
        handed.get()()
