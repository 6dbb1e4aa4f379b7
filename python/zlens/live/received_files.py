"""Received files of one source: a folder of files, and a state that says how much of them is durable.

A record is durable once the state includes it. The state is replaced after the files are flushed. If the
program is killed, files are truncated to the state, and the forwarder sends the rest again.
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
from typing import Annotated, Any, BinaryIO

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import asdict, replace

from zlens.errors import ReceiverError
from zlens.live import durable_file
from zlens.live.protocol import END_OF_SET, Frame, FrameKind

STATE = "state.json"
GAPS = "gaps.jsonl"
#: Maximum number of consecutive spools of one folder; each numbers its own records.
_STREAMS = 16
#: Kind of the device. Only its sets are known, so its files may end after any set.
MONREADER = "monreader"

#: Sequence numbers are below this; a forwarder's spool never gets there.
_MOST_SEQUENCE = 2**63
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_STREAM = re.compile(r"[0-9a-f]{32}")
_FILE = re.compile(r"(\d{8})-\d{8}T\d{6}Z")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


def is_source_name(name: str) -> bool:
    """Return whether a name is valid for a source and its folder."""
    return _NAME.fullmatch(name) is not None


class DurableState(Struct, forbid_unknown_fields=True):
    """Durable state of a source."""

    #: monreader, file or stdin.
    kind: str = ""
    #: Next sequence number of each stream, the latest stream last.
    streams: dict[str, Annotated[int, Meta(ge=0, le=_MOST_SEQUENCE - 1)]] = field(default_factory=dict)
    #: Name, number and size of the growing file; without a name, the next record starts one.
    file: str = ""
    number: int = 0
    size: int = 0
    #: The forwarder's name of the file.
    title: str = ""
    #: Whether the last record ended a set.
    whole: bool = True
    #: Bytes of the file of gaps.
    gaps: int = 0
    #: Whether the source ended.
    ended: bool = False


class ReadPosition(Struct, frozen=True):
    """Position of a reader in the files of a source: file name and next offset."""

    file: str = ""
    offset: int = 0


class RetentionPolicy(Struct, frozen=True):
    """Retention of files that were read: maximum age in seconds and maximum size in bytes."""

    age_s: float | None = None
    bytes: int | None = None


class ReceivedFiles:
    """The folder of a source. One connection writes at a time, under `lock`; readers need no lock."""

    def __init__(self, folder: Path, *, rotate_bytes: int, rotate_s: float) -> None:
        """Open or create the folder, and truncate data that is not durable.

        Raises OSError, and ReceiverError if the state cannot be read.
        """
        self.folder = folder
        self.name = folder.name
        self.lock = threading.Lock()
        self._rotate_bytes = rotate_bytes
        self._rotate_s = rotate_s
        self._file: BinaryIO | None = None
        self._started = 0.0
        #: Whether files may contain data that is not durable.
        self._stale = True
        self._make_folder()
        self.durable = self._load()
        self._now = self.durable
        self.roll_back()

    @property
    def files(self) -> list[Path]:
        """Files in order of time; of the last one, `durable.size` bytes are durable."""
        paths = sorted(path for path in self.folder.iterdir() if _FILE.match(path.name))
        return [path for path in paths if _number(path) <= self.durable.number]

    def read(self, position: ReadPosition, most: int) -> tuple[bytes, ReadPosition]:
        """Return durable data after a position, at most `most` bytes of one file, and the position after it.

        Empty if there is no new data. A position in a removed file counts as its end.
        """
        durable = self.durable
        for path in self.files:
            if path.name < position.file or _number(path) > durable.number:
                continue
            offset = position.offset if path.name == position.file else 0
            with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
                size = durable.size if path.name == durable.file else os.fstat(file.fileno()).st_size
                if size > offset:
                    file.seek(offset)
                    data = file.read(min(size - offset, most))
                    return data, ReadPosition(path.name, offset + len(data))
        return b"", position

    def forget(self, before: ReadPosition, keep: RetentionPolicy) -> list[Path]:
        """Remove files before the file of a position, oldest first, that exceed the retention policy.

        The growing file and the file of the position always stay. Returns the removed files. If a file cannot
        be removed, it and later files are left to the next call.
        """
        if keep.age_s is None and keep.bytes is None:
            return []
        sizes: dict[Path, os.stat_result] = {}
        for path in self.files:
            with contextlib.suppress(FileNotFoundError):
                sizes[path] = path.stat()
        remaining_bytes = sum(status.st_size for status in sizes.values())
        removed = []
        for path, status in sizes.items():
            if path.name >= before.file or path.name == self.durable.file:
                break
            is_expired = keep.age_s is not None and time.time() - status.st_mtime > keep.age_s
            if not is_expired and (keep.bytes is None or remaining_bytes <= keep.bytes):
                break
            try:
                path.unlink()
            except OSError:
                break
            remaining_bytes -= status.st_size
            removed.append(path)
        return removed

    def gaps(self) -> Iterator[Mapping[str, Any]]:
        """Yield gaps as reported by the forwarder, with the file and its size at the gap."""
        with contextlib.suppress(FileNotFoundError), open(self.folder / GAPS, "rb") as file:
            yield from map(json.loads, file.read(self.durable.gaps).splitlines())

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
            # Data of another spool does not continue a file.
            self._end_file()
        following = now.streams.pop(stream, 0)
        now.streams[stream] = following
        for old in list(now.streams)[:-_STREAMS]:
            del now.streams[old]
        now.kind, now.ended = kind, False
        return following

    def apply_record(self, frame: Frame) -> None:
        """Apply the next record, which is durable after `commit`.

        Raises OSError, and ReceiverError if it is not the next record.
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
            is_old = time.monotonic() - self._started >= self._rotate_s
            is_full = is_old or now.size >= self._rotate_bytes
            if now.whole and now.kind == MONREADER and is_full:
                self._end_file()
        else:
            following = self._gap(frame, following)
        now.streams[stream] = following

    def end(self) -> None:
        """Mark the source as ended and end its file."""
        self._end_file()
        self._now.ended = True

    def commit(self) -> None:
        """Make the applied records durable.

        Raises OSError; then `roll_back` restores the previous durable state.
        """
        if self._now == self.durable:
            return
        self._flush()
        durable_file.replace_document(self.folder / STATE, asdict(self._now))
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
            # The file was removed or truncated; new data go into another file.
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
            return msgspec.json.decode(path.read_bytes(), type=DurableState)
        except FileNotFoundError:
            numbers = [_number(path) for path in self.folder.iterdir() if _FILE.match(path.name)]
            gaps = self.folder / GAPS
            return DurableState(
                number=max(numbers, default=0), gaps=gaps.stat().st_size if gaps.exists() else 0
            )
        except msgspec.MsgspecError:
            raise ReceiverError(
                "the state of a received source cannot be read",
                file=str(path),
                cure="remove it: the forwarder then sends what it still has, in a new file",
            ) from None

    def _write(self, data: bytes) -> None:
        now = self._now
        if self._file is None:
            if not now.file:
                started = datetime.fromtimestamp(time.time(), UTC)
                now.number += 1
                now.file = f"{now.number:08d}-{started:%Y%m%dT%H%M%SZ}{_ending(now)}"
                now.size = 0
            self._file = open(self.folder / now.file, "ab")  # noqa: SIM115
            self._started = time.monotonic()
        with durable_file.writing(self.folder / now.file):
            self._file.write(data)
        now.size += len(data)

    def _flush(self) -> None:
        if self._file is not None:
            with durable_file.writing(self.folder / self._now.file):
                self._file.flush()
                os.fsync(self._file.fileno())

    def _end_file(self) -> None:
        self._flush()
        self.close()
        self._now.file, self._now.size = "", 0

    def _gap(self, frame: Frame, following: int) -> int:
        """Record a gap; returns the sequence number after it."""
        now, fields = self._now, frame.fields
        if "next" in fields:
            # Records that the forwarder dropped.
            following = _end_of_gap(fields["next"], following)
            if now.kind != MONREADER or not now.whole:
                self._end_file()
        line = json.dumps({**fields, "sequence": frame.sequence, "file": now.file, "size": now.size}) + "\n"
        path = self.folder / GAPS
        with durable_file.writing(path), open(path, "a", encoding="utf-8") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        now.gaps += len(line.encode())
        return following

    def _make_folder(self) -> None:
        if not self.folder.is_dir():
            # Not the folders above: of a lake that was removed or moved, nothing is created again.
            self.folder.parent.mkdir(exist_ok=True)
            self.folder.mkdir(exist_ok=True)
            durable_file.flush(self.folder.parent)


def _end_of_gap(text: str, following: int) -> int:
    """Return the sequence number after a gap, which is not before `following`.

    Raises ReceiverError otherwise. A number that no spool reaches would end the stream for ever.
    """
    if text.isascii() and text.isdecimal() and len(text) < 20 and following <= int(text) < _MOST_SEQUENCE:
        return int(text)
    raise ReceiverError("a gap does not say where it ends", expected="a later sequence number")


def _copy(state: DurableState) -> DurableState:
    return replace(state, streams=dict(state.streams))


def _number(path: Path) -> int:
    return int(path.name[:8])


def _ending(state: DurableState) -> str:
    return f".{MONREADER}" if state.kind == MONREADER else f"-{state.title}" if state.title else ""


def _truncate(path: Path, size: int) -> int:
    """Truncate a file to at most `size` bytes; returns its new size."""
    try:
        with durable_file.writing(path), open(path, "r+b") as file:
            current_size = file.seek(0, os.SEEK_END)
            if current_size > size:
                file.truncate(size)
                os.fsync(file.fileno())
            return min(current_size, size)
    except FileNotFoundError:
        return 0
