"""Importing: files are decoded once, into the lake's staging, and become part of it in one step each."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from zlens.catalog.layouts import SIM
from zlens.errors import InputError, LakeError
from zlens.inputs.options import Options
from zlens.inputs.problems import Problem
from zlens.inputs.source import Progress, Source
from zlens.lake import folder
from zlens.lake.folder import Folder, Staging
from zlens.lake.manifest import Input, Manifest
from zlens.lake.names import is_lake
from zlens.lake.parquet_engine import ParquetEngine
from zlens.lake.seams import Seams
from zlens.lake.tables import Draft, Writer
from zlens.readers.linux import sysinfo_tree
from zlens.readers.recognition import READERS, find, reader
from zlens.schema.wording import say

_BLOCK = 1 << 20


@dataclass(slots=True)
class Added:
    """What became of one file. `again`: it was in the lake already, or is now from another import."""

    path: str
    sha256: str
    systems: list[str] = field(default_factory=list)
    first_us: int | None = None
    last_us: int | None = None
    tables: int = 0
    rows: int = 0
    bytes: int = 0
    again: bool = False
    #: Under which name it was imported.
    known_as: str | None = None
    problems: list[Problem] = field(default_factory=list)


def add(
    inputs: Iterable[str | os.PathLike[str]],
    lake: str | os.PathLike[str],
    *,
    options: Options | None = None,
    progress: Progress | None = None,
    told: Callable[[Added], None] | None = None,
) -> tuple[list[Added], list[Problem]]:
    """Import files, folders and patterns into a lake, which is made if need be.

    `told` hears of every file when it is part of the lake. Returns what became of each, and problems of
    those that could not be read. Raises InputError when none could, LakeError when nothing can be written.
    """
    names = [os.fspath(name) for name in inputs]
    for name in names:
        if is_lake(name):
            raise InputError(
                "this is a lake", file=name, cure="import files into a lake; lakes are read as they are"
            )
    found = find(names)
    into = Folder(lake)
    into.create()
    added: list[Added] = []
    problems = list(found.problems)
    errors: list[InputError] = []
    for name in READERS:
        for path in found.files.get(name, ()):
            try:
                with folder.typed(into):
                    one = _one(into, reader(name), path, options or Options(), progress or _silent)
            except InputError as error:
                errors.append(error)
                source = reader(name).NAME
                problems.append(
                    Problem(None, source, path, error.offset, None, "header", error.message, None)
                )
                continue
            added.append(one)
            if told is not None:
                told(one)
    if not added and errors:
        raise errors[0]
    return added, problems


def _silent(done: int, total: int, what: str) -> None:
    return None


def _one(into: Folder, module: Any, path: str, options: Options, progress: Progress) -> Added:
    before = os.stat(path)
    sha256 = _digest(path, before.st_size, progress)
    with into.locked():
        now = into.load()
        into.clean(now)
    known = now.inputs.get(sha256)
    if known is not None and not known.forgotten:
        return _again(known, path)
    with into.staging() as staged:
        source: Source = module.open_files([path], options, progress)
        draft = Draft(
            Input(
                sha256, _shown(path), before.st_size, source.name, options.leap or 0, int(time.time() * 1e6)
            )
        )
        systems = [info.system for info in source.systems]
        wanted = [name for name in systems if known is None or name in known.forgotten]
        _hold_together(now, source, draft.input, wanted)
        _hold_apart(into, now, source, draft.input, wanted)
        shop = ParquetEngine(os.fspath(staged.path / "spill"))
        try:
            (staged.path / "rows").mkdir()
            writer = Writer(source, draft, staged, shop, progress, wanted)
            writer.write()
            after = os.stat(path)
            if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
                raise InputError("the file changed while it was read", file=path, cure="import it again")
            folder.sync(draft.moves.values())
            progress(before.st_size, before.st_size, f"{path}: joining")
            with into.locked():
                now = into.load()
                known = now.inputs.get(sha256)
                if known is not None and not set(wanted) <= set(known.forgotten):
                    return _again(known, path)
                _hold_together(now, source, draft.input, wanted)
                _hold_apart(into, now, source, draft.input, wanted)
                _commit(into, now, draft, staged, shop)
        finally:
            shop.close()
    problems = [p for p in source.problems(complete=True) if p.system is None or p.system in wanted]
    chosen = [info for info in source.systems if info.system in wanted]
    return Added(
        path,
        sha256,
        wanted,
        min((info.first_us for info in chosen if info.first_us is not None), default=None),
        max((info.last_us for info in chosen if info.last_us is not None), default=None),
        len(draft.tables),
        draft.rows,
        draft.bytes,
        problems=problems,
    )


def _commit(into: Folder, now: Manifest, draft: Draft, staged: Staging, shop: ParquetEngine) -> None:
    """Make a draft part of the lake, with the seams to what is there."""
    known = now.inputs.get(draft.input.sha256)
    if known is not None:
        # Systems that were forgotten come back, each with the document of this import.
        known.documents.update(draft.input.documents)
        known.parts.update(draft.input.parts)
        known.forgotten = [name for name in known.forgotten if name not in draft.input.parts]
    else:
        now.inputs[draft.input.sha256] = draft.input
    synced = set(draft.moves)
    seams = Seams(into, now, staged, shop, draft.moves)
    seams.renew((system, draft.input.source) for system in draft.input.parts)
    folder.sync(path for name, path in draft.moves.items() if name not in synced)
    now.retired += [name for name in seams.retired if name not in now.retired]
    into.commit(now, staged, draft.moves)
    into.sweep(now)


def _hold_together(now: Manifest, source: Source, draft: Input, systems: list[str]) -> None:
    """Times of one system are all made in one way, or they could not be put in order."""
    local = {info.system: info.local_time for info in source.systems}
    for one in now.inputs.values():
        if one.source != draft.source:
            continue
        for system in systems:
            part = one.parts.get(system)
            if part is None:
                continue
            if one.leap != draft.leap:
                raise LakeError(
                    f"{system} is in the lake with {one.leap} leap seconds, and here are {draft.leap}",
                    file=draft.path,
                    cure=say("leap_as_imported", leap=one.leap),
                )
            if part.local_time != local[system]:
                was = "local times" if part.local_time else "UTC"
                raise LakeError(
                    f"{system} is in the lake with {was}",
                    file=draft.path,
                    cure=say("tz_alike"),
                )


def _hold_apart(into: Folder, now: Manifest, source: Source, draft: Input, systems: list[str]) -> None:
    """What is made with our own record layouts never becomes part of what a system wrote, nor the reverse."""
    made = {info.system: info.release == SIM for info in source.systems}
    for system in systems:
        # All parts of a system are alike: each was held against those before it.
        for one in now.inputs.values():
            part = one.parts.get(system) if one.source == draft.source else None
            if part is None:
                continue
            told = folder.part_of(into.document(one, part.document), part, into)
            if (told.info.release == SIM) != made[system]:
                what = "what a system wrote" if made[system] else f"what is made with zlens' own pack {SIM}"
                raise LakeError(
                    f"{system} is in the lake with {what}",
                    file=draft.path,
                    cure="import it into a lake of its own",
                )
            break


def _again(known: Input, path: str) -> Added:
    return Added(path, known.sha256, list(known.parts), again=True, known_as=known.path)


def _digest(path: str, size: int, progress: Progress) -> str:
    if os.path.isdir(path):
        return sysinfo_tree.of_folder(path).digest()
    found = hashlib.sha256()
    done = 0
    with open(path, "rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            found.update(block)
            done += len(block)
            progress(done, max(size, done), f"{path}: checksum")
    return found.hexdigest()


def _shown(path: str) -> str:
    # Names on disk are bytes and not always text.
    return os.fsencode(path).decode("utf-8", "replace")
