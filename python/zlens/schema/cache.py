"""Small files in the user's cache directory, for results that are slow to compute and always the same.

A key is the digest of everything that an entry depends on, so no stale entry is ever found. Nothing depends
on the cache either: an entry that is missing, damaged or another user's is None, and is computed.
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

#: The largest entry, in bytes.
LARGEST = 8 << 20
#: Beyond this number of files of one kind, the oldest are removed: about 60 MB.
MOST_FILES = 10_000
#: The first file that a process writes checks the folder, and then every one after so many.
_LOOKED_AT = 500
_DIGEST = 32
#: Links are not followed, and a pipe blocks nobody. Windows has none of these.
_READ = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))


class Cache:
    """The entries of one kind; `form` is part of every key, and changes with the form of the entries."""

    def __init__(self, kind: str, form: str) -> None:
        self._kind = kind
        self._form = f"zlens {kind} {form}\n".encode()
        self._written = itertools.count()

    def read(self, depends: bytes) -> bytes | None:
        """The entry that depends on these bytes; None if this user wrote none."""
        key = self._key(depends)
        try:
            descriptor = os.open(self.folder() / key.hex(), _READ)
            with open(descriptor, "rb") as file:
                if not _is_private_file(os.fstat(descriptor)):
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
        # The environment is read every time: it costs nothing, and tests change it.
        return _root(os.environ.get("XDG_CACHE_HOME"), os.environ.get("HOME")) / self._kind

    def _key(self, depends: bytes) -> bytes:
        return blake2b(self._form + depends, digest_size=_DIGEST).digest()


@cache
def _root(*_: str | None) -> Path:
    import platformdirs

    return Path(platformdirs.user_cache_dir("zlens", appauthor=False))


def entry_digest(key: bytes, body: bytes) -> bytes:
    """The digest that precedes an entry."""
    return blake2b(key + body, digest_size=_DIGEST).digest()


def _is_private_file(status: os.stat_result) -> bool:
    """Whether a file is plain, owned by this user, and not writable for others."""
    if not stat.S_ISREG(status.st_mode):
        return False
    return os.name == "nt" or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)


def _make_room(folder: Path) -> None:
    files = [entry for entry in os.scandir(folder) if entry.is_file(follow_symlinks=False)]
    if len(files) > MOST_FILES:
        # Room for what is written until the next look: to remove many at once would keep a command waiting.
        oldest_first = sorted(files, key=lambda entry: entry.stat().st_mtime)
        for entry in oldest_first[: len(files) - MOST_FILES + min(_LOOKED_AT, MOST_FILES // 2)]:
            with suppress(OSError):
                os.unlink(entry)
