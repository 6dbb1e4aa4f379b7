"""/proc/sysinfo and the sysfs CPU tree as a set of small files, from a folder, a tar or the live machine."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator

from msgspec import Struct, field

#: Limit for CPU numbers; Linux on Z has at most 512 CPUs, counting threads.
MAX_CPU = 8192
SYSINFO = "proc/sysinfo"
CPUS = "sys/devices/system/cpu"

#: Files of the system and of each CPU. All others are ignored.
_SINGLE = (
    SYSINFO,
    "proc/cpuinfo",
    "proc/sys/kernel/hostname",
    "proc/sys/kernel/osrelease",
    *(f"{CPUS}/{name}" for name in ("dispatching", "online", "offline", "present", "possible")),
)
_LEVELS = ("thread", "core", "book", "drawer")
_OF_CPU = (
    "address",
    "configure",
    "dedicated",
    "online",
    "polarization",
    *(f"topology/{name}_id" for name in ("core", "physical_package", "book", "drawer")),
    *(f"topology/{level}_siblings{form}" for level in _LEVELS for form in ("", "_list")),
)
_CPU = re.compile(r"cpu(\d{1,4})\Z")
_FILES = re.compile(
    "(?P<root>(?:.*/)?)(?P<name>"
    + "|".join(re.escape(name) for name in _SINGLE)
    + rf"|{re.escape(CPUS)}/cpu\d{{1,4}}/(?:"
    + "|".join(re.escape(name) for name in _OF_CPU)
    + "))",
    re.DOTALL,
)

#: Kernel texts are a few pages long; an archive has at most some hundred systems.
MAX_FILE = 256 * 1024
#: Unpacked bytes after an archive that are read to find the end of the gzip data.
MAX_FINISH = 1 << 30
MAX_KEPT = 128 * 1024 * 1024
MAX_TREES = 10_000
_BLOCK = 512
_GZIP = b"\x1f\x8b"
#: Two blocks of zeros end an archive, which is padded with zeros to a multiple of 20 blocks.
_PADDING = 22
_NAME_LIMIT = 64 * 1024


class Tree(Struct):
    """The texts of one system at one time."""

    path: str
    files: dict[str, bytes] = field(default_factory=dict)
    #: The file that contains each text: the text file itself, or the archive.
    places: dict[str, str] = field(default_factory=dict)
    time_us: int | None = None
    #: kind, file, offset, sentence, bytes
    notes: list[tuple[str, str, int | None, str, int | None]] = field(default_factory=list)

    def text(self, name: str) -> str | None:
        """Return a short text, None if it is missing or empty."""
        data = self.files.get(name)
        return data.decode("utf-8", "replace").strip("\0 \t\r\n") or None if data is not None else None

    def digest(self) -> str:
        """Return the SHA-256 of the texts and their time."""
        sha256 = hashlib.sha256(str(self.time_us).encode())
        for name, data in sorted(self.files.items()):
            sha256.update(f"\0{name}\0{len(data)}\0".encode())
            sha256.update(data)
        return sha256.hexdigest()

    def cpus(self) -> list[int]:
        """Return the numbers of the CPUs that have a folder."""
        cpus = {int(name[len(CPUS) + 4 :].partition("/")[0]) for name in self.files if _of_cpu(name)}
        return sorted(cpu for cpu in cpus if cpu < MAX_CPU)


def _of_cpu(name: str) -> bool:
    return name.startswith(f"{CPUS}/cpu")


def is_tree(folder: str) -> bool:
    """Return whether a folder contains the texts of a system."""
    return os.path.isfile(os.path.join(folder, *SYSINFO.split("/")))


def read_folder(folder: str) -> Tree:
    """Read the texts of a folder; `/` is the live machine."""
    tree = Tree(folder)
    for name in _SINGLE:
        _add(tree, name)
    try:
        entries = sorted(os.listdir(os.path.join(folder, *CPUS.split("/"))))
    except OSError:
        entries = []
    for entry in entries:
        if _CPU.match(entry):
            for name in _OF_CPU:
                _add(tree, f"{CPUS}/{entry}/{name}")
    return tree


def read_file(path: str) -> Tree:
    """Read a single /proc/sysinfo, or the entire system if the path ends in proc/sysinfo."""
    parts = os.path.abspath(path).split(os.sep)
    if parts[-2:] == SYSINFO.split("/"):
        return read_folder(os.sep.join(parts[:-2]) or os.sep)
    tree = Tree(path)
    _read(tree, SYSINFO, path)
    return tree


def _add(tree: Tree, name: str) -> None:
    _read(tree, name, os.path.join(tree.path, *name.split("/")))


def _read(tree: Tree, name: str, path: str) -> None:
    try:
        # Do not block on a pipe or follow a link out of a copied folder.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except FileNotFoundError:
        return
    except OSError as error:
        tree.notes.append(("changed", path, None, f"cannot be read: {error.strerror or error}", None))
        return
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            tree.notes.append(("changed", path, None, "is not a regular file; not read", None))
            return
        try:
            data = file.read(MAX_FILE + 1)
        except OSError:
            # A CPU that is not configured has no topology.
            return
    _add_text(tree, name, data, path, status.st_mtime_ns // 1000)


def _add_text(tree: Tree, name: str, data: bytes, containing_path: str, time_us: int) -> None:
    if len(data) > MAX_FILE:
        detail = f"{name} is longer than {MAX_FILE:,} bytes; read up to there"
        tree.notes.append(("length", containing_path, MAX_FILE, detail, None))
        data = data[:MAX_FILE]
    tree.files[name] = data
    tree.places[name] = containing_path
    # The kernel creates the text when it is read, so the date of a copy is its time.
    if name == SYSINFO or tree.time_us is None:
        tree.time_us = time_us


class DamageError(Exception):
    """Damage that stops reading an archive: kind, offset, message."""


def is_tar(first_bytes: bytes) -> bool:
    """Return whether a file with these first bytes is a tar, with or without gzip."""
    if first_bytes.startswith(_GZIP):
        try:
            first_bytes = zlib.decompressobj(wbits=31).decompress(first_bytes, 2 * _BLOCK)
        except zlib.error:
            return False
    return first_bytes[257:262] == b"ustar"


def read_tar(path: str) -> tuple[list[Tree], list[tuple[str, int, str]]]:
    """Return the systems in an archive, and its damage: kind, offset, message."""
    trees: dict[str, Tree] = {}
    damage: list[tuple[str, int, str]] = []
    total_bytes = 0
    with open(path, "rb") as file:
        is_gzip = file.read(2) == _GZIP
        file.seek(0)
        unpacking = _Unpacking(file.read) if is_gzip else None
        read = unpacking.read if unpacking else file.read
        try:
            for offset, name, data, time_us in _members(read):
                match = _FILES.fullmatch(name.removeprefix("./"))
                if not match:
                    continue
                total_bytes += len(data)
                root = match["root"]
                if total_bytes > MAX_KEPT or (root not in trees and len(trees) >= MAX_TREES):
                    raise DamageError("length", offset, "more data than zlens stores of an archive")
                tree = trees.setdefault(root, Tree(os.path.join(path, root.strip("/")) if root else path))
                _add_text(tree, match["name"], data, path, time_us)
            if unpacking:
                unpacking.finish()
        except DamageError as error:
            kind, offset, detail = error.args
            damage.append((kind, offset, f"{detail} (offset in the unpacked archive)" if is_gzip else detail))
        except zlib.error as error:
            damage.append(("truncated", file.tell(), f"the gzip data is damaged: {error}"))
    return list(trees.values()), damage


class _Unpacking:
    """Unpacks gzip data in chunks."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._unpack = zlib.decompressobj(wbits=31)
        self._rest = b""

    def read(self, size: int) -> bytes:
        """Return up to `size` unpacked bytes; fewer only at the end."""
        parts: list[bytes] = []
        while size:
            if not self._rest:
                self._rest = self._read(64 * 1024)
            part = self._unpack.decompress(self._rest, size)
            had_input = bool(self._rest)
            self._rest = self._unpack.unconsumed_tail
            if self._unpack.eof:
                # Separately packed archives may be concatenated.
                self._rest = self._unpack.unused_data or self._read(64 * 1024)
                if self._rest.startswith(_GZIP):
                    self._unpack = zlib.decompressobj(wbits=31)
                elif not part:
                    break
            elif not part and not had_input:
                break
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def finish(self) -> None:
        """Unpack the data after the archive, because only its end shows whether the data is complete.

        Raises DamageError if the end is missing, zlib.error if the checksum is wrong.
        """
        remaining = MAX_FINISH
        while part := self.read(min(remaining, 64 * 1024)):
            remaining -= len(part)
            if not remaining:
                raise DamageError("length", MAX_FINISH, "too much follows the archive; not read to its end")
        if not self._unpack.eof:
            raise DamageError("truncated", 0, "the gzip data has no end; files may be missing")


def _members(read: Callable[[int], bytes]) -> Iterator[tuple[int, str, bytes, int]]:
    """Yield offset, name, first bytes and time of every file in a tar."""
    position = 0
    zeros = 0
    long_name: str | None = None
    while True:
        header = read(_BLOCK)
        start = position
        position += len(header)
        if header and not header.strip(b"\0"):
            zeros += 1
            if zeros > _PADDING:
                return
            continue
        if zeros and not header:
            return
        # Another archive may follow the end of this one in the same file.
        zeros = 0
        if len(header) < _BLOCK:
            raise DamageError("truncated", start, "the archive has no end marker")
        if not _checksum_matches(header):
            raise DamageError("header", start, "this is not a tar header; not read from here on")
        size, time = _field(header[124:136]), _field(header[136:148])
        if size is None or time is None:
            raise DamageError("length", start, "a header without a length; not read from here on")
        padded = -(-size // _BLOCK) * _BLOCK
        kind = header[156:157]
        limit = _NAME_LIMIT if kind in b"Lxg" else MAX_FILE + 1
        data = read(min(padded, limit))
        position += len(data)
        if len(data) < min(padded, limit):
            raise DamageError("truncated", start, "the archive ends inside a file")
        position += _skip(read, padded - len(data), start)
        if kind == b"L":
            long_name = data[:size].rstrip(b"\0").decode("utf-8", "replace")
        elif kind == b"x":
            long_name = _pax_path(data[:size]) or long_name
        elif kind != b"g":
            if kind in b"0\0" and kind:
                name = long_name if long_name is not None else _name(header)
                yield start, name, data[:size], min(time, 2**40) * 1_000_000
            long_name = None


def _skip(read: Callable[[int], bytes], size: int, start: int) -> int:
    remaining = size
    while remaining:
        part = read(min(remaining, 64 * 1024))
        if not part:
            raise DamageError("truncated", start, "the archive ends inside a file")
        remaining -= len(part)
    return size


def _checksum_matches(header: bytes) -> bool:
    stated = _field(header[148:156])
    return stated == sum(header) - sum(header[148:156]) + 8 * 0x20


def _field(raw: bytes) -> int | None:
    """Parse a header number: octal digits, or binary after a byte X'80'."""
    if raw[:1] == b"\x80":
        return int.from_bytes(raw[1:], "big")
    text = raw.strip(b"\0 ")
    return int(text or b"0", 8) if re.fullmatch(rb"[0-7]*", text) else None


def _name(header: bytes) -> str:
    name = header[:100].partition(b"\0")[0]
    # Otherwise the field contains the first part of a POSIX name, which GNU archives use differently.
    if header[257:263] == b"ustar\0" and (prefix := header[345:500].partition(b"\0")[0]):
        name = prefix + b"/" + name
    return name.decode("utf-8", "replace")


def _pax_path(data: bytes) -> str | None:
    """Return the path in an extended header: records of length, blank, key=value and newline."""
    while data:
        length, _, _ = data.partition(b" ")
        if not re.fullmatch(rb"\d{1,6}", length) or not len(length) + 2 < int(length) <= len(data):
            return None
        record = data[len(length) + 1 : int(length) - 1]
        if record.startswith(b"path="):
            return record[5:].decode("utf-8", "replace")
        data = data[int(length) :]
    return None
