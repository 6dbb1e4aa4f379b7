"""Integrity check of a lake: verifies every file against the manifest and finds orphaned files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress

from msgspec import Struct

from zlens.errors import InputError
from zlens.inputs.source import Progress
from zlens.lake import file_names, lake_folder
from zlens.lake.lake_folder import LakeFolder, Listed
from zlens.lake.location import open_lake
from zlens.lake.manifest import Manifest

#: Files of a lake that no manifest lists.
_OWN = frozenset({file_names.MANIFEST, file_names.LOCK, file_names.READERS})


class FileFault(Struct, frozen=True):
    """A file that is missing, changed or orphaned (not listed), or an unreadable document."""

    kind: str
    path: str
    detail: str


class IntegrityReport(Struct, frozen=True):
    """Number of files read, their bytes, and the faults."""

    files: int
    bytes: int
    faults: list[FileFault]
    #: Retired files, removed when no reader holds them.
    waiting: int


def check(lake: str | os.PathLike[str], progress: Progress | None = None) -> IntegrityReport:
    """Verify every file of a lake against its checksum. Raises InputError if `lake` is not a lake."""
    path, folder = os.fspath(lake), open_lake(lake)
    with folder.reading():
        manifest = folder.load()
        faults: list[FileFault] = []
        listed: dict[str, Listed] = {}
        for what, list_files in folder.listings(manifest):
            try:
                listed.update(list_files())
            except InputError as error:
                faults.append(FileFault("changed", error.file or path, f"{error.message}; {what}"))
        total = sum(size or 0 for size, _ in listed.values())
        done = files = 0
        for name, missing in folder.refetch(listed):
            expected = listed[name]
            if progress is not None:
                progress(done, total, "checking")
            path = folder.absolute(name)
            if missing is not None:
                fault: FileFault | None = FileFault("missing", missing.file or path, missing.message)
            else:
                fault = _link_fault(folder, name) or _fault(path, expected) or _schema_fault(path, name)
            if fault is not None:
                faults.append(fault)
            done += expected[0] or 0
            files += 1
        if not faults:
            # The files of an input with an unreadable document are unknown.
            faults += _orphans(folder, manifest, listed)
        return IntegrityReport(files, done, faults, len(manifest.retired))


def _link_fault(folder: LakeFolder, name: str) -> FileFault | None:
    """Return the fault of a file that is reached through a link within the lake, which queries refuse."""
    path = folder.absolute(name)
    real = os.path.join(os.path.realpath(folder.absolute("")), name.replace("/", os.sep))
    if os.path.realpath(path) == real:
        return None
    return FileFault("changed", path, "it is replaced by a link")


def _fault(path: str, expected: Listed) -> FileFault | None:
    size, sha256 = expected
    try:
        actual = os.stat(path).st_size
        if size is not None and actual != size:
            return FileFault("changed", path, f"it has {actual:,} bytes instead of {size:,}")
        if sha256 is not None and lake_folder.digest(path) != sha256:
            return FileFault("changed", path, "its checksum differs")
    except FileNotFoundError:
        return FileFault("missing", path, "the manifest lists it")
    except OSError as error:
        return FileFault("changed", path, f"cannot be read: {error.strerror or error}")
    return None


def _schema_fault(path: str, name: str) -> FileFault | None:
    """Return the fault of a schema whose name does not match its digest."""
    if not name.startswith(f"{file_names.SCHEMAS}/"):
        return None
    if not lake_folder.digest(path).startswith(os.path.basename(name).partition(".")[0]):
        return FileFault("changed", path, "it is not the schema that its name says")
    return None


def _orphans(folder: LakeFolder, manifest: Manifest, listed: dict[str, Listed]) -> Iterator[FileFault]:
    # Files in staging are not orphans; the next import removes those of dead processes.
    expected = _OWN | listed.keys() | set(manifest.retired)
    unlisted = [name for name in folder.files() if name not in expected]
    if not unlisted:
        return
    with ExitStack() as stack:
        # Without permission to lock, there is probably no writer either.
        with suppress(OSError):
            # A writer moves files before it lists them.
            stack.enter_context(folder.locked())
        current = folder.load()
        expected = frozenset(folder.listed(current).keys() | set(current.retired))
        # A writer may also have removed some.
        remaining = {*folder.files()}
    for name in unlisted:
        if name in remaining and name not in expected:
            yield FileFault("orphan", folder.display_path(name), "the manifest does not list it")
