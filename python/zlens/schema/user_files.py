"""Small text files that a user provides with the data: groups, weights, throughput."""

from __future__ import annotations

import os
import select
import shlex
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import BinaryIO

from zlens.errors import InputError
from zlens.schema.wording import phrase

#: Maximum length of a handwritten file of names and numbers, in bytes.
HAND_WRITTEN = 1_000_000
#: Seconds to wait for data in a pipe.
_PIPE_S = 5

_SEALED: ContextVar[bool] = ContextVar("zlens_sealed", default=False)


@contextmanager
def forbid_file_names() -> Iterator[None]:
    """Forbid file names in queries that do not come from the user who started zlens."""
    token = _SEALED.set(True)
    try:
        yield
    finally:
        _SEALED.reset(token)


def checked_path(path: str) -> str:
    """Return a path named in a query; InputError if file names are forbidden."""
    if _SEALED.get():
        raise InputError("a query from the web UI may not name a file", cure=phrase("terminal"))
    return path


@contextmanager
def open_user_file(path: str) -> Iterator[BinaryIO]:
    """Open a file for reading; InputError for a pipe without a writer, which would block forever."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        if stat.S_ISFIFO(os.fstat(handle).st_mode):
            waiting = select.poll()
            waiting.register(handle, select.POLLIN)
            if not waiting.poll(_PIPE_S * 1000):
                message = f"this is a pipe to which no process wrote within {_PIPE_S} s"
                raise InputError(message, file=path, cure="name a file, or start what writes to it")
        if hasattr(os, "set_blocking"):
            os.set_blocking(handle, True)
        yield file


def read_content(path: str, longest: int, what: str, cure: str) -> bytes:
    """Return the bytes of a file; InputError if it cannot be read or is too long for such a file."""
    try:
        with open_user_file(checked_path(path)) as file:
            data = file.read(longest + 1)
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror or error}", file=path, cure="check the name"
        ) from None
    if len(data) > longest:
        message = f"is not a {what}: it is longer than {longest:,} bytes"
        raise InputError(message, file=path, expected=f"a {what}", cure=cure)
    return data


def read_text(path: str, longest: int, what: str, cure: str) -> str:
    """Return the text of a file; InputError if it cannot be read, is too long or is not text."""
    return decoded(read_content(path, longest, what, cure), path, cure)


def read_secret(path: str, longest: int, what: str, cure: str) -> bytes:
    """Return the bytes of a file as `read_content`; InputError if other users can read it."""
    check_secret(path)
    return read_content(path, longest, what, cure)


def check_secret(path: str) -> None:
    """Raise InputError if other users can read a file of this user."""
    try:
        status = os.stat(path)
    except OSError:
        # The caller reports that when it reads the file.
        return
    # Another user decides who reads theirs, such as a secret that a container provides.
    if stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid() and status.st_mode & 0o077:
        raise InputError(
            "other users can read this file, which is secret",
            file=path,
            expected="permissions of its owner only",
            cure=f"chmod 600 {shlex.quote(path)}",
        )


def decoded(data: bytes, path: str, cure: str, encoding: str = "utf-8") -> str:
    """Return the text of a file; InputError with the offset if it is not text."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError("is not text in UTF-8", file=path, offset=error.start, cure=cure) from None
