"""A watchdog process for a command.

The engine ignores interrupts while it computes a single value, and does not count its memory: the watchdog
kills the command if Ctrl-C or SIGTERM does not end it, and removes its temporary files.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from types import FrameType

from zlens.schema.temporary_folder import TemporaryFolder

#: Memory limit of a query of the command line in bytes, half of it for tables.
MEMORY = 8 * 1024**3
#: Seconds after a signal until a running command receives it too, and until it is killed.
_FORWARD_S = 0.3
_PATIENCE_S = 2.0
_PR_SET_PDEATHSIG = 1
#: Exit status of a command that crashed.
BROKEN = -1


def run_watched() -> int | None:
    """Return None in a forked process that runs the command, and its exit status in the watchdog."""
    if sys.platform != "linux":
        return None
    folder = TemporaryFolder()
    # Blocked until both processes have their handlers.
    signals = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    pid = os.fork()
    if pid == 0:
        import ctypes

        tempfile.tempdir = folder.path
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
        from zlens.engine.memory_limits import limit_memory

        limit_memory(MEMORY)
        return None
    try:
        return _watch(pid, signals)
    finally:
        folder.remove()


def _watch(pid: int, signals: set[signal.Signals]) -> int:
    signals_received: list[tuple[int, float]] = []

    def note(number: int, _: FrameType | None) -> None:
        if not signals_received:
            signals_received.append((number, time.monotonic()))

    for number in signals:
        signal.signal(number, note)
    # Blocked, so that `sigtimedwait` returns as soon as the command ends.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
    forwarded = False
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            break
        waited = time.monotonic() - signals_received[0][1] if signals_received else 0.0
        if signals_received and not forwarded and waited > _FORWARD_S:
            # Delayed, because a terminal sends the signal to both processes.
            forwarded = True
            os.kill(pid, signals_received[0][0])
        if waited > _PATIENCE_S:
            os.kill(pid, signal.SIGKILL)
        signal.sigtimedwait({signal.SIGCHLD}, 0.05 if signals_received else 0.2)
    if os.WIFEXITED(status):
        return os.WEXITSTATUS(status)
    return 128 + signals_received[0][0] if signals_received else BROKEN
