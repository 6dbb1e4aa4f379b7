"""Feeds of growing data: files, folders, pipes, the monitor device and replays.

A feed is polled for new bytes. Its position says where to resume after a restart.
"""

from __future__ import annotations

import errno
import os
import queue
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from zlens.errors import InputError
from zlens.readers import recognition, streaming

#: Maximum bytes per read, because data decoded in one pass must fit in memory.
MAX_READ_BYTES = 64 * 1024**2
#: Bytes of one read of a pipe or the device.
_READ = 1024**2
#: Seconds without writes after which a file counts as complete if another one follows.
FILE_COMPLETE_S = 2.0
#: Maximum number of queued reads of the device; further ones are dropped and reported.
_MAX_QUEUED_READS = 4096

_DIGITS = re.compile(r"\d+")

Position = Mapping[str, Any]


class FeedChunk(Struct, frozen=True):
    """New bytes, the position after them, and notes: a gap, a replaced file."""

    data: bytes
    position: Position
    notes: tuple[str, ...] = ()


class Feed(ABC):
    """Live input that delivers bytes. Only `read` is required: many feeds have nothing to do for the others.

    ended     whether no more bytes will arrive
    seekable  whether its bytes can be read again from a position
    """

    name: str
    ended = False
    seekable = False

    def seek(self, position: Position) -> None:  # noqa: B027
        """Continue at a position, if the feed is seekable."""

    @abstractmethod
    def read(self) -> FeedChunk | None:
        """Return new bytes; None if there are none."""

    def release_before(self, position: Position) -> None:  # noqa: B027
        """Allow removal of data before a position: it is not read again, even after a restart."""

    def close(self) -> None:  # noqa: B027
        """Stop reading."""


class FeedGroup(ABC):
    """A group of feeds that may grow."""

    @abstractmethod
    def current_feeds(self) -> Sequence[Feed]:
        """Return the current feeds."""


class FileFeed(Feed):
    """Files that are read in sequence: one growing file, or files that appear in a folder."""

    seekable = True

    def __init__(self, name: str, listed: Callable[[], list[str]]) -> None:
        self.name = name
        self._listed = listed
        self._done: set[str] = set()
        self._path: str | None = None
        self._inode = 0
        self._offset = 0

    def seek(self, position: Position) -> None:
        self._path, self._inode = position["file"], position["inode"]
        self._offset, self._done = position["offset"], {*position["done"]}

    def read(self) -> FeedChunk | None:
        notes: list[str] = []
        while True:
            if self._path is None and not self._next():
                return None
            path = str(self._path)
            try:
                handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
            except OSError as error:
                if error.errno != errno.ENOENT:
                    raise InputError(f"cannot be read: {error.strerror}", file=path) from None
                if not self._next():
                    return None
                continue
            try:
                status = os.fstat(handle)
                if self._inode and (status.st_ino != self._inode or status.st_size < self._offset):
                    notes.append(f"{os.path.basename(path)} was replaced; it is read from its beginning")
                    self._offset = 0
                self._inode = status.st_ino
                size = min(status.st_size - self._offset, MAX_READ_BYTES)
                data = os.pread(handle, size, self._offset) if size > 0 else b""
            finally:
                os.close(handle)
            if data:
                self._offset += len(data)
                return FeedChunk(data, self._position(), tuple(notes))
            is_complete = time.time() - status.st_mtime > FILE_COMPLETE_S
            if not (is_complete and self._next()):
                return None

    def _position(self) -> Position:
        listed = {*self._listed()}
        self._done &= listed
        return {"file": self._path, "inode": self._inode, "offset": self._offset, "done": sorted(self._done)}

    def _next(self) -> bool:
        """Advance to the next file; returns False if there is none."""
        others = [path for path in self._listed() if path not in self._done and path != self._path]
        if not others:
            return False
        if self._path is not None:
            self._done.add(self._path)
        self._path, self._inode, self._offset = others[0], 0, 0
        return True


def growing_file(path: str) -> FileFeed:
    """Return the feed of a file that grows or is replaced under its name."""
    return FileFeed(path, lambda: [path])


class FolderFeeds(FeedGroup):
    """A folder to which files are added. Files whose names differ only in digits are one feed."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._feeds: dict[str, FileFeed] = {}

    def current_feeds(self) -> list[FileFeed]:
        """Return one feed for each pattern of names."""
        for key in self._groups():
            if key not in self._feeds:
                name = os.path.join(self.path, key)
                self._feeds[key] = FileFeed(name, lambda key=key: self._groups().get(key, []))  # type: ignore[misc]
        return [*self._feeds.values()]

    def _groups(self) -> dict[str, list[str]]:
        groups: dict[str, list[str]] = {}
        try:
            names = sorted(os.listdir(self.path))
        except OSError as error:
            raise InputError(f"the folder cannot be read: {error.strerror}", file=self.path) from None
        for name in names:
            path = os.path.join(self.path, name)
            # Hidden and temporary names belong to files in transit.
            if not name.startswith(".") and not name.endswith((".part", ".tmp")) and os.path.isfile(path):
                groups.setdefault(_DIGITS.sub("#", name), []).append(path)
        return groups


class ThreadHandover:
    """Queue from a reading thread to the program: bytes, each with a note.

    what   name of the dropped items in notes
    """

    def __init__(self, size: int, what: str) -> None:
        self._queue: queue.Queue[tuple[bytes, str]] = queue.Queue(size)
        self._what = what
        self._dropped = 0

    def send(self, data: bytes, note: str) -> None:
        """Enqueue data; waits while the queue is full."""
        self._queue.put((data, note))

    def send_or_drop(self, data: bytes, note: str) -> None:
        """Enqueue data, or drop it if the consumer lags; the next note says how much was dropped."""
        if self._dropped:
            left_out = f"{self._dropped:,} {self._what} were left out: the program fell behind"
            note = "; ".join(filter(None, (left_out, note)))
        try:
            self._queue.put_nowait((data, note))
            self._dropped = 0
        except queue.Full:
            self._dropped += 1

    def receive(self) -> tuple[bytes, str] | None:
        """Return the next bytes and their note; None if there are none yet."""
        try:
            return self._queue.get_nowait()
        except queue.Empty:
            return None

    def __len__(self) -> int:
        return self._queue.qsize()


class ReaderThreadFeed(Feed):
    """A pipe or the device, read by a separate thread that never waits for the program."""

    def __init__(self, name: str, handle: int, *, device: bool = False) -> None:
        self.name = name
        self._handle = handle
        self._device = device
        # The writer of a pipe waits if the program lags; the device overflows, so its reads are dropped.
        self._handover = ThreadHandover(
            _MAX_QUEUED_READS if device else MAX_READ_BYTES // _READ, "sets of data"
        )
        self._thread = threading.Thread(target=self._run, name="zlens-reading", daemon=True)
        self._thread.start()

    def read(self) -> FeedChunk | None:
        parts: list[bytes] = []
        notes: list[str] = []
        size = 0
        while size < MAX_READ_BYTES:
            passed = self._handover.receive()
            if passed is None:
                if not self._thread.is_alive() and not len(self._handover):
                    self.ended = True
                break
            data, note = passed
            parts.append(data)
            size += len(data)
            if note:
                notes.append(note)
        return FeedChunk(b"".join(parts), {}, tuple(notes)) if size or notes else None

    def _run(self) -> None:
        if self._device:
            self._read_device()
            return
        while True:
            try:
                data = os.read(self._handle, _READ)
            except OSError as error:
                self._handover.send(b"", f"cannot read: {error.strerror}")
                return
            if not data:
                return
            self._handover.send(data, "")

    def _read_device(self) -> None:
        """Read the live stream of CP, in which an empty read ends a set of data, not the stream."""
        pending: list[bytes] = []
        while True:
            note = ""
            try:
                data = os.read(self._handle, _READ)
            except OSError as error:
                if error.errno == errno.EOVERFLOW:
                    # The set is complete; earlier sets were lost.
                    note = "the device overflowed: data were lost before this"
                elif error.errno in (errno.EIO, errno.EFAULT):
                    pending.clear()
                    note = f"a set of data could not be read and was left out: {error.strerror}"
                else:
                    self._handover.send(b"".join(pending), f"the device ended: {error.strerror}")
                    return
                data = b""
                if not pending:
                    self._handover.send_or_drop(b"", note)
                    continue
            if data:
                pending.append(data)
                continue
            self._handover.send_or_drop(b"".join(pending), note)
            pending.clear()


class ReplayClock:
    """Clock of replays: recorded time at `speed` times real time; 0: as fast as possible."""

    def __init__(self, speed: float, now: Callable[[], float] = time.monotonic) -> None:
        self._speed = speed
        self._now = now
        self._origin: tuple[float, int] | None = None

    def start(self, us: int) -> None:
        """Start at a recorded time, or go back to it."""
        if self._origin is None:
            self._origin = (self._now(), us)
        elif us < self._origin[1]:
            self._origin = (self._origin[0], us)

    def is_due(self, us: int) -> bool:
        """Return whether a recorded time is due."""
        if not self._speed or self._origin is None:
            return True
        begun, first = self._origin
        return us - first <= (self._now() - begun) * self._speed * 1e6


class ReplayFeed(Feed):
    """A recording that is replayed by a clock.

    moments   pairs of time in microseconds and bytes of the file at that time, both ascending
    """

    seekable = True

    def __init__(self, path: str, moments: list[tuple[int, int]], clock: ReplayClock) -> None:
        self.name = path
        self._moments = moments
        self._clock = clock
        self._at = 0
        self._offset = 0
        if moments:
            clock.start(moments[0][0])

    def seek(self, position: Position) -> None:
        self._offset = position["offset"]
        while self._at < len(self._moments) and self._moments[self._at][1] <= self._offset:
            self._at += 1

    def read(self) -> FeedChunk | None:
        end = self._offset
        while self._at < len(self._moments) and self._clock.is_due(self._moments[self._at][0]):
            if self._moments[self._at][1] - self._offset > MAX_READ_BYTES and end > self._offset:
                break
            end = self._moments[self._at][1]
            self._at += 1
        data = b""
        if end > self._offset:
            with open(self.name, "rb") as file:
                file.seek(self._offset)
                data = file.read(end - self._offset)
            self._offset += len(data)
        self.ended = self._at == len(self._moments)
        return FeedChunk(data, {"offset": self._offset}) if data else None


def open_recording(path: str, clock: ReplayClock) -> ReplayFeed:
    """Open a recording for replay. Raises InputError if its format cannot be replayed."""
    files = recognition.recognize([path]).files
    for reader, paths in files.items():
        form = streaming.stream_format(reader)
        if form is not None and paths == [path]:
            return ReplayFeed(path, form.write_times(path), clock)
    raise InputError(
        "this recording cannot be played",
        file=path,
        expected="one file with z/VM monitor data or SMF records",
        cure="open files of other formats with zlens serve",
    )
