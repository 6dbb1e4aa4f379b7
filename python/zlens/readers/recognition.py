"""The files of an input, and the reader that recognizes each by its first bytes."""

from __future__ import annotations

import glob
import hashlib
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from importlib import import_module
from typing import Any

from msgspec import Struct

from zlens.errors import InputError
from zlens.inputs.problems import Problem
from zlens.readers.files import file_problem, read_error
from zlens.readers.tar_archive import is_tar

#: Modules of readers, in order of recognition, and what messages call their files.
READERS = {
    "zvm.monwrite": "MONWRITE data",
    "rmf.postprocessor": "an RMF Postprocessor XML report",
    "rmf.monitor3": "an RMF Monitor III XML report",
    "smf.dump": "an SMF dump",
    "linux.sysinfo": "a copy of the texts of a Linux",
    "openmetrics.hmc": "Prometheus text of an HMC exporter",
    "openmetrics.dds": "OpenMetrics text of RMF's Distributed Data Server",
    "rmf.listing": "a printed RMF report",
    "listing.source": "a printed report",
    "zos.text": "z/OS console text",
    "zvm.console": "z/VM console text",
    "linux.zpwr": "power readings of Linux",
    "linux.hyptop": "output of hyptop",
    "linux.zmemtopo": "output of zmemtopo",
    "linux.counters": "counters of Linux",
}

#: A small module whose `form_of` rules these readers out before they are imported.
FORMS = {"rmf.postprocessor": "rmf.xml_encoding", "rmf.monitor3": "rmf.xml_encoding"}

#: The reader of folders that are one input, and its source.
FOLDERS, FOLDER_SOURCE = "linux.sysinfo", "linux-sysinfo"

#: Number of bytes of a file from which readers recognize its format.
DETECTION_BYTES = 64 * 1024
_ZSTD = b"\x28\xb5\x2f\xfd"


class InputFiles(Struct, frozen=True):
    """Files of an input by reader, and the problems of the others."""

    files: dict[str, list[str]]
    problems: list[Problem]


def expand(
    inputs: Iterable[str],
    unreadable: Callable[[OSError], None] | None = None,
    skip: Callable[[str], bool] | None = None,
) -> Iterator[str]:
    """Yield the files of files, folders and patterns, in order; a folder of Linux texts counts as one file.

    Raises InputError if a name matches nothing. `unreadable` receives the errors of folders that cannot be
    read. Folders are read recursively, except those for which `skip` is true. Links to folders are not
    followed, which excludes loops.
    """
    for name in inputs:
        if os.path.isdir(name):
            empty = True
            denied: list[OSError] = []
            if os.path.realpath(name) == os.sep and not _is_tree(name):
                raise InputError(
                    "the folder / means the live machine, which is not Linux on IBM Z",
                    file=name,
                    expected="/proc/sysinfo",
                    cure="name the folder with the data",
                )
            for folder, subfolders, files in os.walk(name, onerror=denied.append):
                if skip is not None and skip(folder):
                    subfolders.clear()
                    continue
                if _is_tree(folder):
                    empty = False
                    subfolders.clear()
                    yield folder
                    continue
                subfolders.sort()
                for file in sorted(files):
                    if not file.startswith("."):
                        empty = False
                        yield os.path.join(folder, file)
            if unreadable is not None:
                for error in denied:
                    unreadable(error)
            if empty and not denied:
                cure = "name a folder with data files"
                raise InputError("the folder contains no file", file=name, cure=cure)
        elif os.path.lexists(name):
            yield name
        else:
            matches = sorted(glob.glob(name, recursive=True)) if glob.has_magic(name) else []
            if not matches:
                raise InputError("no such file or folder", file=name, cure="check the name; quote patterns")
            for match in matches:
                if os.path.isfile(match) or _is_tree(match):
                    yield match


def _is_tree(folder: str) -> bool:
    # Imported only for folders: a file is not a tree.
    from zlens.readers.linux.sysinfo_tree import is_tree

    return is_tree(folder)


def _head(path: str) -> tuple[bytes, os.stat_result]:
    # Check the kind of file first: opening a pipe without a writer would block.
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise InputError("this is not a regular file", file=path, cure="copy the data into a file first")
    with open(path, "rb") as file:
        first_bytes = file.read(DETECTION_BYTES)
        if first_bytes.startswith(_ZSTD):
            # The first block may be twice as long, and can only be read if it is complete.
            first_bytes += file.read(2 * DETECTION_BYTES)
        return first_bytes, os.fstat(file.fileno())


def reader_module(name: str) -> Any:
    """Return the module of one of READERS."""
    return import_module(f"zlens.readers.{name}")


def digest(path: str) -> bytes:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def recognized(first_bytes: bytes, size: int, names: Collection[str] = READERS) -> str | None:
    """Return the first of these readers that recognizes a file by its first bytes; None if none does.

    Raises InputError, without the file, if none does and one of them recognizes damaged data of its format.
    """
    if is_tar(first_bytes):
        # Readers of records would find those of the files in it.
        return FOLDERS if FOLDERS in names else None
    damage: InputError | None = None
    for name in names:
        # Imported on demand: mostly one of the first readers recognizes the file.
        if name in FORMS and reader_module(FORMS[name]).form_of(first_bytes) is None:
            continue
        try:
            if reader_module(name).detect(first_bytes, size):
                return name
        except InputError as error:
            damage = damage or error
    # Only the zeros of UTF-16 look like damaged data of another kind.
    if damage is not None and _encoding(first_bytes) != "UTF-16":
        raise damage
    return None


def recognize(inputs: Iterable[str], skip: Callable[[str], bool] | None = None) -> InputFiles:
    """Recognize every file of the inputs by its first bytes. Folders for which `skip` is true are excluded.

    A file that no reader recognizes raises InputError if it is the only input, otherwise it is a problem. A
    duplicate file (another name, a link, or the same bytes) is read once and is a problem.
    """
    files: dict[str, list[str]] = {}
    problems: list[Problem] = []
    errors: list[tuple[InputError, str]] = []
    by_inode: dict[tuple[int, int], str] = {}
    by_first_bytes: dict[tuple[int, bytes], list[str]] = {}

    def unreadable(error: OSError) -> None:
        message = f"the folder cannot be read: {error.strerror or error}"
        folder = os.fspath(error.filename) if error.filename else ""
        errors.append((InputError(message, file=folder, cure="check its permissions"), "changed"))

    for path in expand(inputs, unreadable, skip):
        if os.path.isdir(path):
            files.setdefault(FOLDERS, []).append(path)
            continue
        try:
            first_bytes, status = _head(path)
            inode = (status.st_dev, status.st_ino)
            is_same_file = inode in by_inode
            original = by_inode.setdefault(inode, path)
            if not is_same_file and status.st_size:
                # Full digests only where size and first bytes agree, so most files are read once.
                start = status.st_size, hashlib.sha256(first_bytes).digest()
                candidates = by_first_bytes.setdefault(start, [])
                if candidates:
                    file_digest = digest(path)
                    original = next((other for other in candidates if digest(other) == file_digest), path)
                candidates.append(path)
        except InputError as error:
            errors.append((error, "header"))
            continue
        except OSError as error:
            errors.append((read_error(path, error), "changed"))
            continue
        if is_same_file or original != path:
            detail = f"the same data as {original}; read once"
            problems.append(Problem(None, "", path, 0, None, "duplicate", detail, 0))
            continue
        if not first_bytes:
            empty = InputError("the file is empty", file=path, offset=0, cure="check how it was copied")
            errors.append((empty, "truncated"))
            continue
        try:
            name = recognized(first_bytes, status.st_size)
        except InputError as error:
            error.file = path
            errors.append((error, "transfer"))
            continue
        if name is None:
            errors.append((_unknown(path, first_bytes, status.st_size), "header"))
        else:
            files.setdefault(name, []).append(path)
    if not files and errors:
        raise errors[0][0]
    problems += [file_problem(error, "", kind) for error, kind in errors]
    return InputFiles(files, problems)


#: First bytes, name and unpacking tool of compressed formats, which are common in transfers.
_PACKED = (
    (b"\x1f\x8b", "gzip file", "gunzip"),
    (b"\x1f\x9d", "file of compress", "uncompress"),
    (b"PK\x03\x04", "ZIP archive", "unzip"),
    (b"BZh", "bzip2 file", "bunzip2"),
    (b"\xfd7zXZ\x00", "xz file", "unxz"),
    (_ZSTD, "Zstandard file", "unzstd"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip archive", "7z"),
    (":CFF".encode("cp037"), "VMARC archive", "VMARC UNPACK on CMS, before the transfer"),
)
_UNTERSE = "AMATERSE with PARM=UNPACK on z/OS before the transfer, or tersedecompress here"
#: Files of CMS COPYFILE PACK have records of this length; the rest of their format is not public.
_CMS_PACKED = 1024


def compressed_format(first_bytes: bytes) -> tuple[str, str] | None:
    """Return the format of a compressed file, and the tool that unpacks it."""
    for prefix, format_name, tool in _PACKED:
        if first_bytes.startswith(prefix):
            return format_name, tool
    if len(first_bytes) < 12:
        return None
    # A control record of TRANSMIT: its length, x'E0', and the name INMR01.
    if first_bytes[1] == 0xE0 and first_bytes[2:8] == "INMR01".encode("cp037"):
        return "file of TSO TRANSMIT (XMIT)", "RECEIVE INDATASET(...) on z/OS, before the transfer"
    if first_bytes[0] in (1, 7) and first_bytes[1:4] == b"\x89\x69\xa5":
        return "TERSE file", _UNTERSE
    # PACK or SPACK: record format F or V, and two record lengths that do not contradict each other.
    short, long = int.from_bytes(first_bytes[2:4]), int.from_bytes(first_bytes[8:12])
    lengths = {short, long} - {0}
    if first_bytes[0] in (2, 5) and first_bytes[1] in (0, 1) and len(lengths) == 1:
        return "TERSE file (AMATERSE PACK or SPACK)", _UNTERSE
    return None


def _unknown(path: str, first_bytes: bytes, size: int) -> InputError:
    known = compressed_format(first_bytes)
    if known is not None:
        what, tool = known
        message = f"this file is compressed ({what})"
        return InputError(message, file=path, offset=0, cure=f"unpack it first, with {tool}")
    encoding = _encoding(first_bytes)
    if encoding is not None:
        return InputError(
            f"this is text in {encoding}, which zlens cannot read",
            file=path,
            offset=0,
            cure="provide it in UTF-8: transfer it as text, or convert it with iconv",
        )
    text = _printable(first_bytes)
    linux_tool = _linux_tool(first_bytes) if text else None
    if linux_tool is not None:
        what, cure = linux_tool
        return InputError(f"this is output of {what}", file=path, offset=0, cure=cure)
    what = "text" if text else "binary data of no known format"
    cure = "check the file name, and that the file has its first lines"
    if not text:
        cure = (
            "transfer it again in binary: monitor data with record format F and length 4096, SMF data with "
            "record descriptor words"
        )
        if size % _CMS_PACKED == 0:
            cure += (
                "; if it was packed with COPYFILE (PACK on CMS, whose format is not public, unpack it there "
                "with COPYFILE fn ft fm (UNPACK before the transfer"
            )
    return InputError(
        f"this is {what}, which zlens cannot read",
        file=path,
        offset=0,
        expected="a z/VM MONWRITE file, an SMF dump, an RMF report in XML, what z/OS displays of its "
        "processors or of HIS, a printed report, machine or counter data of Linux on Z, "
        "or metrics of an HMC or of RMF",
        cure=cure,
    )


def _linux_tool(first_bytes: bytes) -> tuple[str, str] | None:
    """Return the Linux tool whose text has no usable data, and what to do instead."""
    # Imported only for files that no reader recognizes.
    from zlens.readers.linux import perf, sysinfo_text

    if perf.is_metric_only(first_bytes.decode("utf-8", "replace")):
        return (
            "perf stat --metric-only, which has metrics and no counts",
            "run perf stat without --metric-only: metrics are computed from the counts",
        )
    if sysinfo_text.is_read_values(first_bytes):
        return (
            "read_values, which has some lines of /proc/sysinfo under other names",
            "copy /proc/sysinfo itself",
        )
    return None


def _printable(data: bytes) -> bool:
    return sum(32 <= byte < 127 or byte in b"\r\n\t" for byte in data) > 0.95 * len(data)


def _encoding(first_bytes: bytes) -> str | None:
    """Return the encoding of text that is neither ASCII nor UTF-8, or None."""
    wide = {"little": (first_bytes[::2], first_bytes[1::2]), "big": (first_bytes[1::2], first_bytes[::2])}
    for low, high in wide.values():
        if len(high) >= 8 and high.count(0) > 0.95 * len(high) and _printable(low.removeprefix(b"\xff")):
            return "UTF-16"
    # EBCDIC lines end with a newline, X'85' in Latin-1, or with a line feed.
    text = first_bytes.decode("cp037").replace("\x85", "\n")
    if len(text) >= 8 and text.isascii() and _printable(text.encode()) and not _printable(first_bytes):
        return "EBCDIC"
    return None
