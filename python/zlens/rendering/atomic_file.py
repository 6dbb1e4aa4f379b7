"""Atomic file writing: the file appears only when it is complete."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from zlens.errors import InputError


def is_special_file(path: str) -> bool:
    """Return whether a path exists and is a device or a pipe, not a regular file or folder."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


@contextmanager
def atomic_write(path: str) -> Iterator[str]:
    """Yield a temporary name next to `path`; renamed to it at the end, removed after an error."""
    if os.path.isdir(path):
        raise InputError("this is a folder", file=path, cure="name a file to write to")
    target = os.path.realpath(path) if os.path.islink(path) else os.path.abspath(path)
    if is_special_file(target):
        # Write directly to a device or pipe; replacing /dev/null by a file would destroy it.
        yield target
        return
    folder, name = os.path.split(target)
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{name[:64]}.", dir=folder)
    except OSError as error:
        # Name the user's path, not the temporary one.
        message = f"cannot be written: {error.strerror or error}"
        raise InputError(message, file=path, cure="name a file in an existing, writable folder") from None
    os.close(handle)
    try:
        yield temporary
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)  # mkstemp's mode is private
        # Replace the target of a link, not the link.
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
