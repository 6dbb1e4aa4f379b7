"""A progress line on the terminal: amount done, rate and time left.

Nothing is shown in a pipe, or for work of less than PATIENCE_S.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

#: Seconds before the line appears, and minimum seconds between two updates.
PATIENCE_S = 0.4
EVERY_S = 0.1

_UNITS = ("B", "kB", "MB", "GB", "TB")


def bytes_text(count: float) -> str:
    """Format a number of bytes: 1536000 -> '1.5 MB'."""
    unit = 0
    while count >= 999.5 and unit < len(_UNITS) - 1:
        count /= 1000
        unit += 1
    return f"{count:.0f} B" if unit == 0 else f"{count:.3g} {_UNITS[unit]}"


def duration_text(seconds: float) -> str:
    """Format seconds as a duration: 75 -> '1:15'; 4000 -> '1:06:40'."""
    total = max(0, round(seconds))
    hours, rest = divmod(total, 3600)
    minutes, secs = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{secs:02}" if hours else f"{minutes}:{secs:02}"


class Progress:
    """A callable (done, total, what) that draws the line; a context manager that wipes it at the end."""

    def __init__(
        self,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        amount: Callable[[float], str] = bytes_text,
    ) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.clock = clock
        self.amount = amount
        self.shown = self.stream.isatty() and os.environ.get("TERM") != "dumb"
        self._start: float | None = None
        self._what = ""
        self._last = 0.0
        self._width = 0

    def __call__(self, done: int, total: int, what: str) -> None:
        if not self.shown:
            return
        now = self.clock()
        if self._start is None or what != self._what:
            # Rate and time left refer to the current step, PATIENCE_S to all steps.
            self._step = (now, done)
            self._what = what
            self._start = now if self._start is None else self._start
        if now - self._start < PATIENCE_S or now - self._last < EVERY_S:
            return
        self._last = now
        self._draw(line(done, total, what, now - self._step[0], done - self._step[1], self.amount))

    def _draw(self, text: str) -> None:
        width = shutil.get_terminal_size((80, 24)).columns - 1
        text = text[:width]
        try:
            self._return()
            self.stream.write(text.ljust(self._width))
            self.stream.flush()
        except OSError:
            # A closed terminal must not end the work.
            self.shown = False
        self._width = len(text)

    def _return(self) -> None:
        """Return to the start of the line, past a stream that replaces control characters."""
        getattr(self.stream, "raw", self.stream).write("\r")

    def close(self) -> None:
        """Wipe the line."""
        if self.shown and self._width:
            try:
                self._return()
                self.stream.write(" " * self._width)
                self._return()
                self.stream.flush()
            except OSError:
                self.shown = False
        self._width = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def line(
    done: int,
    total: int,
    what: str,
    seconds: float,
    step_done: int,
    amount: Callable[[float], str] = bytes_text,
) -> str:
    """Return the text of the line; `amount` formats done, total and rate."""
    fraction = min(1.0, done / total) if total else 0.0
    filled = round(fraction * 20)
    text = f"{what}  [{'#' * filled}{'.' * (20 - filled)}] {fraction:4.0%}"
    text += f"  {amount(done)} of {amount(total)}"
    if seconds > 0 and step_done > 0:
        rate = step_done / seconds
        text += f"  {amount(rate)}/s  {duration_text((total - done) / rate)} left"
    return text
