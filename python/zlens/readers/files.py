"""Opening the files of an input in turn: progress over all, and one bad file does not stop the rest."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from zlens.errors import InputError
from zlens.inputs.problems import Problem
from zlens.inputs.source import Progress

#: Of a text whose rows end with a value: what follows the cut is unknown.
NO_END = (
    "the last line has no end, so its last value may be cut; not read "
    "(if nothing is missing, add a line end to the file)"
)

#: Takes the bytes that are done and those of the file.
Step = Callable[[int, int], None]


class SizedFile(Protocol):
    @property
    def size(self) -> int: ...


File = TypeVar("File", bound=SizedFile)


def total_size(paths: Sequence[str]) -> int:
    """Bytes of all files that exist."""
    return sum(os.path.getsize(path) for path in paths if os.path.exists(path))


def open_all(
    paths: Sequence[str], source: str, opener: Callable[[str, Step | None], File], progress: Progress | None
) -> tuple[list[File], list[Problem]]:
    """Open every file, and list those that cannot be opened as problems of the source.

    Raises the first error if no file can be opened.
    """
    total, before = total_size(paths), 0
    files: list[File] = []
    problems: list[Problem] = []
    errors: list[InputError] = []
    for path in paths:

        def step(done: int, _size: int, path: str = path, before: int = before) -> None:
            if progress is not None:
                progress(before + done, total, path)

        try:
            file = opener(path, step if progress is not None else None)
        except InputError as error:
            errors.append(error)
            sentence = str(InputError(error.message, expected=error.expected, cure=error.cure))
            problems.append(Problem(None, source, path, error.offset, None, "header", sentence, None))
            continue
        files.append(file)
        before += file.size
    if not files and errors:
        raise errors[0]
    return files, problems


def read_error(path: str, error: OSError) -> InputError:
    """The error of a file that the system does not let us read."""
    return InputError(
        f"cannot be read: {error.strerror or error}", file=path, cure="check name and permissions"
    )
