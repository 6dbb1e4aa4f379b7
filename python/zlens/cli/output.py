"""Output of results: standard output, or a file that appears only when it is complete."""

from __future__ import annotations

import argparse
import glob
import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TextIO

from zlens.cli.streams import CleanStream
from zlens.errors import InputError
from zlens.lake.location import is_lake
from zlens.rendering.atomic_file import atomic_write, is_special_file

#: Options of a command that prints a report or an answer.
FORMAT = "--format {text,csv,json,html} [text]    output format (text)"
FILE = "-o --output FILE    write to FILE instead of standard output"
OPTIONS = f"{FORMAT}\n{FILE}"
#: Maximum length of a path.
_LONGEST_PATH = 4096
#: Forms for programs.
_EXACT = frozenset({"csv", "json", "html"})


def refuse_overwrite(arguments: argparse.Namespace) -> None:
    """Reject an output that would replace an input or a file of a lake. Raises InputError."""
    values = [vars(part) for part in getattr(arguments, "parts", [arguments])]
    for output in (part.get("output") for part in values):
        if output in (None, "-") or is_special_file(output):
            continue
        target = os.path.realpath(output)
        folder = _lake_of(target)
        if folder is not None:
            raise InputError(
                "the output is inside a lake, which contains only its own files",
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
    """Yield the values of options and arguments that are existing paths; expand patterns."""
    for value in values:
        if isinstance(value, list):
            yield from _paths(value)
        elif isinstance(value, str) and 0 < len(value) < _LONGEST_PATH and "\0" not in value:
            if os.path.exists(value):
                yield value
            elif glob.has_magic(value):
                yield from glob.iglob(value, recursive=True)


def _contains(path: str, target: str) -> bool:
    """Return whether a path is the target, or a folder that contains it."""
    if os.path.isdir(path):
        return target.startswith(os.path.join(os.path.realpath(path), ""))
    return os.path.samefile(path, target)


def write(text: str, path: str | None = None, form: str = "text") -> None:
    """Write a result to standard output or a file."""
    with open_output(path, form) as out:
        out.write(text)


def write_chunks(chunks: Iterator[str], path: str | None, form: str, before: Callable[[], None]) -> None:
    """Write a result as it is computed; `before` is called when its first chunk is."""
    # Errors of the query are raised before anything is written.
    first = next(chunks, "")
    before()
    with open_output(path, form) as out:
        out.write(first)
        out.writelines(chunks)


@contextmanager
def open_output(path: str | None, form: str = "text") -> Iterator[TextIO]:
    """Open standard output or the named file, in UTF-8.

    CSV, JSON and HTML contain texts exactly as recorded, except on a terminal; other forms are cleaned.
    """
    exact = form in _EXACT
    if path is None or path == "-":
        stdout = sys.stdout.raw if isinstance(sys.stdout, CleanStream) else sys.stdout
        if isinstance(stdout, io.TextIOWrapper):
            # Independent of the locale, because reports contain names from EBCDIC and units such as µs.
            stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
        yield stdout if exact and not stdout.isatty() else sys.stdout
        return
    with atomic_write(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        yield file if exact else CleanStream(file)  # type: ignore[misc]
