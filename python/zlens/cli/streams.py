"""Standard streams of a command: open, and without control characters that names of the input contain."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from zlens.errors import truncate
from zlens.schema.plain_text import replace_controls

#: Characters that lay out text: ends of lines, tabs, no-break spaces.
_LAYOUT = "\n\t\N{NO-BREAK SPACE}"


class CleanStream:
    """A text stream to a terminal or log; replaces control characters, except those that lay out text."""

    def __init__(self, raw: TextIO) -> None:
        self.raw = raw

    def write(self, text: str) -> int:
        self.raw.write("\n".join(replace_controls(line, keep=_LAYOUT) for line in text.split("\n")))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


@contextmanager
def clean_streams() -> Iterator[None]:
    """Clean what is written to standard output and standard error."""
    _open_streams()
    previous = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (
        stream if isinstance(stream, CleanStream) else CleanStream(stream) for stream in previous
    )
    try:
        yield
    finally:
        sys.stdout, sys.stderr = previous


def print_message(text: str) -> None:
    """Print a message on standard error, on one line: it quotes file names and contents."""
    # Standard error may be closed.
    with contextlib.suppress(OSError):
        print(f"zlens: {truncate(' '.join(text.split()))}", file=sys.stderr, flush=True)


def _open_streams() -> None:
    """Open standard streams that the caller has closed; otherwise output would go to the next opened file."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        handle = os.open(os.devnull, os.O_RDWR)
        if handle != number:
            os.dup2(handle, number)
            os.close(handle)
        # Reads return nothing, and writes are discarded.
        setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", encoding="utf-8"))
