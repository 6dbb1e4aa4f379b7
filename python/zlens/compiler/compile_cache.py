"""Results of earlier compilations, in the user's cache folder.

An entry depends on the files of the catalog (as bytecode does, by their names, sizes and modification
times), on the user's own roles, on the DuckDB release, and on the key of the caller.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from zlens import catalog
from zlens.catalog import user_roles
from zlens.schema.cache import Cache
from zlens.schema.facts import FACTS

#: Files that entries depend on: facts, and the code that compiles them into statements.
ROOTS = (FACTS, Path(catalog.__file__).parent, Path(__file__).parent)
_ENDINGS = (".py", ".toml", ".sql")


class CompileCache:
    """Entries of one kind, as JSON.

    release  the DuckDB release
    code     folders of more code that the entries depend on
    """

    def __init__(self, kind: str, release: str, *code: Path) -> None:
        self._cache = Cache(kind, "1")
        self._release = release
        self._roots = (*ROOTS, *code)

    @property
    def folder(self) -> Path:
        return self._cache.folder()

    def read(self, *depends: Any) -> Any:
        """Return the entry for this key; None if there is none."""
        body = self._cache.read(self._depends(depends))
        try:
            return msgspec.json.decode(body) if body is not None else None
        except (ValueError, RecursionError):
            return None

    def write(self, entry: Any, *depends: Any) -> None:
        body = json.dumps(entry, ensure_ascii=False, separators=(",", ":"))
        self._cache.write(self._depends(depends), body.encode("utf-8", "surrogatepass"))

    def _depends(self, depends: tuple[Any, ...]) -> bytes:
        key = [*(catalog_digest(str(root)) for root in self._roots), _user_stamp(), self._release, *depends]
        return json.dumps(key).encode()


def digest(facts: Any) -> str:
    """Return a short digest of facts in JSON types."""
    return blake2b(json.dumps(facts).encode(), digest_size=16).hexdigest()


@cache
def catalog_digest(root: str) -> str:
    """Return a digest of the names, sizes and modification times of the catalog's files."""
    return digest(sorted(_files(root)))


def _files(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _files(entry.path)
            elif entry.name.endswith(_ENDINGS):
                status = entry.stat()
                yield f"{entry.path} {status.st_size} {status.st_mtime_ns}\n"


def _user_stamp() -> list[str | int]:
    """Return name, size and modification time of the file in which the user binds roles."""
    path = user_roles.path()
    try:
        status = path.stat()
    except OSError:
        return []
    return [str(path), status.st_size, status.st_mtime_ns]
