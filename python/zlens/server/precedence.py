"""Precedence of the requests that a view waits for: work in the background pauses between its steps."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from zlens.engine.cancellation import check_canceled

#: Seconds without a request after which work in the background continues: a view sends several in sequence,
#: and a browser opens it some time after the server started.
QUIET_S = 0.5
#: Maximum seconds of a pause: other clients may send requests all the time.
MAX_PAUSE_S = 30.0
_STEP_S = 0.02


class Precedence:
    """Counts the requests in progress that a view waits for."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._running = 0
        self._last = time.monotonic()

    @contextmanager
    def request(self) -> Iterator[None]:
        """Have work in the background pause until the block ends."""
        with self._guard:
            self._running += 1
        try:
            yield
        finally:
            with self._guard:
                self._running -= 1
                self._last = time.monotonic()

    def pause(self) -> None:
        """Wait until there was no request for a moment; raises CanceledError."""
        deadline = time.monotonic() + MAX_PAUSE_S
        while (now := time.monotonic()) < deadline and (self._running or now - self._last < QUIET_S):
            check_canceled()
            time.sleep(_STEP_S)
