"""Files of the built web UI, from the folder `static`, each with an ETag of its content."""

from __future__ import annotations

import hashlib
import mimetypes
from pathlib import Path

from msgspec import Struct

FOLDER = Path(__file__).parent / "static"
INDEX = "index.html"
_KINDS = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}


class StaticFile(Struct, frozen=True):
    content: bytes
    kind: str
    tag: str


def exists(path: str) -> bool:
    """Return whether a URL path names a file."""
    return _file(path) is not None


def _file(path: str) -> Path | None:
    # Compare with existing names; never build a path from the request.
    files = {file.relative_to(FOLDER).as_posix(): file for file in FOLDER.rglob("*") if file.is_file()}
    return files.get(INDEX if path == "/" else path.removeprefix("/").removeprefix("static/"))


def find(path: str) -> StaticFile | None:
    """Return the file for a URL path; None if it does not exist."""
    file = _file(path)
    if file is None:
        return None
    content = file.read_bytes()
    kind = _KINDS.get(file.suffix) or mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    if kind == "text/html":
        kind += "; charset=utf-8"
    return StaticFile(content, kind, f'"{hashlib.sha256(content).hexdigest()[:32]}"')
