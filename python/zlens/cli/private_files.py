"""Permissions of the files that a command writes into a lake or a folder of received data."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from zlens.lake import file_names

#: Bits of umask: only this user may access a file, or also read it as a member of its group.
_PRIVATE, _SHARED = 0o077, 0o027


def option(what: str) -> str:
    """Return --shared as text for `add_arguments`; `what` names what the command writes."""
    return f"--shared    let members of the group read {what} (default: only you, or as an existing lake is)"


@contextmanager
def private_files(lake: str | None, *, shared: bool = False) -> Iterator[int]:
    """Create files that only this user can read, or those who can read the lake; yield the previous umask."""
    mask = _SHARED if shared else _PRIVATE if lake is None else _mask_of(lake)
    previous = os.umask(mask)
    try:
        yield previous
    finally:
        os.umask(previous)


def _mask_of(lake: str) -> int:
    """Return the umask that gives new files of a lake the permissions of its manifest."""
    try:
        mode = os.stat(os.path.join(lake, file_names.MANIFEST)).st_mode
    except OSError:
        return _PRIVATE
    # Who can read the files must be able to enter their folders.
    return _PRIVATE & ~(mode | (mode & 0o044) >> 2)
