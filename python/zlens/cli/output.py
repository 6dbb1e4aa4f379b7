"""Where a result goes: standard output, or a file that appears only when it is complete."""

from __future__ import annotations

import argparse
import glob
import io
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from zlens.errors import InputError
from zlens.lake.names import is_lake

#: Longer texts are not paths.
_LONGEST_PATH = 4096


def no_file(path: str) -> bool:
    """Whether a path exists and is a device or a pipe, not a regular file or folder."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def protect(arguments: argparse.Namespace) -> None:
    """Refuse an output that would replace an input or a file of a lake. Raises InputError."""
    values = [vars(part) for part in getattr(arguments, "parts", [arguments])]
    for output in (part.get("output") for part in values):
        if output in (None, "-") or no_file(output):
            continue
        target = os.path.realpath(output)
        folder = _lake_of(target)
        if folder is not None:
            raise InputError(
                "the output is inside a lake, whose files belong together",
                file=output,
                cure=f"write outside of {folder}",
            )
        for part in values:
            for name in _paths(value for key, value in part.items() if key != "output"):
                if os.path.exists(target) and _contains(name, target):
                    raise InputError(
                        "the output would replace an input", file=output, cure="write to another file"
                    )


def _lake_of(path: str) -> str | None:
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    while True:
        if is_lake(folder):
            return folder
        if folder == (parent := os.path.dirname(folder)):
            return None
        folder = parent


def _paths(values: Iterable[object]) -> Iterator[str]:
    """The values of options and arguments that name something in the file system; patterns are expanded."""
    for value in values:
        if isinstance(value, list):
            yield from _paths(value)
        elif isinstance(value, str) and 0 < len(value) < _LONGEST_PATH and "\0" not in value:
            if os.path.exists(value):
                yield value
            elif glob.has_magic(value):
                yield from glob.iglob(value, recursive=True)


def _contains(path: str, target: str) -> bool:
    """Whether a path is the target, or a folder with the target in it."""
    if os.path.isdir(path):
        return target.startswith(os.path.join(os.path.realpath(path), ""))
    return os.path.samefile(path, target)


@contextmanager
def whole_file(path: str) -> Iterator[str]:
    """A name beside `path` to write to; renamed to it at the end, removed if anything goes wrong."""
    if os.path.isdir(path):
        raise InputError("this is a folder", file=path, cure="name a file to write to")
    target = os.path.realpath(path) if os.path.islink(path) else os.path.abspath(path)
    if no_file(target):
        # Write to a device or pipe; replacing it by a file would destroy /dev/null.
        yield target
        return
    folder, name = os.path.split(target)
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{name[:64]}.", dir=folder)
    except OSError as error:
        # Name the user's path, not the temporary one.
        raise InputError(
            f"cannot be written: {error.strerror or error}",
            file=path,
            cure="name a file in an existing, writable folder",
        ) from None
    os.close(handle)
    try:
        yield temporary
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)  # mkstemp's own mode is for secrets
        # Replace the target of a link, not the link.
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


@contextmanager
def opened(path: str | None) -> Iterator[TextIO]:
    """Standard output or the named file, in UTF-8."""
    if path is None or path == "-":
        if isinstance(sys.stdout, io.TextIOWrapper):
            # Regardless of the locale: reports contain names from EBCDIC and units such as µs.
            sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
        yield sys.stdout
        return
    with whole_file(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        yield file
