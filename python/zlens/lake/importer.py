"""Import of files: decodes each file into the lake's staging and commits it in one step."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from zlens.catalog.layouts import SIM
from zlens.errors import InputError, LakeError
from zlens.inputs.options import Options
from zlens.inputs.problems import Problem
from zlens.inputs.source import Progress, Source, SystemInfo
from zlens.inputs.unix_time import time_range
from zlens.lake import lake_folder
from zlens.lake.boundaries import update_boundaries
from zlens.lake.file_names import is_url
from zlens.lake.lake_folder import LakeFolder, Staging, find_part_document
from zlens.lake.location import is_lake, open_folder
from zlens.lake.manifest import LakeInput, Manifest, known_systems
from zlens.lake.parquet_engine import ParquetEngine
from zlens.lake.part_boundary import BoundaryFiles
from zlens.lake.table_writer import InputDraft, InputWriter
from zlens.readers.linux import sysinfo_tree
from zlens.readers.recognition import READERS, InputFiles, reader_module, recognize
from zlens.schema.wording import phrase

_BLOCK = 1 << 20
#: Maximum overlap of two consecutive recordings.
_MEETING_US = 60_000_000


class ImportResult(Struct):
    """Result for one file. `again`: the lake already has it, possibly from a concurrent import."""

    path: str
    sha256: str
    systems: list[str] = field(default_factory=list)
    first_us: int | None = None
    last_us: int | None = None
    tables: int = 0
    rows: int = 0
    bytes: int = 0
    again: bool = False
    #: The name under which it was imported.
    known_as: str | None = None
    problems: list[Problem] = field(default_factory=list)


def add(
    inputs: Iterable[str | os.PathLike[str]],
    lake: str | os.PathLike[str],
    *,
    options: Options | None = None,
    progress: Progress | None = None,
    report: Callable[[ImportResult], None] | None = None,
) -> tuple[list[ImportResult], list[Problem]]:
    """Import files, folders and patterns into a lake, which is created if needed.

    `report` is called for every file that becomes part of the lake. Returns the result of each file, and the
    problems of unreadable files. Raises InputError if no file can be read, LakeError if writing fails.
    """
    folder = open_folder(lake)

    def add_one(module: Any, path: str) -> ImportResult:
        with lake_folder.translate_os_errors(folder):
            return folder.retry_on_conflict(
                lambda: _import_file(folder, module, path, options or Options(), progress or ignore_progress)
            )

    files = recognize_inputs(inputs)
    folder.create()
    return import_each(files, add_one, report)


def recognize_inputs(inputs: Iterable[str | os.PathLike[str]]) -> InputFiles:
    """Return the files to import. Raises InputError for a lake or a URL."""
    names = [os.fspath(name) for name in inputs]
    for name in names:
        if is_lake(name):
            raise InputError(
                "this is a lake", file=name, cure="import files into a lake; lakes are read without import"
            )
        if is_url(name):
            raise InputError(
                "files are not read from URLs", file=name, cure="copy them to this machine first"
            )
    return recognize(names, is_lake)


def import_each(
    files: InputFiles, run: Callable[[Any, str], ImportResult], report: Callable[[ImportResult], None] | None
) -> tuple[list[ImportResult], list[Problem]]:
    """Call `run` with the reader's module and the path of each file; returns results and problems.

    An unreadable file is a problem. Raises the first error if no file can be read.
    """
    added: list[ImportResult] = []
    problems = list(files.problems)
    errors: list[InputError] = []
    for name in READERS:
        for path in files.files.get(name, ()):
            try:
                result = run(reader_module(name), path)
            except InputError as error:
                errors.append(error)
                source = reader_module(name).NAME
                problems.append(
                    Problem(None, source, path, error.offset, None, "header", error.message, None)
                )
                continue
            added.append(result)
            if report is not None:
                report(result)
    if not added and errors:
        raise errors[0]
    return added, problems


def ignore_progress(done: int, total: int, what: str) -> None:
    return None


def _import_file(
    lake: LakeFolder, module: Any, path: str, options: Options, progress: Progress
) -> ImportResult:
    before = os.stat(path)
    sha256 = input_digest(path, before.st_size, progress)
    with lake.locked():
        manifest = lake.load()
        lake.remove_abandoned(manifest)
    stored = manifest.inputs.get(sha256)
    if stored is not None and not stored.forgotten:
        return already_imported(stored, path)
    with lake.staging() as staged:
        # A system that conflicts with a system of the same name in the lake gets another name.
        others = [imported for imported in manifest.inputs.values() if imported.sha256 != sha256]
        known = (*options.known, *known_systems(others))
        source: Source = module.open_files([path], replace(options, known=known), progress)
        source_systems = dict.fromkeys(info.system for info in source.systems)
        requested = [system for system in source_systems if stored is None or system in stored.forgotten]
        systems = {info.system: info for info in source.systems if info.system in requested}
        draft = new_draft(path, sha256, before.st_size, source, options)
        check_compatible(lake, manifest, draft.input, systems)
        with ParquetEngine(staged.path / "spill") as engine:
            stage_rows(source, draft, before, path, staged, engine, progress, requested)
            progress(before.st_size, before.st_size, f"{path}: joining")
            with lake.locked():
                manifest = lake.load()
                stored = manifest.inputs.get(sha256)
                if stored is not None and not set(requested) <= set(stored.forgotten):
                    return already_imported(stored, path)
                check_compatible(lake, manifest, draft.input, systems)
                if (error := find_system_conflict(manifest.inputs.values(), draft.input)) is not None:
                    raise error
                commit(lake, manifest, [draft], staged, engine)
    return import_result(path, draft, source, requested)


def new_draft(path: str, sha256: str, size: int, source: Source, options: Options) -> InputDraft:
    """Return a draft without rows."""
    added_us = int(time.time() * 1e6)
    # File names are bytes and may not be valid text.
    shown = os.fsencode(path).decode("utf-8", "replace")
    return InputDraft(LakeInput(sha256, shown, size, source.name, options.leap or 0, added_us))


def stage_rows(
    source: Source,
    draft: InputDraft,
    before: os.stat_result,
    path: str,
    staged: Staging,
    engine: ParquetEngine,
    progress: Progress,
    systems: list[str],
) -> None:
    """Write the rows of these systems and all facts about them into staging.

    `before` is the file's state when its digest was computed. Raises InputError if it has changed since.
    """
    (staged.path / "rows").mkdir()
    InputWriter(source, draft, staged, engine, progress, systems).write()
    after = os.stat(path)
    if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
        raise InputError("the file changed while it was read", file=path, cure="import it again")
    lake_folder.fsync_files(draft.moves.values())


def import_result(path: str, draft: InputDraft, source: Source, systems: list[str]) -> ImportResult:
    """Return the result of an import, with the problems of the file."""
    problems = [
        problem
        for problem in source.problems(complete=True)
        if problem.system is None or problem.system in systems
    ]
    infos = [info for info in source.systems if info.system in systems]
    first_us, last_us = time_range(time for info in infos for time in (info.first_us, info.last_us))
    amounts = len(draft.tables), draft.rows, draft.bytes
    return ImportResult(path, draft.input.sha256, systems, first_us, last_us, *amounts, problems=problems)


def commit(
    lake: LakeFolder, manifest: Manifest, drafts: Sequence[InputDraft], staged: Staging, engine: ParquetEngine
) -> None:
    """Commit drafts with their boundaries to existing inputs. The caller holds the lock."""
    staged_paths: dict[str, str] = {}
    for draft in drafts:
        staged_paths |= draft.moves
        stored = manifest.inputs.get(draft.input.sha256)
        if stored is not None:
            # Removed systems are added again, each with the document of this import.
            stored.documents.update(draft.input.documents)
            stored.parts.update(draft.input.parts)
            stored.forgotten = [name for name in stored.forgotten if name not in draft.input.parts]
        else:
            manifest.inputs[draft.input.sha256] = draft.input
    synced = set(staged_paths)
    systems = ((system, draft.input.source) for draft in drafts for system in draft.input.parts)
    files = BoundaryFiles(lake, staged, engine, staged_paths)
    retired = update_boundaries(manifest, files, systems)
    lake_folder.fsync_files(path for name, path in staged_paths.items() if name not in synced)
    manifest.retired += [name for name in retired if name not in manifest.retired]
    lake.publish(manifest, staged, staged_paths)


def find_system_conflict(inputs: Iterable[LakeInput], draft: LakeInput) -> LakeError | None:
    """Return an error if an input and another have records of different systems with one name at one time."""
    for imported in inputs:
        for system, part in draft.parts.items():
            other = imported.parts.get(system) if imported.source == draft.source else None
            if other is None or imported.sha256 == draft.sha256:
                continue
            for own_range, other_range in product(part.identity_ranges, other.identity_ranges):
                if min(own_range[1], other_range[1]) - max(own_range[0], other_range[0]) <= _MEETING_US:
                    continue
                names = sorted(
                    name
                    for name in own_range[2].keys() & other_range[2].keys()
                    if own_range[2][name] != other_range[2][name]
                )
                if names:
                    stored_values, draft_values = (
                        ", ".join(f"{name} {identity[name]}" for name in names)
                        for identity in (other_range[2], own_range[2])
                    )
                    return LakeError(
                        f"another {system} is in the lake at the same time: {imported.path} has "
                        f"{stored_values}, this one {draft_values}",
                        file=draft.path,
                        cure="import the file itself, or into a lake of its own",
                    )
    return None


def check_compatible(
    lake: LakeFolder, manifest: Manifest, draft: LakeInput, systems: Mapping[str, SystemInfo]
) -> None:
    """Raise LakeError if an input is incompatible with the contents of the lake.

    All times of a system must be computed alike to be ordered. Data decoded with synthetic layouts are never
    mixed with data of real systems.
    """
    # An input with many systems has them in one document.
    document = cache(lambda sha256, key: lake.document(manifest.inputs[sha256], key))
    for system, info in systems.items():
        for imported in manifest.inputs.values():
            part = imported.parts.get(system) if imported.source == draft.source else None
            if part is None:
                continue
            if imported.leap != draft.leap:
                raise LakeError(
                    f"{system} is in the lake with {imported.leap} leap seconds, not {draft.leap}",
                    file=draft.path,
                    cure=phrase("leap_as_imported", leap=imported.leap),
                )
            if part.local_time != info.local_time:
                times = "local times" if part.local_time else "UTC"
                raise LakeError(
                    f"{system} is in the lake with {times}", file=draft.path, cure=phrase("tz_alike")
                )
            stored = find_part_document(document(imported.sha256, part.document), part, lake)
            if (stored.info.release == SIM) != (info.release == SIM):
                kind = f"data of zlens' own pack {SIM}" if info.release != SIM else "data from a real system"
                raise LakeError(
                    f"{system} is in the lake with {kind}",
                    file=draft.path,
                    cure="import it into a lake of its own",
                )
            # One comparison suffices: each input of the system was checked against earlier ones.
            break


def already_imported(stored: LakeInput, path: str) -> ImportResult:
    """Return the result for a file that is already in the lake."""
    return ImportResult(path, stored.sha256, list(stored.parts), again=True, known_as=stored.path)


def input_digest(path: str, size: int, progress: Progress) -> str:
    """Return the SHA-256 of a file, or of the files of a folder that is one input."""
    if os.path.isdir(path):
        return sysinfo_tree.read_folder(path).digest()
    checksum = hashlib.sha256()
    done = 0
    with open(path, "rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            checksum.update(block)
            done += len(block)
            progress(done, max(size, done), f"{path}: checksum")
    return checksum.hexdigest()
