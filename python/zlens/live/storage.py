"""The folder of `zlens live`: whether it is still there, whether its disk has room, and for how long."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

#: Bytes that must be free besides copies of the data that is not closed yet: room for what is read next.
RESERVE = 256 * 1024**2
#: The data that is not closed is copied to a window, a part and the next tail.
_COPIES = 3
#: Seconds between two measurements of free space, and how many of them are kept: those of a day.
_MEASURED_S = 3600.0
_MEASUREMENTS = 24
_DAY_S = 86_400.0


class Storage:
    """A folder that is written to for months."""

    def __init__(
        self,
        folder: Path,
        *,
        clock: Callable[[], float] = time.monotonic,
        free_bytes: Callable[[int], int] = lambda handle: shutil.disk_usage(handle).free,
    ) -> None:
        """free_bytes: free space of the disk of an open folder. Raises OSError if it cannot be opened."""
        self._folder = folder
        self._handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        self._clock, self._free_bytes = clock, free_bytes
        #: Times and free bytes, one an hour.
        self._measured: deque[tuple[float, int]] = deque(maxlen=_MEASUREMENTS + 1)
        self._reported: float | None = None

    def close(self) -> None:
        os.close(self._handle)

    def missing(self, folders: Iterable[Path]) -> Path | None:
        """Return the folder, or the first of these in it, that was removed or moved; None if none was."""
        with contextlib.suppress(OSError):
            if os.path.samestat(os.stat(self._folder), os.fstat(self._handle)):
                return next((folder for folder in folders if not folder.is_dir()), None)
        return self._folder

    def lack(self, open_bytes: int) -> tuple[int, int] | None:
        """Return the free and the needed bytes if the disk lacks room for a step; None if it has room.

        open_bytes   bytes that are not closed yet
        """
        needed = RESERVE + _COPIES * open_bytes
        free = self._free_bytes(self._handle)
        return None if free >= needed else (free, needed)

    def forecast(self) -> str | None:
        """Return how long the disk will last at the rate of the last 24 hours.

        None if that was said in the last 24 hours (or, if it lasts for less than a day, in the last hour), in
        the first hour, and if the disk does not fill.
        """
        now = self._clock()
        if self._measured and now - self._measured[-1][0] < _MEASURED_S:
            return None
        free = self._free_bytes(self._handle)
        self._measured.append((now, free))
        first_time, first_free = self._measured[0]
        if free >= first_free:
            return None
        per_day = (first_free - free) / (now - first_time) * _DAY_S
        days = free / per_day
        # A tenth of an hour less, because steps do not come at exact times.
        if self._reported is not None and days >= 1 and now - self._reported < _DAY_S - _MEASURED_S / 10:
            return None
        self._reported = now
        lasts = (
            f"{days:,.0f} days" if days >= 10 else f"{days:.1f} days" if days >= 1 else f"{days * 24:.0f} h"
        )
        return (
            f"the disk of {self._folder} has {free / 1e9:,.1f} GB free; "
            f"at today's rate of {per_day / 1e9:,.1f} GB a day it lasts {lasts}"
        )
