"""A command in a process of its own, watched by one that only waits.

The engine heeds no interrupt while it computes a single value, and does not count its memory: the watching
process ends the other one if Ctrl-C or SIGTERM does not, and removes what it leaves behind.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from types import FrameType

#: Bytes of memory that a query of the command line may take, half of them for tables.
MEMORY = 8 * 1024**3
#: Seconds after a signal until the process gets it too, if it still runs, and until it is killed.
_FORWARD_S = 0.3
_PATIENCE_S = 2.0
_PR_SET_PDEATHSIG = 1
#: The status of a process that a fault has ended.
BROKEN = -1


def run_watched() -> int | None:
    """None in the process that goes on to work; its exit status in the one that watched it."""
    if sys.platform != "linux":
        return None
    folder = tempfile.mkdtemp(prefix="zlens-")
    # Until both processes know what to do with them.
    signals = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    number = os.fork()
    if number == 0:
        tempfile.tempdir = folder
        _exit_like_child()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
        from zlens.engine.memory_limits import limit_memory

        limit_memory(MEMORY)
        return None
    try:
        return _watch(number, signals)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _watch(number: int, signals: set[signal.Signals]) -> int:
    got: list[tuple[int, float]] = []

    def note(sign: int, _: FrameType | None) -> None:
        if not got:
            got.append((sign, time.monotonic()))

    for sign in signals:
        signal.signal(sign, note)
    # Blocked, so that `sigtimedwait` learns of the end of the other process at once.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
    forwarded = False
    while True:
        ended, status = os.waitpid(number, os.WNOHANG)
        if ended:
            break
        waited = time.monotonic() - got[0][1] if got else 0.0
        if got and not forwarded and waited > _FORWARD_S:
            # A terminal sends it to both.
            forwarded = True
            os.kill(number, got[0][0])
        if waited > _PATIENCE_S:
            os.kill(number, signal.SIGKILL)
        signal.sigtimedwait({signal.SIGCHLD}, 0.05 if got else 0.2)
    if os.WIFEXITED(status):
        return os.WEXITSTATUS(status)
    return 128 + got[0][0] if got else BROKEN


def _exit_like_child() -> None:
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
