"""Files of the built web UI, from the folder `static`, each with an ETag of its content.

The index names the others below a digest of them all, so that browsers keep them until one changes.
"""

from __future__ import annotations

import hashlib
import mimetypes
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

FOLDER = Path(__file__).parent / "static"
INDEX = "index.html"
_KINDS = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
#: Caching of a file whose URL has the digest of its content, and of all others.
_LASTING, _REVALIDATED = "public, max-age=31536000, immutable", "no-cache"


class StaticFile(Struct, frozen=True):
    """A file with its media type, its ETag, and how long clients may keep it."""

    content: bytes
    kind: str
    tag: str
    caching: str


def exists(path: str) -> bool:
    """Return whether a URL path names a file."""
    return _name(path, _files()) is not None


def find(path: str) -> StaticFile | None:
    """Return the file for a URL path; None if it does not exist."""
    files = _files()
    name = _name(path, files)
    if name is None:
        return None
    changed = tuple(file.stat().st_mtime_ns for file in files.values())
    content, digest = files[name].read_bytes(), _digest(tuple(files.values()), changed)
    kind = _KINDS.get(files[name].suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    if kind == "text/html":
        kind += "; charset=utf-8"
    if name == INDEX:
        content = content.replace(b'"./', f'"./static/{digest}/'.encode())
    caching = _LASTING if path == f"/static/{digest}/{name}" else _REVALIDATED
    return StaticFile(content, kind, tag_of(content), caching)


def tag_of(content: bytes) -> str:
    """Return the ETag of a response."""
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def _files() -> dict[str, Path]:
    return {file.relative_to(FOLDER).as_posix(): file for file in FOLDER.rglob("*") if file.is_file()}


def _name(path: str, files: dict[str, Path]) -> str | None:
    """Return the name of a file, without the digest, which may be that of another release."""
    # Compare with existing names; never build a path from the request.
    below = path.removeprefix("/static/") if path.startswith("/static/") else ""
    names = (INDEX if path == "/" else path.removeprefix("/"), below, below.partition("/")[2])
    return next((name for name in names if name in files), None)


@lru_cache(maxsize=1)
def _digest(files: tuple[Path, ...], changed: tuple[int, ...]) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(files))).hexdigest()[:16]
