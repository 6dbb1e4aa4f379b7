"""Files of the built web UI, from the folder `static`, each with an ETag of its content.

The index names the others below a digest of them all, so that browsers keep them until one changes.
"""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

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
    caching: str = _REVALIDATED


def exists(path: str) -> bool:
    """Return whether a URL path names a file."""
    return _name(path, read(FOLDER)[1]) is not None


def find(path: str) -> StaticFile | None:
    """Return the file for a URL path; None if it does not exist."""
    digest, files = read(FOLDER)
    name = _name(path, files)
    if name is None:
        return None
    lasting = path == f"/static/{digest}/{name}"
    return replace(files[name], caching=_LASTING) if lasting else files[name]


def tag_of(content: bytes) -> str:
    """Return the ETag of a response."""
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


@cache
def read(folder: Path) -> tuple[str, Mapping[str, StaticFile]]:
    """Return the digest of the files of a folder, and the files by name, read once.

    While other threads compute, each access to a file may wait for the lock of the interpreter.
    """
    contents = {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }
    digest = hashlib.sha256(b"".join(contents.values())).hexdigest()[:16]
    if INDEX in contents:
        contents[INDEX] = contents[INDEX].replace(b'"./', f'"./static/{digest}/'.encode())
    return digest, {
        name: StaticFile(content, _kind(name), tag_of(content)) for name, content in contents.items()
    }


def _kind(name: str) -> str:
    """Return the media type of a file."""
    kind = _KINDS.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind == "text/html" else kind


def _name(path: str, files: Mapping[str, StaticFile]) -> str | None:
    """Return the name of a file, without the digest, which may be that of another release."""
    # Compare with existing names; never build a path from the request.
    below = path.removeprefix("/static/") if path.startswith("/static/") else ""
    names = (INDEX if path == "/" else path.removeprefix("/"), below, below.partition("/")[2])
    return next((name for name in names if name in files), None)
