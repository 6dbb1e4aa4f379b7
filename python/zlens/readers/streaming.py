"""Interface of a format that can be read while it is being written.

A stream is split at interval ends. The records up to a cut point are decoded after the last records before
them, with which they are compared, so the usual rules of decoding apply.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from importlib import import_module

from msgspec import Struct

from zlens.inputs.options import Options

#: Modules with `FORM`, by the name of their reader.
STREAMABLE_READERS = {
    "zvm.monwrite": "zvm.streaming",
    "smf.dump": "smf.streaming",
    "openmetrics.hmc": "openmetrics.hmc",
    "openmetrics.dds": "openmetrics.dds",
    "linux.counters": "linux.streaming",
}


class CutPoint(Struct, frozen=True):
    """Progress of a stream. Times are microseconds since 1970, in the time zone of the records.

    window      bytes that are decoded now
    end         bytes that are no longer needed afterwards, except for their last records; 0: all are needed
    now_us      time of the newest of these records
    closed_us   intervals that end later are not closed yet; None: all that end in the window are closed
    held_us     intervals that end later may still get records and are then computed again
    """

    window: int
    end: int
    now_us: int
    closed_us: int | None
    held_us: int


class DecodedWindow(Struct, frozen=True):
    """A file with the records retained at the last cut point and the bytes that are decoded after them.

    start           offset of the first byte after the retained records
    decoded_until   earlier bytes were decoded before
    end             cut point: bytes before it are no longer needed, except for their last records
    """

    path: str
    start: int
    decoded_until: int
    end: int


class StreamFormat(ABC):
    """A format whose streams can be followed; by default, all it needs is in the records of an interval."""

    #: Whether all tables have rows of the same intervals.
    shares_intervals = True

    def has_intervals(self, first_bytes: bytes) -> bool:
        """Return whether a stream with these first bytes has intervals."""
        return True

    def missing_header(self, path: str, start: int, name: str, options: Options) -> bytes:
        """Return the header for the first received bytes, which are at offset `start`: system, time."""
        return b""

    def is_wrapped(self, path: str) -> bool:
        """Return whether a stream has another format than the one that is split."""
        return False

    def unwrap(self, path: str, target_path: str) -> int:
        """Write the first interval of a wrapped stream in the format that is split; return the bytes read."""
        return 0

    @abstractmethod
    def records(self, path: str) -> Iterator[tuple[int | None, int]]:
        """Yield what is written at once: its time in microseconds, None without one, and its end offset."""

    def write_times(self, path: str) -> list[tuple[int, int]]:
        """Return the write times of a recording: nondecreasing microseconds, each with the file size."""
        newest, times = 0, []
        for us, end in self.records(path):
            newest = max(newest, us or 0)
            times.append((newest, end))
        return times

    def repeated_ranges(self, path: str, options: Options, known: set[int]) -> list[tuple[int, int]]:
        """Return the byte ranges of intervals that are already closed, unless the reader detects them.

        known   the ends of closed intervals
        """
        return []

    @abstractmethod
    def cut_point(
        self, path: str, options: Options, *, passed_us: int | None, grace_s: float, silent: bool, ended: bool
    ) -> CutPoint | None:
        """Return how far a stream can be processed; None if there is nothing new.

        passed_us   `now_us` of the previous cut point
        grace_s     grace period for records after the end of their interval, in seconds
        silent      no data was received for the grace period; `ended`: no more data is expected
        """

    def keep_tail(self, window: DecodedWindow, target_path: str, options: Options, retain_us: int) -> int:
        """Write the last records before the cut point that are not older than `retain_us`.

        Returns the number of records that arrived after their interval was closed.
        """
        open(target_path, "wb").close()
        return 0

    def write_part_header(self, path: str, target_path: str, options: Options) -> None:
        """Write the records that make a part readable on its own; `path` contains the records before it."""
        open(target_path, "wb").close()

    def interval_ends(self, path: str, options: Options) -> set[tuple[str, str, int]]:
        """Return system, source and end (UTC) of the intervals of retained records."""
        return set()


def stream_format(reader: str) -> StreamFormat | None:
    """Return the stream format of a reader; None if only complete files of it are read."""
    name = STREAMABLE_READERS.get(reader)
    if name is None:
        return None
    format: StreamFormat = import_module(f"zlens.readers.{name}").FORM
    return format
