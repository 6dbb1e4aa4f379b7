"""Interface of a format that can be read while it is being written.

A stream is cut where intervals have ended. The records up to a cut are decoded behind the last records before
them, with which they are compared. All rules are then those of any decoding.
"""

from __future__ import annotations

from importlib import import_module
from typing import Protocol

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
    """What can be done with a stream so far. Times are microseconds since 1970, in the records' own zone.

    window      bytes that are decoded now
    end         bytes that are not needed any more after that, but for their last records; 0: all are
    now_us      the time of the newest of these records
    closed_us   intervals that end later are not closed yet; None: all that end in the window are
    held_us     intervals that end later may still get records and are then computed again
    """

    window: int
    end: int
    now_us: int
    closed_us: int | None
    held_us: int


class RetainedTail(Struct, frozen=True):
    """What was kept: how many records, and how many of the others belong to intervals closed before."""

    records: int
    late: int


class StreamFormat(Protocol):
    """A format whose streams can be followed."""

    #: Whether all tables have rows of the same intervals.
    shares_intervals: bool

    def has_intervals(self, head: bytes) -> bool:
        """Whether a stream that begins so has intervals."""
        ...

    def missing_header(self, path: str, begin: int, name: str, options: Options) -> bytes:
        """What must stand before the first bytes that a source gave, which begin at `begin`: system, time."""
        ...

    def is_wrapped(self, path: str) -> bool:
        """Whether a stream is in another form than the one that is cut."""
        ...

    def unwrap(self, path: str, into: str) -> int:
        """Write the first interval of a stream in another form in the one that is cut; the bytes taken."""
        ...

    def write_times(self, path: str) -> list[tuple[int, int]]:
        """When a recording was written: times in microseconds, which do not fall, and bytes there then."""
        ...

    def repeated_ranges(self, path: str, options: Options, known: set[int]) -> list[tuple[int, int]]:
        """Byte ranges of intervals seen before: their end is in `known` or occurs twice in the stream."""
        ...

    def cut_point(
        self, path: str, options: Options, *, passed_us: int | None, grace_s: float, silent: bool, ended: bool
    ) -> CutPoint | None:
        """What can be done with a stream so far; None: nothing new.

        passed_us   `now_us` of what was decoded before
        grace_s     how long the records of an interval may come after its end
        silent      nothing came for that time; `ended`: nothing will
        """
        ...

    def keep_tail(
        self, path: str, begin: int, fresh: int, end: int, into: str, options: Options, oldest_us: int
    ) -> RetainedTail:
        """Keep the last records before `end`, but none that are older.

        begin   what is before was kept the last time
        fresh   what is before was decoded before
        """
        ...

    def write_part_header(self, path: str, into: str, options: Options) -> None:
        """Write the records that make a part readable on its own; `path` contains the records before it."""
        ...

    def interval_ends(self, path: str, options: Options) -> set[tuple[str, str, int]]:
        """System, source and end (UTC) of the intervals that records which were kept belong to."""
        ...


def stream_format(reader: str) -> StreamFormat | None:
    """How streams of a reader are followed; None: only whole files of it are read."""
    name = STREAMABLE_READERS.get(reader)
    if name is None:
        return None
    found: StreamFormat = import_module(f"zlens.readers.{name}").FORM
    return found
