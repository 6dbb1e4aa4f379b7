"""Files of an input: total progress, problems instead of errors for single files, problems while reading."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from zlens._native import MonwriteFile, SmfFile
from zlens.errors import InputError
from zlens.inputs.problems import Problem
from zlens.inputs.source import CounterlessSource, Progress, RawTable, SystemInfo

#: For texts whose rows end with a value: the rest of the last value may be missing.
NO_END = (
    "the last line has no line end, so its last value may be truncated; not read "
    "(if the line is complete, add a line end to the file)"
)

LOCAL_TIMES = "times are local and the time zone is unknown; set it (option tz) to join with other data"

#: Callback with the processed bytes and the size of the file.
Step = Callable[[int, int], None]


#: Notes of one kind listed for a file.
MAX_NOTES = 50


class NotedFile(Struct):
    """A file with the problems noted while it is read."""

    path: str
    size: int = 0
    tally: Tally[str] = field(default_factory=Tally)
    notes: list[tuple[str, str, int | None]] = field(default_factory=list)

    def note(self, kind: str, detail: str, offset: int | None) -> None:
        self.tally[kind] += 1
        if self.tally[kind] <= MAX_NOTES:
            self.notes.append((kind, detail, offset))

    def problems(
        self, system: str | None, source: str, record: str | None, unknown: frozenset[str]
    ) -> Iterator[Problem]:
        """Yield the problems. unknown: kinds that lose an unknown number of bytes; the others lose none."""
        for kind, detail, offset in self.notes:
            lost = None if kind in unknown else 0
            yield Problem(system, source, self.path, offset, record, kind, detail, lost)
        for kind, count in self.tally.items():
            if count > MAX_NOTES:
                detail = f"{count - MAX_NOTES:,} more like these"
                yield Problem(system, source, self.path, None, record, kind, detail, None)


class TextSource(CounterlessSource, ABC):
    """Defaults of a Source of texts, which are read when it is opened."""

    name: str
    #: Problems of a file that `note` stores.
    max_notes = MAX_NOTES

    def __init__(self) -> None:
        self.systems: list[SystemInfo] = []
        self.tables: dict[str, list[RawTable]] = {}
        self._problems: list[Problem] = []
        self._noted: Tally[str] = Tally()

    def read_files(self, paths: list[str], progress: Progress | None) -> Self:
        """Read all files. Raises InputError if none of them has data of a system."""
        error = read_each(paths, self.read, self.refuse, progress)
        self.finish()
        if not self.systems:
            raise error or self.no_data(paths[0])
        return self

    @abstractmethod
    def read(self, path: str, step: Callable[[int], None]) -> None:
        """Read a file, with problems for what is not read. Raises OSError or InputError."""

    def refuse(self, path: str, error: InputError) -> None:
        """Report a file that cannot be read."""
        self.note(path, None, "changed", error.message)

    def note(self, path: str, offset: int | None, kind: str, detail: str, lost: int | None = None) -> None:
        """Add a problem unless the file has too many."""
        self._noted[path] += 1
        if self._noted[path] <= self.max_notes:
            self.add_problem(path, offset, kind, detail, lost)

    def add_problem(
        self, path: str, offset: int | None, kind: str, detail: str, lost: int | None = None
    ) -> None:
        self._problems.append(Problem(None, self.name, path, offset, None, kind, detail, lost))

    @abstractmethod
    def finish(self) -> None:
        """Build tables and systems after the last file."""

    @abstractmethod
    def no_data(self, path: str) -> InputError:
        """Return the error of files without data, of which this is the first."""


File = TypeVar("File", MonwriteFile, SmfFile)


def index_problems(file: MonwriteFile | SmfFile, system: str | None, source: str) -> Iterator[Problem]:
    """Yield the problems of the records of a file, and whether it changed after it was read."""
    for kind, offset, lost, record, detail in file.problems():
        yield Problem(system, source, file.path, offset, record, kind, detail, lost)
    if changed := file.changed():
        yield Problem(system, source, file.path, None, None, "changed", changed, None)


def decoding_problems(
    problems: Iterable[tuple[str | None, str, int | None, int | None, str | None, str, str]], source: str
) -> Iterator[Problem]:
    """Yield the problems of a native decoder."""
    for system, file, offset, lost, record, kind, detail in problems:
        yield Problem(system, source, file, offset, record, kind, detail, lost)


def unknown_system(path: str) -> str:
    """Return the name of a system that neither its data nor the user names."""
    return f"unknown-{Path(path).stem}"


def compare_repeat(is_same: bool) -> tuple[str, str]:
    """Return the kind of problem of data that were read before, and what its message adds."""
    return ("duplicate", "") if is_same else ("conflict", " with other values")


def total_size(paths: Sequence[str]) -> int:
    """Return the total bytes of all files that exist."""
    return sum(os.path.getsize(path) for path in paths if os.path.exists(path))


def open_all(
    paths: Sequence[str], source: str, opener: Callable[[str, Step | None], File], progress: Progress | None
) -> tuple[list[File], list[Problem]]:
    """Open every file, and return problems of the source for files that cannot be opened.

    Raises the first error if no file can be opened.
    """
    files: list[File] = []
    problems: list[Problem] = []

    def read(path: str, step: Callable[[int], None]) -> None:
        files.append(opener(path, None if progress is None else lambda done, size: step(done)))

    def refuse(path: str, error: InputError) -> None:
        problems.append(replace(file_problem(error, source, "header"), file=path))

    error = read_each(paths, read, refuse, progress)
    if not files and error is not None:
        raise error
    return files, problems


def file_problem(error: InputError, source: str, kind: str) -> Problem:
    """Return the problem of a file; its sentence has no file and offset, which are columns of the table."""
    sentence = str(InputError(error.message, expected=error.expected, cure=error.cure))
    return Problem(None, source, error.file or "", error.offset, None, kind, sentence, None)


def read_each(
    paths: Sequence[str],
    read: Callable[[str, Callable[[int], None]], None],
    refuse: Callable[[str, InputError], None],
    progress: Progress | None,
) -> InputError | None:
    """Read every file; return the first error of those that cannot be read, which `refuse` receives.

    `read` gets a path, and a function to call with the number of bytes read.
    """
    total, previous_bytes = total_size(paths), 0
    first_error: InputError | None = None
    for path in paths:

        def step(done: int, path: str = path, previous_bytes: int = previous_bytes) -> None:
            if progress is not None:
                progress(previous_bytes + done, total, path)

        try:
            read(path, step)
        except (InputError, OSError) as failure:
            error = read_error(path, failure) if isinstance(failure, OSError) else failure
            first_error = first_error or error
            refuse(path, error)
        size = total_size([path])
        step(size)
        previous_bytes += size
    return first_error


def read_error(path: str, error: OSError, cure: str = "check name and permissions") -> InputError:
    """Return the error of a file that the operating system does not allow to read."""
    return InputError(f"cannot be read: {error.strerror or error}", file=path, cure=cure)
