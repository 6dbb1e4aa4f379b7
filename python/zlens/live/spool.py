"""On-disk state of a feed: bytes that are not closed yet, parts for the lake, and the position to resume at.

state.json    the state, replaced atomically
tail-N        bytes after cut point N, the last one
base-N        the last records before the tail
raw           bytes in a wrapped format, before their conversion to the tail
part-N        bytes for the lake, up to the last cut point
part-N.base   the last records before a part
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict

from zlens.errors import LakeError
from zlens.live import durable_file

_BLOCK = 1024**2
_VERSION = 1


class SpoolState(Struct):
    """State of a stream.

    reader     reader of the format; `wrapped`: its bytes arrive in a wrapped format
    position   position of the feed after the last cut point
    step       number of the last cut point
    part       number of the current part, of which `bytes` bytes are valid
    begun_us   time of the newest record when the part was started
    kept       numbers of complete parts on disk
    pending    numbers of complete parts to be imported into the lake
    """

    reader: str = ""
    wrapped: bool = False
    position: dict[str, Any] = field(default_factory=dict)
    step: int = 0
    part: int = 0
    bytes: int = 0
    begun_us: int | None = None
    kept: list[int] = field(default_factory=list)
    pending: list[int] = field(default_factory=list)


class Spool:
    """The files of one stream, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.raw, self.window = folder / "raw", folder / "window"
        folder.mkdir(exist_ok=True)
        self.state = SpoolState()
        self._load()

    def _load(self) -> None:
        path = self.folder / "state.json"
        if not path.exists():
            self._clear(set())
            return
        try:
            values = json.loads(path.read_text("utf-8"))
            if values.pop("zlens_live") != _VERSION:
                raise ValueError
            self.state = SpoolState(**values)
        except (ValueError, TypeError, KeyError):
            raise LakeError(
                "this is not a state file of zlens live",
                file=str(path),
                cure="remove its folder; data that is not imported yet is lost",
            ) from None
        # Bytes appended after the state was written are read from the feed again.
        if self.part.exists():
            os.truncate(self.part, self.state.bytes)
        retained = {self.part, *self.base_of(self.state.part), self.tail, self.raw}
        if self.state.step:
            retained.add(self.base)
        for number in self.state.kept:
            retained |= {self.part_of(number), *self.base_of(number)}
        self._clear({*retained, path})

    def _clear(self, retained: set[Path]) -> None:
        for path in self.folder.iterdir():
            if path not in retained:
                path.unlink()

    # -- files ---------------------------------------------------------------------------------------

    @property
    def tail(self) -> Path:
        """File with the bytes after the last cut point."""
        return self.folder / f"tail-{self.state.step}"

    @property
    def base(self) -> Path:
        """File with the last records before the tail."""
        return self.folder / f"base-{self.state.step}"

    @property
    def part(self) -> Path:
        return self.part_of(self.state.part)

    def part_of(self, number: int) -> Path:
        return self.folder / f"part-{number:08d}"

    def base_of(self, number: int) -> list[Path]:
        """Return the file with the last records before a part, if it exists."""
        path = self.folder / f"part-{number:08d}.base"
        return [path] if path.exists() else []

    def parts(self) -> list[Path]:
        """Return all parts on disk in reading order, with the base of the first."""
        numbers = [*self.state.kept, self.state.part]
        return [*self.base_of(numbers[0]), *(self.part_of(n) for n in numbers if self.part_of(n).exists())]

    # -- steps ---------------------------------------------------------------------------------------

    def append(self, data: bytes, *, raw: bool = False) -> int:
        """Append bytes to the tail, or to the raw file; returns the new size of the file.

        Raises OSError; the file is then as before.
        """
        with open(self.raw if raw else self.tail, "ab", buffering=0) as file:
            size, rest = file.tell(), memoryview(data)
            try:
                while rest:
                    rest = rest[file.write(rest) :]
            except OSError:
                file.truncate(size)
                raise
            return file.tell()

    def convert_raw(self, unwrap: Callable[[str, str], int]) -> tuple[int, int]:
        """Convert raw bytes to the tail; returns the number of converted bytes and the size of the tail.

        unwrap   converts the first bytes of a file, which it may change, to the tail's format in another file
        """
        source, target = self.folder / "wrapped.new", self.folder / "unwrapped.new"
        shutil.copyfile(self.raw, source)
        converted = unwrap(os.fspath(source), os.fspath(target))
        size = self.tail.stat().st_size if self.tail.exists() else 0
        if converted:
            size = self.append(target.read_bytes())
            with open(self.raw, "rb") as raw, open(target, "wb") as rest:
                raw.seek(converted)
                shutil.copyfileobj(raw, rest, _BLOCK)
            os.replace(target, self.raw)
        source.unlink()
        return converted, size

    def insert(self, offset: int, data: bytes) -> None:
        """Insert bytes into the tail."""
        tail = self.tail.read_bytes()
        staged = self.folder / "tail.new"
        staged.write_bytes(tail[:offset] + data + tail[offset:])
        os.replace(staged, self.tail)

    def remove_bytes(self, start_offset: int, end_offset: int) -> None:
        """Remove bytes from the tail."""
        staged = self.folder / "tail.new"
        with open(self.tail, "rb") as tail, open(staged, "wb") as new:
            _copy(tail, new, start_offset)
            tail.seek(end_offset)
            shutil.copyfileobj(tail, new, _BLOCK)
        os.replace(staged, self.tail)

    def clear_tail(self) -> None:
        """Remove the tail, which the feed reads again."""
        self.tail.unlink(missing_ok=True)
        self.raw.unlink(missing_ok=True)

    def open_window(self, end: int) -> tuple[Path, int]:
        """Write the base and the tail up to `end` to a file; returns it and the offset of the tail."""
        tail_offset = 0
        with open(self.window, "wb") as window:
            if self.state.step and self.base.exists():
                with open(self.base, "rb") as base:
                    shutil.copyfileobj(base, window, _BLOCK)
                tail_offset = window.tell()
            with open(self.tail, "rb") as tail:
                _copy(tail, window, end)
        return self.window, tail_offset

    def cut(
        self,
        end: int,
        position: dict[str, Any],
        now_us: int,
        last: Callable[[str], None],
        *,
        begins: Callable[[str, str], None],
    ) -> None:
        """Move the tail up to `end` to the part.

        last     writes the last records up to `end` to a file
        begins   writes the header of a part to a file, from the file with the last records
        """
        state = self.state
        old_base, old_tail = self.base, self.tail
        new_base, new_tail = (self.folder / f"{name}-{state.step + 1}" for name in ("base", "tail"))
        last(os.fspath(new_base))
        durable_file.flush(new_base)
        if not self.part.exists() or not state.bytes:
            self._begin(old_base if state.step else None, begins)
        with open(self.part, "r+b") as part:
            part.seek(state.bytes)
            with open(self.tail, "rb") as tail:
                _copy(tail, part, end)
                with open(new_tail, "wb") as rest:
                    shutil.copyfileobj(tail, rest, _BLOCK)
                    rest.flush()
                    os.fsync(rest.fileno())
            part.flush()
            os.fsync(part.fileno())
            state.bytes = part.tell()
        if state.begun_us is None:
            state.begun_us = now_us
        state.step += 1
        state.position = position
        self._save()
        old_tail.unlink()
        old_base.unlink(missing_ok=True)

    def _begin(self, base: Path | None, begins: Callable[[str, str], None]) -> None:
        """Create the file of a new part, which must be readable on its own."""
        self.part.unlink(missing_ok=True)
        if base is None or not base.exists():
            self.part.touch()
        else:
            shutil.copyfile(base, self.folder / f"{self.part.name}.base")
            begins(os.fspath(base), os.fspath(self.part))
        self.state.bytes = self.part.stat().st_size

    def rotate_part(self, *, pending: bool) -> None:
        """End the current part; if `pending`, it must be imported into the lake."""
        state = self.state
        state.kept = [*state.kept, state.part]
        if pending:
            state.pending = [*state.pending, state.part]
        state.part, state.bytes, state.begun_us = state.part + 1, 0, None
        self._save()

    def mark_imported(self, number: int) -> None:
        """Record that a part is in the lake."""
        self.state.pending = [part for part in self.state.pending if part != number]
        self._save()

    def forget(self, keep: int) -> None:
        """Remove complete parts, except the last `keep` and pending ones."""
        state = self.state
        old = state.kept[: max(len(state.kept) - keep, 0)]
        removed = [number for number in old if number not in state.pending]
        if not removed:
            return
        state.kept = [number for number in state.kept if number not in removed]
        self._save()
        for number in removed:
            self.part_of(number).unlink(missing_ok=True)
            for base in self.base_of(number):
                base.unlink()

    def _save(self) -> None:
        document = {"zlens_live": _VERSION, **asdict(self.state)}
        durable_file.replace_document(self.folder / "state.json", document)


def _copy(source: Any, target: Any, size: int) -> None:
    while size and (block := source.read(min(size, _BLOCK))):
        target.write(block)
        size -= len(block)
