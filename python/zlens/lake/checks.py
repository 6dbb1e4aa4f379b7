"""Whether a lake is whole: every file against the manifest, and files that belong to nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from zlens.errors import InputError
from zlens.inputs.source import Progress
from zlens.lake import folder, names
from zlens.lake.folder import Folder, Listed
from zlens.lake.manifest import Manifest
from zlens.schema.wording import say

#: Files of a lake that no manifest lists.
_OWN = frozenset({names.MANIFEST, names.LOCK, names.READERS})


@dataclass(frozen=True, slots=True)
class Fault:
    """A file that is missing, changed or orphan (belongs to nothing), or a document that cannot be read."""

    kind: str
    path: str
    detail: str


@dataclass(frozen=True, slots=True)
class Checked:
    """How many files were read, their bytes, and what is wrong."""

    files: int
    bytes: int
    faults: list[Fault]
    #: Files that will be removed when nobody reads the lake any more.
    waiting: int


def check(lake: str | os.PathLike[str], progress: Progress | None = None) -> Checked:
    """Hold every file of a lake against its checksum. Raises InputError when there is no manifest."""
    path = os.fspath(lake)
    if not names.is_lake(path):
        raise InputError("this is no lake", file=path, cure=say("lake_make"))
    into = Folder(path)
    with into.reading():
        now = into.load()
        faults: list[Fault] = []
        listed: dict[str, Listed] = {}
        for one in now.inputs.values():
            try:
                listed.update(into.listed_of(one))
            except InputError as error:
                faults.append(Fault("changed", error.file or path, f"{error.message}; of {one.path}"))
        total = sum(size or 0 for size, _ in listed.values())
        done = files = 0
        for name, facts in listed.items():
            if progress is not None:
                progress(done, total, "checking")
            fault = _fault(into.absolute(name), facts)
            if fault is not None:
                faults.append(fault)
            done += facts[0] or 0
            files += 1
        if not faults:
            # Of an input whose document cannot be read it is not known what belongs to it.
            faults += _orphans(into, now, listed)
        return Checked(files, done, faults, len(now.retired))


def _fault(path: str, facts: Listed) -> Fault | None:
    size, sha256 = facts
    try:
        there = os.stat(path).st_size
        if size is not None and there != size:
            return Fault("changed", path, f"it has {there:,} bytes instead of {size:,}")
        if sha256 is not None and folder.digest(path) != sha256:
            return Fault("changed", path, "its checksum is another one")
    except FileNotFoundError:
        return Fault("missing", path, "the manifest lists it")
    except OSError as error:
        return Fault("changed", path, f"cannot be read: {error.strerror or error}")
    return None


def _orphans(into: Folder, now: Manifest, listed: dict[str, Listed]) -> Iterator[Fault]:
    known = _OWN | listed.keys() | set(now.retired)
    root = os.path.abspath(into.path)
    for area, folders, files in os.walk(root):
        folders.sort()
        if area == root and names.STAGING in folders:
            # What is on its way in, or was when its process died: the next import looks after it.
            folders.remove(names.STAGING)
        for file in sorted(files):
            name = os.path.relpath(os.path.join(area, file), root).replace(os.sep, "/")
            if name not in known:
                yield Fault("orphan", os.path.join(area, file), "the manifest does not list it")
