"""Files that record pages are read from: single files, folders, and zip archives of them.

No data of an archive is ever written to disk, and its own claims are not trusted: the size of its member list
is limited before it is read, every member is read only up to the size of a page, and a malicious archive is
rejected completely.
"""

from __future__ import annotations

import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct, field

from zlens.errors import CatalogError
from zlens.record_pages import text as page_text

#: Maximum number of files; a release has some 200 record pages.
MAX_FILES = 5_000
#: Maximum size of all unpacked members of an archive, in bytes. A release's pages take some 20 MB.
MAX_UNPACKED = 256 * 1024 * 1024
#: Maximum size of an archive's member list, in bytes; a list of 5,000 pages is far smaller.
_MAX_LIST = 4 * 1024 * 1024
_SUFFIXES = frozenset(("", ".html", ".htm", ".xhtml", ".txt", ".text"))
_ARCHIVE = ".zip"
#: Compression methods that always unpack with little memory.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
_CURE = "unpack it yourself and name the folder, or create the archive again from the saved pages"
_BROKEN = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError, ValueError,
    OverflowError, OSError,
)  # fmt: skip


class Skipped(Struct, frozen=True):
    """A file without a page, and the reason."""

    file: str
    reason: str


class PageFile(Struct, frozen=True):
    """A possible page: its name, and a function that reads it."""

    name: str
    read: Callable[[], page_text.PageText]


class PageFiles(Struct):
    """Files to read, and skipped files."""

    found: list[PageFile] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    #: Number of files whose names show that they are not pages.
    others: int = 0
    _archive: zipfile.ZipFile | None = None

    @property
    def count(self) -> int:
        """Number of all files."""
        return len(self.found) + len(self.skipped) + self.others

    def archive(self, path: Path) -> zipfile.ZipFile:
        """Return an archive, opened once for all members that are read in sequence."""
        if self._archive is None or self._archive.filename != str(path):
            self.close()
            self._archive = zipfile.ZipFile(path)
        return self._archive

    def close(self) -> None:
        if self._archive is not None:
            self._archive.close()
            self._archive = None

    def add(self, page: PageFile) -> None:
        if len(self.found) < MAX_FILES:
            self.found.append(page)
        else:
            self.skip(page.name, f"more than {MAX_FILES:,} files")

    def skip(self, file: str, reason: str) -> None:
        self.skipped.append(Skipped(file, reason))


def gather(paths: Sequence[Path]) -> PageFiles:
    """Return all files under these paths that may be pages, including those in zip archives."""
    files = PageFiles()
    for path in dict.fromkeys(paths):
        count = files.count
        if path.is_dir():
            for inner in _walk(path):
                _file(inner, files, named=False)
        elif path.is_file():
            _file(path, files, named=True)
        elif path.exists():
            files.skip(str(path), "is neither a file nor a folder")
        else:
            files.skip(str(path), "no such file or folder")
        if files.count == count:
            files.skip(str(path), "contains no file")
    if files.others:
        description = "not pages by their names (pictures, styles and the like)"
        files.skip(f"{files.others:,} other files", description)
    return files


def _file(path: Path, files: PageFiles, *, named: bool) -> None:
    suffix = path.suffix.lower()
    if suffix == _ARCHIVE or (named and _is_archive(path)):
        try:
            _archive(path, files)
        except CatalogError as error:
            files.skip(str(path), "; ".join(filter(None, (error.message, error.cure))))
    elif named or suffix in _SUFFIXES:
        files.add(PageFile(str(path), lambda: page_text.read(path)))
    else:
        files.others += 1


def _walk(folder: Path) -> Iterator[Path]:
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(where, name)
            if not name.startswith(".") and path.is_file():
                yield path


_END = struct.Struct("<4s4H2LH")
_LOCATOR = 20


def _is_archive(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(4) in (b"PK\3\4", b"PK\5\6")
    except OSError:
        return False


def _archive(path: Path, files: PageFiles) -> None:
    """Add the members of an archive; raises `CatalogError` if it cannot be opened."""
    try:
        _bounded(path)
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except _BROKEN as error:
        raise CatalogError(f"the archive cannot be read: {_error_text(error)}", cure=_CURE) from error
    if len(members) > MAX_FILES:
        raise CatalogError(f"the archive has more than {MAX_FILES:,} members", cure=_CURE)
    unsafe = next((member.filename for member in members if _escapes(member.filename)), None)
    if unsafe is not None:
        message = f"the archive has a member outside its folder, {unsafe[:60]!r}, and is not opened"
        raise CatalogError(message, cure=_CURE)
    if sum(member.file_size for member in members) > MAX_UNPACKED:
        message = f"the archive unpacks to more than {MAX_UNPACKED:,} bytes, which no record pages have"
        raise CatalogError(message, cure=_CURE)
    for member in members:
        _member(path, member, files)


def _bounded(path: Path) -> None:
    """Reject a member list that would take much memory to read.

    The end of an archive states the length of the list, and `zipfile` reads that much; it searches for that
    end at these offsets only.
    """
    with path.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        tail = min(size, _END.size + 0xFFFF)
        stream.seek(size - tail)
        data = stream.read(tail)
        position = len(data) - _END.size
        if not (position >= 0 and data[position : position + 4] == b"PK\5\6" and data[-2:] == b"\0\0"):
            position = data.rfind(b"PK\5\6")
        if position < 0 or position + _END.size > len(data):
            raise zipfile.BadZipFile("it has no member list; it may be truncated")
        stream.seek(max(size - tail + position - _LOCATOR, 0))
        if stream.read(4) == b"PK\6\7":
            raise zipfile.BadZipFile("it has the format for more than 65,535 members or 4 GB")
    if _END.unpack_from(data, position)[5] > _MAX_LIST:
        raise zipfile.BadZipFile("its member list is too long")


def _escapes(name: str) -> bool:
    """Return whether unpacking a member would write outside the folder of the archive."""
    parts = name.replace("\\", "/").split("/")
    return parts[0] == "" or ".." in parts or re.match(r"[A-Za-z]:", name) is not None


def _member(path: Path, member: zipfile.ZipInfo, files: PageFiles) -> None:
    display_name = f"{path}/{member.filename}"
    name = member.filename.rsplit("/", 1)[-1]
    suffix = Path(name).suffix.lower() if name else ""
    if member.is_dir() or name.startswith("."):
        return
    if suffix == _ARCHIVE:
        files.skip(display_name, "an archive inside an archive is not opened; unpack it first")
    elif suffix not in _SUFFIXES or stat.S_ISLNK(member.external_attr >> 16):
        files.others += 1
    elif member.flag_bits & _ENCRYPTED:
        files.skip(display_name, "it is encrypted; unpack it first")
    elif member.compress_type not in _METHODS:
        files.skip(display_name, "it uses an unusual compression method; unpack it first")
    else:
        files.add(PageFile(display_name, lambda: _read(files, path, member, display_name)))


def _read(files: PageFiles, path: Path, member: zipfile.ZipInfo, display_name: str) -> page_text.PageText:
    """Read one member, up to one byte more than a page may have."""
    try:
        with files.archive(path).open(member) as stream:
            data = stream.read(page_text.MAX_BYTES + 1)
    except _BROKEN as error:
        message = f"the member of the archive cannot be unpacked: {_error_text(error)}"
        raise CatalogError(message, file=display_name, cure=_CURE) from error
    return page_text.from_bytes(data, display_name)


def _error_text(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or "it cannot be opened"
    return str(error)[:200] or type(error).__name__
