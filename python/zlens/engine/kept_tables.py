"""Tables computed from a lake that outlive their session: each is a file of the user's cache folder.

An entry of the cache describes the table. It depends on the contents of the lake, the options, the catalog
and the code, so no entry is ever out of date. Files may be deleted at any time; tables are computed again.
"""

from __future__ import annotations

import os
import secrets
import shutil
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from zlens.compiler.compile_cache import CompileCache
from zlens.engine.compressed_table import CompressedTable
from zlens.engine.connection import RELEASE, Connection, Error, FileError, attach, create_database, detach
from zlens.schema.cache import is_private_file

#: Maximum bytes of all files; the ones not used for longest are removed.
MOST_BYTES = 4 << 30
#: Bytes that remain free on the disk.
_LEAST_FREE = 2 << 30
#: Code that tables depend on, besides the catalog and the compiler.
_PACKAGES = ("engine", "inputs", "lake", "session")
_CODE = tuple(Path(__file__).parents[1] / name for name in _PACKAGES)
#: The table in a file.
_TABLE = "rows"


class _Entry(Struct, frozen=True):
    """A table: name and size of its file, and columns and values as those of CompressedTable."""

    file: str
    bytes: int
    columns: dict[str, str]
    values: dict[str, str]


class KeptTables:
    """The kept tables of one input; `identity` states its contents and the options.

    The key of a table is its name, or its query.
    """

    def __init__(self, identity: str) -> None:
        self._identity = identity
        self._entries = CompileCache("tables", RELEASE, *_CODE)
        self.folder = os.fspath(self._entries.folder / "files")
        self._databases: dict[str, str] = {}
        self._numbers = count()
        self._lock = threading.Lock()

    def columns(self, key: str) -> frozenset[str]:
        """Return the columns of a table that is kept."""
        entry = self._entry(key)
        return frozenset() if entry is None else frozenset(entry.columns)

    def find(self, cursor: Connection, key: str) -> CompressedTable | None:
        """Open a table; None if it is not kept, or its file was removed or replaced."""
        entry = self._entry(key)
        if entry is None:
            return None
        path = os.path.join(self.folder, entry.file)
        try:
            status = os.stat(path, follow_symlinks=False)
            if status.st_size != entry.bytes or not is_private_file(status):
                return None
            # The time of its last use.
            os.utime(path)
            database = self._open(cursor, path)
        except (OSError, Error):
            return None
        return CompressedTable(cursor, _in(database), database, entry.columns, entry.values)

    def write(
        self,
        cursor: Connection,
        key: str,
        size: int,
        write: Callable[[CompressedTable], None],
        *,
        short: bool = False,
    ) -> CompressedTable | None:
        """Write a table of about `size` bytes and open it; None if there is no room for it.

        A `short` one has few rows.
        """
        previous = self._entry(key)
        path = os.path.join(self.folder, f"{secrets.token_hex(16)}.duckdb")
        database = f"kept{next(self._numbers)}"
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            if size > MOST_BYTES or shutil.disk_usage(self.folder).free < size + _LEAST_FREE:
                return None
            create_database(cursor, f"{path}.part", database, short=short)
            table = CompressedTable(cursor, _in(database), database)
            try:
                write(table)
            finally:
                detach(cursor, database)
            _publish(f"{path}.part", path)
            entry = _Entry(os.path.basename(path), os.stat(path).st_size, table.columns, table.values)
            database = self._open(cursor, path)
        except (OSError, FileError):
            # Such as a full disk. An error in reading the input occurs again.
            return None
        finally:
            for name in (f"{path}.part", f"{path}.part.wal"):
                with suppress(OSError):
                    os.unlink(name)
        self._entries.write(msgspec.to_builtins(entry), self._identity, key)
        if previous is not None:
            with suppress(OSError):
                os.unlink(os.path.join(self.folder, previous.file))
        _make_room(self.folder)
        return CompressedTable(cursor, _in(database), database, table.columns, table.values)

    def _entry(self, key: str) -> _Entry | None:
        entry: Any = self._entries.read(self._identity, key)
        try:
            return None if entry is None else msgspec.convert(entry, _Entry)
        except msgspec.ValidationError:
            return None

    def _open(self, cursor: Connection, path: str) -> str:
        with self._lock:
            if path not in self._databases:
                database = f"kept{next(self._numbers)}"
                attach(cursor, path, database)
                self._databases[path] = database
            return self._databases[path]


def _in(database: str) -> str:
    return f"{database}.main.{_TABLE}"


def _publish(part: str, path: str) -> None:
    """Give a file its name once it is complete on the disk."""
    os.chmod(part, 0o600)
    descriptor = os.open(part, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(part, path)


def remove_all() -> None:
    """Remove the tables of all lakes: some have rows that were removed from one of them."""
    shutil.rmtree(CompileCache("tables", RELEASE).folder, ignore_errors=True)


def _make_room(folder: str) -> None:
    """Remove the files not used for longest; also those that a killed process was writing."""
    files = []
    with suppress(OSError):
        for entry in os.scandir(folder):
            with suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                files.append((status.st_mtime, status.st_size, entry.path))
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= MOST_BYTES:
            break
        with suppress(OSError):
            os.unlink(path)
        total -= size
