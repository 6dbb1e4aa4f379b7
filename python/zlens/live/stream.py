"""A live stream of records, which is processed up to cut points where intervals have ended."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, field

from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.inputs.problems import Problem
from zlens.live.feeds import Feed, FeedChunk, Position
from zlens.live.measure_store import End
from zlens.live.spool import Spool
from zlens.readers import recognition, streaming
from zlens.readers.streaming import CutPoint, DecodedWindow, StreamFormat

#: Bytes required to recognize a format, unless no more arrive.
_HEAD = 8192
#: Lines that are sufficient for text formats.
_LINES = 3


class ClosedSegment(Struct, frozen=True):
    """Bytes whose intervals are closed, after the last records before them, as a file for the readers.

    begin   offset of the new bytes in the file
    """

    path: Path
    begin: int
    cut: CutPoint


class LiveStream(Struct):
    """A stream, its on-disk state, and its closed intervals."""

    feed: Feed
    spool: Spool
    options: Options
    grace_s: float
    #: Closed intervals, and closed intervals that may be computed again.
    ends: set[End] = field(default_factory=set)
    held: set[End] = field(default_factory=set)
    #: Time, on the clock of the records, up to which they were dropped; None if intervals lack none of them.
    dropped_us: int | None = None
    #: Systems of its records, with their sources.
    systems: set[tuple[str, str]] = field(default_factory=set)
    #: Whether its format cannot be followed; it is no longer read then.
    refused: bool = False
    #: Error of the last read.
    trouble: str | None = None
    _positions: list[tuple[int, Position]] = field(default_factory=list)
    _raw_positions: list[tuple[int, Position]] = field(default_factory=list)
    _size: int = 0
    _has_new: bool = False
    _changed: float = field(default_factory=time.monotonic)
    _idle_reported: bool = False
    #: Data of the feed that could not be written yet.
    _unwritten: FeedChunk | None = None
    #: Bytes of the tail that are already decoded.
    _decoded: int = 0
    _decoded_until_us: int | None = None
    #: Offset of the feed's first bytes in the tail; None once they have a header.
    _header_offset: int | None = None

    def __post_init__(self) -> None:
        if self.feed.seekable and self.spool.state.step:
            self.feed.seek(self.spool.state.position)
            self._settle(self.spool.state.position)
        if self.feed.seekable:
            self.spool.clear_tail()
        elif self.spool.tail.exists():
            self._size = self.spool.tail.stat().st_size
        if not (self.feed.seekable and self.spool.state.step):
            self._header_offset = self._size

    @property
    def name(self) -> str:
        return self.feed.name

    @property
    def done(self) -> bool:
        """Whether no more data will arrive."""
        if self.refused:
            return True
        return self.feed.ended and not self._has_new and (self._idle_reported or not self._size)

    @property
    def open_bytes(self) -> int:
        """Bytes that are not closed yet."""
        return self._size

    @property
    def growing(self) -> bool:
        """Whether more data is expected."""
        return not self.done and not self._idle_reported

    def form(self) -> StreamFormat:
        stream_format = streaming.stream_format(self.spool.state.reader)
        assert stream_format is not None
        return stream_format

    def read_feed(self, report: Callable[[Problem], None]) -> bool:
        """Read new data from the feed; returns whether there was any."""
        arrived = self._unwritten or self.feed.read()
        if arrived is None:
            return False
        is_wrapped = self.spool.state.wrapped
        # If it cannot be written, the next call does.
        self._unwritten = arrived
        size = self.spool.append(arrived.data, raw=is_wrapped) if arrived.data else 0
        self._unwritten = None
        for note in arrived.notes:
            report(self.problem("gap", note))
        if arrived.data:
            if is_wrapped:
                self._raw_positions.append((size, arrived.position))
                self._unwrap()
            else:
                self._size = size
                self._positions.append((size, arrived.position))
            self._has_new, self._idle_reported = True, False
            self._changed = time.monotonic()
        return True

    def closable_segment(self, report: Callable[[Problem], None]) -> ClosedSegment | None:
        """Return the data since the last cut point that can be closed; None if there is none yet."""
        silent = self.feed.ended or time.monotonic() - self._changed > self.grace_s
        if not self._size or not (self._has_new or (silent and not self._idle_reported)):
            return None
        if not self._recognized(silent=silent) or not self._size:
            return None
        if self._has_new:
            self._drop_repeated(report)
        self._has_new = False
        self._idle_reported = silent
        cut = self.form().cut_point(
            os.fspath(self.spool.tail),
            self.options,
            passed_us=self._decoded_until_us,
            grace_s=self.grace_s,
            silent=silent,
            ended=self.feed.ended,
        )
        if cut is None:
            return None
        self._decoded_until_us = cut.now_us
        return ClosedSegment(*self.spool.open_window(cut.window), cut)

    def _drop_repeated(self, report: Callable[[Problem], None]) -> None:
        """Remove closed intervals from the tail: a feed may deliver them again."""
        known = {end for _, _, end in self.ends - self.held}
        tail = os.fspath(self.spool.tail)
        for begin, end in reversed(self.form().repeated_ranges(tail, self.options, known)):
            self.spool.remove_bytes(begin, end)
            self._size -= end - begin
            positions: list[tuple[int, Position]] = []
            start = 0
            for size, position in self._positions:
                if start < begin < size:
                    positions.append((begin, _before(position, size - begin)))
                if size <= begin:
                    positions.append((size, position))
                elif size > end:
                    positions.append((size - (end - begin), position))
                start = size
            self._positions = positions
            detail = f"{end - begin:,} bytes of a closed interval are duplicates; they are left out"
            report(self.problem("duplicate", detail))

    def _unwrap(self) -> None:
        """Convert raw bytes to the format of the tail, interval by interval."""
        while self.spool.raw.exists():
            converted, self._size = self.spool.convert_raw(self.form().unwrap)
            if not converted:
                return
            self._positions.append((self._size, _position_at(self._raw_positions, converted)))
            self._raw_positions = [
                (size - converted, at) for size, at in self._raw_positions if size > converted
            ]

    def _recognized(self, *, silent: bool) -> bool:
        """Return whether the format is recognized. Raises InputError if it cannot be followed."""
        if self.spool.state.reader:
            self._prepend_header()
            return True
        with open(self.spool.tail, "rb") as file:
            first_bytes = file.read(recognition.DETECTION_BYTES)
        is_sufficient = self._size >= _HEAD or silent
        # A few lines identify a text format, and some arrive slowly.
        if not is_sufficient and (b"\0" in first_bytes or first_bytes.count(b"\n") < _LINES):
            return False
        forms = {name: streaming.stream_format(name) for name in streaming.STREAMABLE_READERS}
        supported = [
            name for name, form in forms.items() if form is not None and form.has_intervals(first_bytes)
        ]
        reader = recognition.recognized(first_bytes, self._size, supported)
        if reader is not None:
            self.spool.state.reader = reader
            self._prepend_header()
            if self.form().is_wrapped(os.fspath(self.spool.tail)):
                self.spool.state.wrapped = True
                os.replace(self.spool.tail, self.spool.raw)
                self._raw_positions, self._positions = self._positions, []
                self._unwrap()
            return True
        if not is_sufficient:
            return False
        self.refused = True
        raise InputError(
            "this stream cannot be followed",
            file=self.name,
            offset=0,
            expected="z/VM monitor data, SMF records, text of an HMC exporter or perf stat -I",
            cure="import files of other formats",
        )

    def _prepend_header(self) -> None:
        """Insert the header before the first bytes of a feed, if it is missing."""
        offset = self._header_offset
        if offset is None or offset == self._size:
            return
        self._header_offset = None
        header = self.form().missing_header(os.fspath(self.spool.tail), offset, self.name, self.options)
        if header:
            self.spool.insert(offset, header)
            self._size += len(header)
            self._positions = [(size + len(header), position) for size, position in self._positions]

    def close(self, segment: ClosedSegment, retain_from_us: int) -> int:
        """Make a segment durable and drop its bytes; returns the number of its late records."""
        late = 0
        if not segment.cut.end:
            self._decoded = segment.cut.window
            return late

        def last(path: str) -> None:
            nonlocal late
            begin = segment.begin
            window = DecodedWindow(
                os.fspath(segment.path), begin, begin + self._decoded, begin + segment.cut.end
            )
            late = self.form().keep_tail(window, path, self.options, retain_from_us)

        end = segment.cut.end
        position = _position_at(self._positions, end)
        self.spool.cut(
            end,
            dict(position),
            segment.cut.now_us,
            last,
            begins=lambda base, path: self.form().write_part_header(base, path, self.options),
        )
        if not self.form().shares_intervals:
            self.dropped_us = segment.cut.held_us
        self._settle(position)
        self._positions = [(size - end, position) for size, position in self._positions if size > end]
        self._size -= end
        self._decoded = segment.cut.window - end
        return late

    def _settle(self, position: Position) -> None:
        if position:
            self.feed.release_before(position)

    def problem(self, kind: str, detail: str) -> Problem:
        return Problem(None, self.spool.state.reader, self.name, None, None, kind, detail, None)


def _position_at(positions: list[tuple[int, Position]], end: int) -> Position:
    """Return the position of a feed after `end` bytes."""
    # Positions are recorded after each chunk, whose bytes are from one file.
    return next((_before(position, size - end) for size, position in positions if end <= size), {})


def _before(position: Position, size: int) -> Position:
    """Return the position `size` bytes before another one."""
    return {**position, "offset": position["offset"] - size} if position else position
