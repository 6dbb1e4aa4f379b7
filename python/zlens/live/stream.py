"""One stream of records: it grows at its end and is cut where intervals have ended."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, field

from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.inputs.problems import Problem
from zlens.live.feeds import Feed, Position, ReleasableFeed
from zlens.live.measure_store import End
from zlens.live.spool import Spool
from zlens.readers import recognition, streaming
from zlens.readers.streaming import CutPoint, StreamFormat

#: Bytes from which a format is recognized, unless no more come.
_HEAD = 8192
#: Lines of text that are enough.
_LINES = 3


class ClosedSegment(Struct, frozen=True):
    """Bytes whose intervals are closed, behind the last records before them, as a file for the readers.

    begin   where in the file the new bytes begin
    """

    path: Path
    begin: int
    cut: CutPoint


class LiveStream(Struct):
    """A stream, what is on disk of it, and the intervals of it that are closed."""

    feed: Feed
    spool: Spool
    options: Options
    grace_s: float
    #: Intervals that are closed, and those of them that may still be computed again.
    ends: set[End] = field(default_factory=set)
    held: set[End] = field(default_factory=set)
    #: The systems that its records are of, and their sources.
    systems: set[tuple[str, str]] = field(default_factory=set)
    #: Whether it is of a kind that cannot be followed; it is not read any more then.
    refused: bool = False
    #: Why it could not be read the last time.
    trouble: str | None = None
    _positions: list[tuple[int, Position]] = field(default_factory=list)
    _raw_positions: list[tuple[int, Position]] = field(default_factory=list)
    _size: int = 0
    _fresh: bool = False
    _changed: float = field(default_factory=time.monotonic)
    _silence_told: bool = False
    #: Bytes of the tail that were decoded before.
    _decoded: int = 0
    _passed_us: int | None = None
    #: Where in the tail the first bytes are that the source gave; None once their heading is there.
    _head_at: int | None = None

    def __post_init__(self) -> None:
        if self.feed.seekable and self.spool.state.step:
            self.feed.seek(self.spool.state.position)
            self._settle(self.spool.state.position)
        if self.feed.seekable:
            self.spool.clear_tail()
        elif self.spool.tail.exists():
            self._size = self.spool.tail.stat().st_size
        if not (self.feed.seekable and self.spool.state.step):
            self._head_at = self._size

    @property
    def name(self) -> str:
        return self.feed.name

    @property
    def done(self) -> bool:
        """Whether nothing more will come of it."""
        if self.refused:
            return True
        return self.feed.ended and not self._fresh and (self._silence_told or not self._size)

    @property
    def growing(self) -> bool:
        """Whether more is expected of it."""
        return not self.done and not self._silence_told

    def form(self) -> StreamFormat:
        found = streaming.stream_format(self.spool.state.reader)
        assert found is not None
        return found

    def read_feed(self, say: Callable[[Problem], None]) -> bool:
        """Take what has arrived; whether anything has."""
        arrived = self.feed.read()
        if arrived is None:
            return False
        for note in arrived.notes:
            say(self.problem("gap", note))
        if arrived.data:
            if self.spool.state.wrapped:
                self._raw_positions.append((self.spool.append(arrived.data, raw=True), arrived.position))
                self._unwrap()
            else:
                self._size = self.spool.append(arrived.data)
                self._positions.append((self._size, arrived.position))
            self._fresh, self._silence_told = True, False
            self._changed = time.monotonic()
        return True

    def closable_segment(self, say: Callable[[Problem], None]) -> ClosedSegment | None:
        """The data since the last cut point that can be closed; None if there is none yet."""
        silent = self.feed.ended or time.monotonic() - self._changed > self.grace_s
        if not self._size or not (self._fresh or (silent and not self._silence_told)):
            return None
        if not self._recognized(silent=silent) or not self._size:
            return None
        if self._fresh:
            self._drop_repeated(say)
        self._fresh = False
        self._silence_told = silent
        cut = self.form().cut_point(
            os.fspath(self.spool.tail),
            self.options,
            passed_us=self._passed_us,
            grace_s=self.grace_s,
            silent=silent,
            ended=self.feed.ended,
        )
        if cut is None:
            return None
        self._passed_us = cut.now_us
        return ClosedSegment(*self.spool.open_window(cut.window), cut)

    def _drop_repeated(self, say: Callable[[Problem], None]) -> None:
        """Remove intervals from the tail that were closed before: a source may give them again."""
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
            detail = f"{end - begin:,} bytes of an interval that was closed came again; they are left out"
            say(self.problem("duplicate", detail))

    def _unwrap(self) -> None:
        """Bring what has arrived in another form into that of the tail, interval by interval."""
        while self.spool.raw.exists():
            taken, self._size = self.spool.convert_raw(self.form().unwrap)
            if not taken:
                return
            self._positions.append((self._size, _position_at(self._raw_positions, taken)))
            self._raw_positions = [(size - taken, at) for size, at in self._raw_positions if size > taken]

    def _recognized(self, *, silent: bool) -> bool:
        """Whether the format is known by now; InputError if no stream of this kind can be followed."""
        if self.spool.state.reader:
            self._prepend_header()
            return True
        with open(self.spool.tail, "rb") as file:
            head = file.read(recognition.DETECTION_BYTES)
        enough = self._size >= _HEAD or silent
        # Lines say what they are, and some come slowly.
        if not enough and (b"\0" in head or head.count(b"\n") < _LINES):
            return False
        forms = {name: streaming.stream_format(name) for name in streaming.STREAMABLE_READERS}
        followed = [name for name, form in forms.items() if form is not None and form.has_intervals(head)]
        reader = recognition.recognized(head, self._size, followed)
        if reader is not None:
            self.spool.state.reader = reader
            self._prepend_header()
            if self.form().is_wrapped(os.fspath(self.spool.tail)):
                self.spool.state.wrapped = True
                os.replace(self.spool.tail, self.spool.raw)
                self._raw_positions, self._positions = self._positions, []
                self._unwrap()
            return True
        if not enough:
            return False
        self.refused = True
        raise InputError(
            "this stream cannot be followed",
            file=self.name,
            offset=0,
            expected="z/VM monitor data, SMF records, text of an HMC exporter or perf stat -I",
            cure="import whole files of other formats",
        )

    def _prepend_header(self) -> None:
        """Prepend the header that the first bytes of a feed lack."""
        at = self._head_at
        if at is None or at == self._size:
            return
        self._head_at = None
        heading = self.form().missing_header(os.fspath(self.spool.tail), at, self.name, self.options)
        if heading:
            self.spool.insert(at, heading)
            self._size += len(heading)
            self._positions = [(size + len(heading), position) for size, position in self._positions]

    def close(self, segment: ClosedSegment, oldest_us: int) -> int:
        """Make a segment durable and forget its bytes; how many of its records came too late."""
        late = 0
        if not segment.cut.end:
            self._decoded = segment.cut.window
            return late

        def last(into: str) -> None:
            nonlocal late
            end = segment.begin + segment.cut.end
            fresh = segment.begin + self._decoded
            kept = self.form().keep_tail(
                os.fspath(segment.path), segment.begin, fresh, end, into, self.options, oldest_us
            )
            late = kept.late

        end = segment.cut.end
        position = _position_at(self._positions, end)
        self.spool.cut(
            end,
            dict(position),
            segment.cut.now_us,
            last,
            begins=lambda base, into: self.form().write_part_header(base, into, self.options),
        )
        self._settle(position)
        self._positions = [(size - end, position) for size, position in self._positions if size > end]
        self._size -= end
        self._decoded = segment.cut.window - end
        return late

    def _settle(self, position: Position) -> None:
        if position and isinstance(self.feed, ReleasableFeed):
            self.feed.release_before(position)

    def problem(self, kind: str, detail: str, *, system: str | None = None) -> Problem:
        return Problem(system, self.spool.state.reader, self.name, None, None, kind, detail, None)


def _position_at(positions: list[tuple[int, Position]], end: int) -> Position:
    """The position of a source behind `end` bytes."""
    # A position is that behind all bytes that came with it, which are from one file.
    return next((_before(position, size - end) for size, position in positions if end <= size), {})


def _before(position: Position, size: int) -> Position:
    """The position some bytes before another one."""
    return {**position, "offset": position["offset"] - size} if position else position
