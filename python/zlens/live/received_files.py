"""What a receiver has of one source: a folder of files, and a state that says how much of them is durable.

A record counts once the state lists it, and the state is replaced as a whole after the files were flushed:
whenever the program is killed, files are cut back to what the state says, and the forwarder sends the rest
again.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from zlens.errors import ReceiverError
from zlens.live.protocol import END_OF_SET, Frame, FrameKind

STATE = "state.json"
GAPS = "gaps.jsonl"
#: Spools that may have sent to one folder, one after the other: each numbers its own records.
_STREAMS = 16
#: The device is the only source whose sets are known: its files may end behind any of them.
MONREADER = "monreader"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_STREAM = re.compile(r"[0-9a-f]{32}")
_FILE = re.compile(r"(\d{8})-\d{8}T\d{6}Z")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


def is_source_name(name: str) -> bool:
    """Whether a source may be named so: its folder is."""
    return _NAME.fullmatch(name) is not None


class DurableState(Struct):
    """What is durable."""

    #: monreader, file or stdin.
    kind: str = ""
    #: The sequence number that each stream sends next, the latest stream last.
    streams: dict[str, int] = field(default_factory=dict)
    #: The file that grows, its number and its size; without a name, the next record begins one.
    file: str = ""
    number: int = 0
    size: int = 0
    #: What the forwarder calls the file.
    title: str = ""
    #: Whether the last record ended a set.
    whole: bool = True
    #: Bytes of the file of gaps.
    gaps: int = 0
    #: Whether the source ended.
    ended: bool = False


class ReadPosition(Struct, frozen=True):
    """Where in the files of a source somebody reads: a file's name, and the next byte."""

    file: str = ""
    offset: int = 0


class RetentionPolicy(Struct, frozen=True):
    """Retention of files that were read: maximum age in seconds and maximum size in bytes."""

    age_s: float | None = None
    bytes: int | None = None


class ReceivedFiles:
    """The folder of a source. One connection writes at a time, under `lock`; reading needs none."""

    def __init__(self, folder: Path, *, rotate_bytes: int, rotate_s: float) -> None:
        """Opens it, or makes it, and cuts off what is not durable.

        Raises ReceiverError if its state cannot be read, and OSError.
        """
        self.folder = folder
        self.name = folder.name
        self.lock = threading.Lock()
        self._rotate_bytes = rotate_bytes
        self._rotate_s = rotate_s
        self._file: BinaryIO | None = None
        self._begun = 0.0
        #: Whether files may have more than what is durable.
        self._stale = True
        self._make_folder()
        self.durable = self._load()
        self._now = self.durable
        self.roll_back()

    @property
    def files(self) -> list[Path]:
        """Its files in the order of their time; of the last one, `durable.size` bytes are durable."""
        found = sorted(path for path in self.folder.iterdir() if _FILE.match(path.name))
        return [path for path in found if _number(path) <= self.durable.number]

    def read(self, place: ReadPosition, most: int) -> tuple[bytes, ReadPosition]:
        """Durable data after a position, at most `most` bytes of one file, and the position after it.

        Nothing if nothing is new. A place in a file that was removed is taken as its end.
        """
        durable = self.durable
        for path in self.files:
            if path.name < place.file or _number(path) > durable.number:
                continue
            offset = place.offset if path.name == place.file else 0
            with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
                size = durable.size if path.name == durable.file else os.fstat(file.fileno()).st_size
                if size > offset:
                    file.seek(offset)
                    data = file.read(min(size - offset, most))
                    return data, ReadPosition(path.name, offset + len(data))
        return b"", place

    def forget(self, before: ReadPosition, keep: RetentionPolicy) -> list[Path]:
        """Removes files before the one of a place, the oldest first, as far as they need not stay.

        The file that grows stays in any case, and so does the one of the place. Returns what was removed;
        what cannot be removed now is left to the next call.
        """
        if keep.age_s is None and keep.bytes is None:
            return []
        sizes: dict[Path, os.stat_result] = {}
        for path in self.files:
            with contextlib.suppress(FileNotFoundError):
                sizes[path] = path.stat()
        left = sum(status.st_size for status in sizes.values())
        gone = []
        for path, status in sizes.items():
            if path.name >= before.file or path.name == self.durable.file:
                break
            old = keep.age_s is not None and time.time() - status.st_mtime > keep.age_s
            if not old and (keep.bytes is None or left <= keep.bytes):
                break
            try:
                path.unlink()
            except OSError:
                break
            left -= status.st_size
            gone.append(path)
        return gone

    def gaps(self) -> Iterator[Mapping[str, Any]]:
        """What is missing, as the forwarder reported it, with the file and the size it had there."""
        with contextlib.suppress(FileNotFoundError), open(self.folder / GAPS, "rb") as file:
            yield from map(json.loads, file.read(self.durable.gaps).splitlines())

    def next_sequence(self, stream: str) -> int:
        """The sequence number after the last durable one of a stream."""
        return self.durable.streams.get(stream, 0)

    def begin_stream(self, kind: str, stream: str) -> int:
        """Register the stream of a forwarder; returns the sequence number to resume with."""
        if not _STREAM.fullmatch(stream):
            raise ReceiverError(
                "the stream of a forwarder has no valid name", expected="32 hexadecimal digits"
            )
        if self._stale:
            self.roll_back()
        now = self._now
        if next(reversed(now.streams), stream) != stream:
            # Another spool: what it sends continues no file.
            self._end_file()
        following = now.streams.pop(stream, 0)
        now.streams[stream] = following
        for old in list(now.streams)[:-_STREAMS]:
            del now.streams[old]
        now.kind, now.ended = kind, False
        return following

    def apply_record(self, frame: Frame) -> None:
        """Applies the next record; it is durable after `commit`.

        Raises ReceiverError if it is not the next one, and OSError.
        """
        now = self._now
        stream = [*now.streams][-1]
        if frame.sequence != now.streams[stream]:
            raise ReceiverError(
                f"record {frame.sequence} arrived", expected=f"record {now.streams[stream]} of {self.name}"
            )
        following = frame.sequence + 1
        if frame.kind is FrameKind.BEGIN:
            self._end_file()
            now.title = _UNSAFE.sub("_", frame.fields.get("file", ""))[-64:]
        elif frame.kind is FrameKind.DATA:
            self._write(frame.payload)
            now.whole = bool(frame.flags & END_OF_SET)
            if now.whole and now.kind == MONREADER and self._is_full():
                self._end_file()
        else:
            following = self._gap(frame, following)
        now.streams[stream] = following

    def end(self) -> None:
        """The source ended: nothing follows in its file."""
        self._end_file()
        self._now.ended = True

    def commit(self) -> None:
        """Makes durable what was applied.

        Raises OSError; then `recover` returns to what was durable before.
        """
        if self._now == self.durable:
            return
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())
        temporary = self.folder / f".{STATE}"
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(asdict(self._now), file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.folder / STATE)
        _sync(self.folder)
        self.durable = _copy(self._now)

    def roll_back(self) -> None:
        """Roll back to the durable state: truncate excess data and end a file that lost bytes."""
        self._stale = True
        self.close()
        self._make_folder()
        now = self.durable
        for path in self.folder.iterdir():
            if _FILE.match(path.name) and _number(path) > now.number:
                path.unlink()
        _truncate(self.folder / GAPS, now.gaps)
        if now.file and _truncate(self.folder / now.file, now.size) != now.size:
            # Somebody removed or shortened it; what follows stands in a file of its own.
            now.file, now.size = "", 0
        self._now = _copy(now)
        self._stale = False

    def close(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    def _load(self) -> DurableState:
        path = self.folder / STATE
        try:
            document = json.loads(path.read_bytes())
            state = DurableState(**document)
            if not (isinstance(state.streams, dict) and all(type(n) is int for n in state.streams.values())):
                raise TypeError
            return state
        except FileNotFoundError:
            numbers = [_number(path) for path in self.folder.iterdir() if _FILE.match(path.name)]
            gaps = self.folder / GAPS
            return DurableState(
                number=max(numbers, default=0), gaps=gaps.stat().st_size if gaps.exists() else 0
            )
        except (ValueError, TypeError):
            raise ReceiverError(
                "the state of a received source cannot be read",
                file=str(path),
                cure="remove it: the forwarder then sends what it still has, in a new file",
            ) from None

    def _write(self, data: bytes) -> None:
        now = self._now
        if self._file is None:
            if not now.file:
                begun = datetime.fromtimestamp(time.time(), UTC)
                now.number += 1
                now.file = f"{now.number:08d}-{begun:%Y%m%dT%H%M%SZ}{_ending(now)}"
                now.size = 0
            self._file = open(self.folder / now.file, "ab")  # noqa: SIM115
            self._begun = time.monotonic()
        self._file.write(data)
        now.size += len(data)

    def _is_full(self) -> bool:
        return self._now.size >= self._rotate_bytes or time.monotonic() - self._begun >= self._rotate_s

    def _end_file(self) -> None:
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())
            self.close()
        self._now.file, self._now.size = "", 0

    def _gap(self, frame: Frame, following: int) -> int:
        """Notes a gap; the sequence number behind it."""
        now, fields = self._now, frame.fields
        if "next" in fields:
            # Records that the forwarder no longer has.
            if not fields["next"].isdecimal() or int(fields["next"]) < following:
                raise ReceiverError("a gap does not say where it ends", expected="a later sequence number")
            following = int(fields["next"])
            if now.kind != MONREADER or not now.whole:
                self._end_file()
        line = json.dumps({**fields, "sequence": frame.sequence, "file": now.file, "size": now.size}) + "\n"
        with open(self.folder / GAPS, "a", encoding="utf-8") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        now.gaps += len(line.encode())
        return following

    def _make_folder(self) -> None:
        if not self.folder.is_dir():
            self.folder.mkdir(parents=True, exist_ok=True)
            _sync(self.folder.parent)


def _sync(folder: Path) -> None:
    """Makes the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _copy(state: DurableState) -> DurableState:
    return replace(state, streams=dict(state.streams))


def _number(path: Path) -> int:
    return int(path.name[:8])


def _ending(state: DurableState) -> str:
    return f".{MONREADER}" if state.kind == MONREADER else f"-{state.title}" if state.title else ""


def _truncate(path: Path, size: int) -> int:
    """Cuts a file to a size; the size it then has."""
    try:
        with open(path, "r+b") as file:
            there = file.seek(0, os.SEEK_END)
            if there > size:
                file.truncate(size)
                os.fsync(file.fileno())
            return min(there, size)
    except FileNotFoundError:
        return 0
