"""Cache files in the user's cache directory, for deterministic results that are slow to compute.

A key is the digest of everything that an entry depends on, so no stale entry is ever found. An entry that is
missing, damaged or owned by another user is None and is computed again.
"""

from __future__ import annotations

import itertools
import os
import stat
import threading
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path

#: Maximum size of an entry, in bytes.
LARGEST = 8 << 20
#: Maximum number of files of one kind, about 60 MB; the oldest are removed.
MOST_FILES = 10_000
#: A process checks the folder when it writes its first file, and again after this many.
_LOOKED_AT = 500
_DIGEST = 32
#: Do not follow links or block on a pipe. Windows has none of these flags.
_READ = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))


class Cache:
    """The entries of one kind; `form` is part of every key and changes with the format of the entries."""

    def __init__(self, kind: str, form: str) -> None:
        self._kind = kind
        self._form = f"zlens {kind} {form}\n".encode()
        self._written = itertools.count()

    def read(self, depends: bytes) -> bytes | None:
        """Return the entry that depends on these bytes; None if this user has not written one."""
        key = self._key(depends)
        try:
            descriptor = os.open(self.folder() / key.hex(), _READ)
            with open(descriptor, "rb") as file:
                if not is_private_file(os.fstat(descriptor)):
                    return None
                content = file.read(LARGEST + _DIGEST)
        except OSError:
            return None
        body = content[_DIGEST:]
        return body if content[:_DIGEST] == entry_digest(key, body) else None

    def write(self, depends: bytes, body: bytes) -> None:
        """Store an entry, if possible."""
        if len(body) > LARGEST:
            return
        key = self._key(depends)
        folder = self.folder()
        temporary = folder / f".{key.hex()[:16]}.{os.getpid()}.{threading.get_ident()}"
        with suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if next(self._written) % _LOOKED_AT == 0:
                _make_room(folder)
            try:
                with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    file.write(entry_digest(key, body) + body)
                os.replace(temporary, folder / key.hex())
            except OSError:
                temporary.unlink(missing_ok=True)

    def folder(self) -> Path:
        # Read the environment every time: it is cheap, and tests change it.
        return _root(os.environ.get("XDG_CACHE_HOME"), os.environ.get("HOME")) / self._kind

    def _key(self, depends: bytes) -> bytes:
        return blake2b(self._form + depends, digest_size=_DIGEST).digest()


@cache
def _root(*_: str | None) -> Path:
    import platformdirs

    return Path(platformdirs.user_cache_dir("zlens", appauthor=False))


def entry_digest(key: bytes, body: bytes) -> bytes:
    """Return the digest that precedes an entry."""
    return blake2b(key + body, digest_size=_DIGEST).digest()


def is_private_file(status: os.stat_result) -> bool:
    """Return whether a file is regular, owned by this user and not writable by others."""
    if not stat.S_ISREG(status.st_mode):
        return False
    return os.name == "nt" or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)


def _make_room(folder: Path) -> None:
    files = [entry for entry in os.scandir(folder) if entry.is_file(follow_symlinks=False)]
    if len(files) > MOST_FILES:
        # Remove enough for the files written until the next check; removing many at once would delay a
        # command.
        oldest_first = sorted(files, key=lambda entry: entry.stat().st_mtime)
        for entry in oldest_first[: len(files) - MOST_FILES + min(_LOOKED_AT, MOST_FILES // 2)]:
            with suppress(OSError):
                os.unlink(entry)
