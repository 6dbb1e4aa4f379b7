"""TOML, parsed once: what a text says is kept as JSON in the user's cache directory.

tomllib is written in Python, and a question reads dozens of catalog files: parsing them each time costs more
than most answers. The digest of a text names its file, so a changed text never finds what another one said.
Nothing depends on the cache: whatever is missing, damaged or another user's is parsed.
"""

from __future__ import annotations

import itertools
import json
import os
import stat
import threading
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tomllib import TOMLDecodeError as TOMLDecodeError

#: Part of every name: another form of what is kept is another file.
_FORM = b"zlens toml 1\n"
#: A larger text is parsed each time; the largest of the catalog has 40 KB.
LARGEST = 1 << 20
#: More files than this are cut to half, the oldest first. The catalog has about 400.
MOST_FILES = 2000
#: The folder is looked at by the first file that a process writes, and by every one after so many.
_LOOKED_AT = 500
_written = itertools.count()
_DIGEST = 32
#: Links are not followed, and a pipe blocks nobody. Windows has none of these.
_READ = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))


def __getattr__(name: str) -> Any:
    # Where every text is kept already, tomllib is never imported.
    if name == "TOMLDecodeError":
        import tomllib

        return tomllib.TOMLDecodeError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def loads(text: str) -> dict[str, Any]:
    """What a text of TOML says, as tomllib.loads gives it, with its errors; the caller may change it."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > LARGEST:
        return parse(text)
    key = blake2b(_FORM + data, digest_size=_DIGEST).digest()
    path = _folder() / key.hex()
    facts = _kept(path, key)
    if facts is None:
        facts = parse(text)
        _keep(path, key, facts)
    return facts


def load(path: Path) -> dict[str, Any]:
    """What a file of TOML says."""
    return loads(path.read_text(encoding="utf-8"))


def parse(text: str) -> dict[str, Any]:
    """The same without the cache: for what users write."""
    import tomllib

    return tomllib.loads(text)


def _folder() -> Path:
    # The environment is asked every time: it costs nothing, and tests change it.
    return _folder_of(os.environ.get("XDG_CACHE_HOME"), os.environ.get("HOME"))


@cache
def _folder_of(*_: str | None) -> Path:
    import platformdirs

    return Path(platformdirs.user_cache_dir("zlens", appauthor=False)) / "toml"


def _kept(path: Path, key: bytes) -> dict[str, Any] | None:
    """What is kept of a text; None where it is not, or not as this user wrote it."""
    try:
        descriptor = os.open(path, _READ)
        with open(descriptor, "rb") as file:
            if not _own(os.fstat(descriptor)):
                return None
            content = file.read(8 * LARGEST)
        digest, body = content[:_DIGEST], content[_DIGEST:]
        if digest != _sealed(key, body):
            return None
        facts = json.loads(body)
    except (OSError, ValueError, RecursionError):
        return None
    return facts if isinstance(facts, dict) else None


def _own(status: os.stat_result) -> bool:
    """Whether a file is plain, of this user, and nobody else may write to it."""
    if not stat.S_ISREG(status.st_mode):
        return False
    return os.name == "nt" or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)


def _sealed(key: bytes, body: bytes) -> bytes:
    return blake2b(key + body, digest_size=_DIGEST).digest()


def _keep(path: Path, key: bytes, facts: dict[str, Any]) -> None:
    try:
        body = json.dumps(facts, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except (TypeError, ValueError, RecursionError):
        return  # JSON has no dates and times, and not every number
    temporary = path.with_name(f".{path.name[:16]}.{os.getpid()}.{threading.get_ident()}")
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if next(_written) % _LOOKED_AT == 0:
            _make_room(path.parent)
        try:
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(_sealed(key, body) + body)
            os.replace(temporary, path)
        except OSError:
            temporary.unlink(missing_ok=True)


def _make_room(folder: Path) -> None:
    files = [entry for entry in os.scandir(folder) if entry.is_file(follow_symlinks=False)]
    if len(files) > MOST_FILES:
        for entry in sorted(files, key=lambda entry: entry.stat().st_mtime)[: -MOST_FILES // 2]:
            with suppress(OSError):
                os.unlink(entry)
