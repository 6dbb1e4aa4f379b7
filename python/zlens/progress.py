"""A progress line on the terminal: how much was read, how fast, how long it still takes.

Nothing is shown in a pipe, and nothing of work that is over before a person would look.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

#: Before this many seconds nothing is shown; then at most ten times a second.
PATIENCE_S = 0.4
EVERY_S = 0.1

_UNITS = ("B", "kB", "MB", "GB", "TB")


def bytes_text(count: float) -> str:
    """1536000 -> '1.5 MB'."""
    unit = 0
    while count >= 999.5 and unit < len(_UNITS) - 1:
        count /= 1000
        unit += 1
    return f"{count:.0f} B" if unit == 0 else f"{count:.3g} {_UNITS[unit]}"


def duration_text(seconds: float) -> str:
    """75 -> '1:15'; 4000 -> '1:06:40'."""
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, secs = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{secs:02}" if hours else f"{minutes}:{secs:02}"


class Progress:
    """Called with (done, total, what) as work goes on; a context manager that leaves the line clean."""

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
        self._begun: float | None = None
        self._what = ""
        self._last = 0.0
        self._width = 0

    def __call__(self, done: int, total: int, what: str) -> None:
        if not self.shown:
            return
        now = self.clock()
        if self._begun is None or what != self._what:
            # Rate and time left are those of the step that runs, patience is of the whole.
            self._step = (now, done)
            self._what = what
            self._begun = now if self._begun is None else self._begun
        if now - self._begun < PATIENCE_S or now - self._last < EVERY_S:
            return
        self._last = now
        self._draw(line(done, total, what, now - self._step[0], done - self._step[1], self.amount))

    def _draw(self, text: str) -> None:
        width = shutil.get_terminal_size((80, 24)).columns - 1
        text = text[:width]
        try:
            self.stream.write("\r" + text.ljust(self._width))
            self.stream.flush()
        except OSError:
            # A terminal that went away must not end the work.
            self.shown = False
        self._width = len(text)

    def close(self) -> None:
        """Wipe the line."""
        if self.shown and self._width:
            try:
                self.stream.write("\r" + " " * self._width + "\r")
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
    moved: int,
    amount: Callable[[float], str] = bytes_text,
) -> str:
    """One state of the progress line; `amount` words what is done."""
    part = min(1.0, done / total) if total else 0.0
    filled = round(part * 20)
    text = f"{what}  [{'#' * filled}{'.' * (20 - filled)}] {part:4.0%}"
    text += f"  {amount(done)} of {amount(total)}"
    if seconds > 0 and moved > 0:
        rate = moved / seconds
        text += f"  {amount(rate)}/s  {duration_text((total - done) / rate)} left"
    return text
