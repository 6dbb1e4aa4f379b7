"""Opening of the files of an input: total progress, and problems instead of errors for single files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from zlens.errors import InputError
from zlens.inputs.problems import Problem
from zlens.inputs.source import Progress

#: For texts whose rows end with a value: the rest of the last value may be missing.
NO_END = (
    "the last line has no line end, so its last value may be truncated; not read "
    "(if the line is complete, add a line end to the file)"
)

#: Callback with the processed bytes and the size of the file.
Step = Callable[[int, int], None]


class SizedFile(Protocol):
    @property
    def size(self) -> int: ...


File = TypeVar("File", bound=SizedFile)


def total_size(paths: Sequence[str]) -> int:
    """Return the total bytes of all files that exist."""
    return sum(os.path.getsize(path) for path in paths if os.path.exists(path))


def open_all(
    paths: Sequence[str], source: str, opener: Callable[[str, Step | None], File], progress: Progress | None
) -> tuple[list[File], list[Problem]]:
    """Open every file, and return problems of the source for files that cannot be opened.

    Raises the first error if no file can be opened.
    """
    total, previous_bytes = total_size(paths), 0
    files: list[File] = []
    problems: list[Problem] = []
    errors: list[InputError] = []
    for path in paths:

        def step(done: int, _size: int, path: str = path, previous_bytes: int = previous_bytes) -> None:
            if progress is not None:
                progress(previous_bytes + done, total, path)

        try:
            file = opener(path, step if progress is not None else None)
        except InputError as error:
            errors.append(error)
            sentence = str(InputError(error.message, expected=error.expected, cure=error.cure))
            problems.append(Problem(None, source, path, error.offset, None, "header", sentence, None))
            continue
        files.append(file)
        previous_bytes += file.size
    if not files and errors:
        raise errors[0]
    return files, problems


def read_error(path: str, error: OSError) -> InputError:
    """Return the error of a file that the operating system does not allow to read."""
    return InputError(
        f"cannot be read: {error.strerror or error}", file=path, cure="check name and permissions"
    )
