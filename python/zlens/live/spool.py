"""What a stream keeps on disk: bytes that are not closed yet, parts for the lake, and where it goes on.

state.json    the state, replaced in one step
tail-N        bytes behind cut N, the last one
base-N        the last records before them
raw           bytes of a stream in another form, before they are brought into that of the tail
part-N        bytes for the lake, up to the last cut
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

_BLOCK = 1024**2
_VERSION = 1


class SpoolState(Struct):
    """Where a stream is.

    reader     of the format; `wrapped`: its bytes come in another form
    position   of the source behind the last cut
    step       number of the last cut
    part       number of the current part; `bytes` of it count
    begun_us   time of the newest record when the part was begun
    kept       numbers of complete parts that are still there
    pending    those of them that must still be imported into the lake
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
    """The files of one stream in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
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
                cure="remove its folder: what it has not imported yet is lost",
            ) from None
        # What was appended after the state was written is read from the source again.
        if self.part.exists():
            os.truncate(self.part, self.state.bytes)
        kept = {self.part, *self.base_of(self.state.part), self.tail, self.raw}
        if self.state.step:
            kept.add(self.base)
        for number in self.state.kept:
            kept |= {self.part_of(number), *self.base_of(number)}
        self._clear({*kept, path})

    def _clear(self, kept: set[Path]) -> None:
        for path in self.folder.iterdir():
            if path not in kept:
                path.unlink()

    # -- files ---------------------------------------------------------------------------------------

    @property
    def tail(self) -> Path:
        """What came after the last cut."""
        return self.folder / f"tail-{self.state.step}"

    @property
    def raw(self) -> Path:
        return self.folder / "raw"

    @property
    def window(self) -> Path:
        return self.folder / "window"

    @property
    def base(self) -> Path:
        """The last records before the tail."""
        return self.folder / f"base-{self.state.step}"

    @property
    def part(self) -> Path:
        return self.part_of(self.state.part)

    def part_of(self, number: int) -> Path:
        return self.folder / f"part-{number:08d}"

    def base_of(self, number: int) -> list[Path]:
        """The file with the last records before a part, if there were any."""
        path = self.folder / f"part-{number:08d}.base"
        return [path] if path.exists() else []

    def parts(self) -> list[Path]:
        """Everything that is kept, to be read one behind the other."""
        numbers = [*self.state.kept, self.state.part]
        return [*self.base_of(numbers[0]), *(self.part_of(n) for n in numbers if self.part_of(n).exists())]

    # -- steps ---------------------------------------------------------------------------------------

    def append(self, data: bytes, *, raw: bool = False) -> int:
        """Add bytes to the tail, or to those in another form; returns their size."""
        with open(self.raw if raw else self.tail, "ab") as file:
            file.write(data)
            return file.tell()

    def convert_raw(self, unwrap: Callable[[str, str], int]) -> tuple[int, int]:
        """Bring bytes in another form into the tail: how many were taken, and the size of the tail then.

        unwrap   writes the first bytes of a file, which it may change, in the form of the tail into another
        """
        source, target = self.folder / "wrapped.new", self.folder / "unwrapped.new"
        shutil.copyfile(self.raw, source)
        taken = unwrap(os.fspath(source), os.fspath(target))
        size = self.tail.stat().st_size if self.tail.exists() else 0
        if taken:
            size = self.append(target.read_bytes())
            with open(self.raw, "rb") as raw, open(target, "wb") as rest:
                raw.seek(taken)
                shutil.copyfileobj(raw, rest, _BLOCK)
            os.replace(target, self.raw)
        source.unlink()
        return taken, size

    def insert(self, at: int, data: bytes) -> None:
        """Put bytes into the tail."""
        tail = self.tail.read_bytes()
        staged = self.folder / "tail.new"
        staged.write_bytes(tail[:at] + data + tail[at:])
        os.replace(staged, self.tail)

    def remove_bytes(self, begin: int, end: int) -> None:
        """Remove bytes from the tail."""
        staged = self.folder / "tail.new"
        with open(self.tail, "rb") as tail, open(staged, "wb") as new:
            _copy(tail, new, begin)
            tail.seek(end)
            shutil.copyfileobj(tail, new, _BLOCK)
        os.replace(staged, self.tail)

    def clear_tail(self) -> None:
        """Forget the tail, which the source gives again."""
        self.tail.unlink(missing_ok=True)
        self.raw.unlink(missing_ok=True)

    def open_window(self, end: int) -> tuple[Path, int]:
        """The last records, and behind them the tail up to `end`: the file, and where the tail begins."""
        begin = 0
        with open(self.window, "wb") as window:
            if self.state.step and self.base.exists():
                with open(self.base, "rb") as base:
                    shutil.copyfileobj(base, window, _BLOCK)
                begin = window.tell()
            with open(self.tail, "rb") as tail:
                _copy(tail, window, end)
        return self.window, begin

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

        last     writes the last records up to there into a file
        begins   writes what a part must begin with, from the last records, into a file
        """
        state = self.state
        before, old = self.base, self.tail
        after, new = (self.folder / f"{name}-{state.step + 1}" for name in ("base", "tail"))
        last(os.fspath(after))
        _sync(after)
        if not self.part.exists() or not state.bytes:
            self._begin(before if state.step else None, begins)
        with open(self.part, "r+b") as part:
            part.seek(state.bytes)
            with open(self.tail, "rb") as tail:
                _copy(tail, part, end)
                with open(new, "wb") as rest:
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
        old.unlink()
        before.unlink(missing_ok=True)

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
        """A part is in the lake."""
        self.state.pending = [part for part in self.state.pending if part != number]
        self._save()

    def forget(self, keep: int) -> None:
        """Remove complete parts but the last `keep`, and those that must still be imported."""
        state = self.state
        old = state.kept[: max(len(state.kept) - keep, 0)]
        gone = [number for number in old if number not in state.pending]
        if not gone:
            return
        state.kept = [number for number in state.kept if number not in gone]
        self._save()
        for number in gone:
            self.part_of(number).unlink(missing_ok=True)
            for base in self.base_of(number):
                base.unlink()

    def _save(self) -> None:
        path = self.folder / "state.json"
        staged = path.with_suffix(".new")
        with open(staged, "w", encoding="utf-8") as file:
            json.dump({"zlens_live": _VERSION, **asdict(self.state)}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(staged, path)
        _sync(self.folder)


def _copy(source: Any, target: Any, size: int) -> None:
    while size and (block := source.read(min(size, _BLOCK))):
        target.write(block)
        size -= len(block)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
