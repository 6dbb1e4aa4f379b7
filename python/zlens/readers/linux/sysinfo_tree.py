"""/proc/sysinfo and the sysfs CPU tree as a set of small files, from a folder, a tar or the live machine."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import zlib

from msgspec import Struct, field

from zlens.readers import tar_archive
from zlens.readers.tar_archive import DamageError

#: Limit for CPU numbers; Linux on Z has at most 512 CPUs, counting threads.
MAX_CPU = 8192
SYSINFO, CPUINFO = "proc/sysinfo", "proc/cpuinfo"
#: Output of lscpu, which is a file of its own.
LSCPU = "lscpu"
CPUS = "sys/devices/system/cpu"

#: Files of the system and of each CPU. All others are ignored.
_SINGLE = (
    *(SYSINFO, CPUINFO, "proc/sys/kernel/hostname", "proc/sys/kernel/osrelease"),
    *(f"{CPUS}/{name}" for name in ("dispatching", "online", "offline", "present", "possible")),
)
_LEVELS = ("thread", "core", "book", "drawer")
_OF_CPU = (
    *("address", "configure", "dedicated", "online", "polarization"),
    *(f"topology/{name}_id" for name in ("core", "physical_package", "book", "drawer")),
    *(f"topology/{level}_siblings{form}" for level in _LEVELS for form in ("", "_list")),
)
_CPU = re.compile(r"cpu(\d{1,4})\Z")
_FILES = re.compile(
    rf"(?P<root>(?:.*/)?)(?P<name>{'|'.join(map(re.escape, _SINGLE))}"
    rf"|{re.escape(CPUS)}/cpu\d{{1,4}}/(?:{'|'.join(map(re.escape, _OF_CPU))}))",
    re.DOTALL,
)

#: Kernel texts are a few pages long; an archive has at most some hundred systems.
MAX_FILE = 256 * 1024
MAX_KEPT = 128 * 1024 * 1024
MAX_TREES = 10_000


class Tree(Struct):
    """The texts of one system at one time."""

    path: str
    files: dict[str, bytes] = field(default_factory=dict)
    #: The file that contains each text: the text file itself, or the archive.
    places: dict[str, str] = field(default_factory=dict)
    time_us: int | None = None
    #: The only text, if the input is one.
    only: str | None = None
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
        names = [name.removeprefix(f"{CPUS}/cpu") for name in self.files if name.startswith(f"{CPUS}/cpu")]
        return sorted({cpu for name in names if (cpu := int(name.partition("/")[0])) < MAX_CPU})


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


def read_file(path: str, name: str) -> Tree:
    """Read a single text, or the entire system if the path ends in proc/sysinfo."""
    parts = os.path.abspath(path).split(os.sep)
    if parts[-2:] == SYSINFO.split("/"):
        return read_folder(os.sep.join(parts[:-2]) or os.sep)
    tree = Tree(path, only=name)
    _read(tree, name, path)
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


def read_tar(path: str) -> tuple[list[Tree], list[tuple[str, int, str]]]:
    """Return the systems in an archive, and its damage: kind, offset, message."""
    trees: dict[str, Tree] = {}
    damage: list[tuple[str, int, str]] = []
    total_bytes = 0
    with open(path, "rb") as file:
        try:
            for offset, name, data, time_us in tar_archive.read_members(file, MAX_FILE + 1):
                match = _FILES.fullmatch(name.removeprefix("./"))
                if not match:
                    continue
                total_bytes += len(data)
                root = match["root"]
                if total_bytes > MAX_KEPT or (root not in trees and len(trees) >= MAX_TREES):
                    raise DamageError("length", offset, "more data than zlens stores of an archive")
                tree = trees.setdefault(root, Tree(os.path.join(path, root.strip("/")) if root else path))
                _add_text(tree, match["name"], data, path, time_us)
        except DamageError as error:
            damage.append(error.args)
        except zlib.error as error:
            damage.append(("truncated", file.tell(), f"the gzip data is damaged: {error}"))
    return list(trees.values()), damage
