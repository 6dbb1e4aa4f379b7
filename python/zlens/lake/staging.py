"""Import in two steps: processes decode inputs into separate folders, and one call commits them to a lake.

A staged input is a folder named by the SHA-256 of the input's bytes. It contains the files that an import
would move into the lake, under the same names, and `staged.json`, which lists them with sizes and digests. It
can be copied between machines, because `commit` verifies its files.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.json import Decoder

from zlens.catalog.layouts import SIM
from zlens.errors import InputError, LakeError
from zlens.inputs.options import Options
from zlens.inputs.problems import Problem
from zlens.inputs.source import Progress, Source, SystemInfo
from zlens.lake import documents as document
from zlens.lake import file_names, importer, json_files, lake_folder
from zlens.lake.importer import ImportResult
from zlens.lake.json_files import Sha256
from zlens.lake.lake_folder import LakeFolder, Staging
from zlens.lake.location import is_lake, open_folder
from zlens.lake.manifest import LakeInput, Manifest, StoredInput, input_facts
from zlens.lake.parquet_engine import ParquetEngine
from zlens.lake.table_writer import InputDraft
from zlens.readers.files import read_error
from zlens.schema.structs import Count, Text
from zlens.schema.wording import phrase

#: Description of a staged input, written after all other files of the folder.
NAME = "staged.json"
VERSION = 2
#: Maximum number of inputs committed in one step.
BATCH = 64
#: Prefix of the folders of inputs that are being decoded.
_UNFINISHED = ".new-"
_LARGEST = 256 * 1024**2
_BLOCK = 1 << 20


class _StoredFacts(Struct, forbid_unknown_fields=True):
    zlens_staged: Annotated[int, Meta(ge=VERSION, le=VERSION)]
    input: StoredInput
    files: Annotated[
        dict[Text, Annotated[tuple[Count, Sha256], Meta(title="bytes and SHA-256")]], Meta(min_length=1)
    ]
    zone: Text | None = None


_STAGED = Decoder(_StoredFacts)


def stage(
    inputs: Iterable[str | os.PathLike[str]],
    area: str | os.PathLike[str],
    *,
    options: Options | None = None,
    progress: Progress | None = None,
    report: Callable[[ImportResult], None] | None = None,
) -> tuple[list[ImportResult], list[Problem]]:
    """Decode files, folders and patterns into an area, one folder each; the area is created if needed.

    Several processes may stage into one area, even the same input. Results and errors are as in `lake.add`.
    """
    base = Path(area)
    if is_lake(base):
        raise LakeError("this is a lake", file=str(base), cure="name another folder to stage in")

    def stage_one(module: Any, path: str) -> ImportResult:
        with lake_folder.translate_os_errors(LakeFolder(area)):
            return _stage_file(base, module, path, options or Options(), progress or importer.ignore_progress)

    files = importer.recognize_inputs(inputs)
    with lake_folder.translate_os_errors(LakeFolder(area)):
        base.mkdir(parents=True, exist_ok=True)
    return importer.import_each(files, stage_one, report)


def _stage_file(base: Path, module: Any, path: str, options: Options, progress: Progress) -> ImportResult:
    before = os.stat(path)
    sha256 = importer.input_digest(path, before.st_size, progress)
    target = base / sha256
    zone = None if options.tz is None else str(options.tz)
    if (target / NAME).exists():
        earlier = _StagedInput.load(target)
        if (earlier.input.leap, earlier.zone) != (options.leap or 0, zone):
            raise LakeError(
                f"this input is staged with {earlier.input.leap} leap seconds and the zone {earlier.zone}",
                file=str(target),
                cure="remove that folder, or stage in another one",
            )
        return importer.already_imported(earlier.input, path)
    with _unfinished(base) as private:
        staged = Staging(private)
        source: Source = module.open_files([path], options, progress)
        systems = list(dict.fromkeys(info.system for info in source.systems))
        draft = importer.new_draft(path, sha256, before.st_size, source, options)
        with ParquetEngine(private / "spill") as engine:
            importer.stage_rows(source, draft, before, path, staged, engine, progress, systems)
        listed: dict[str, tuple[int, str]] = {}
        ready = private / "ready"
        for name, file in draft.moves.items():
            listed[name] = (os.path.getsize(file), lake_folder.digest(file))
            file_target = ready / name
            file_target.parent.mkdir(parents=True, exist_ok=True)
            os.rename(file, file_target)
        _StagedInput(ready, zone, draft.input, listed).dump()
        try:
            os.rename(ready, target)
        except OSError:
            # Another process staged the same input first.
            if not (target / NAME).exists():
                raise
        lake_folder.fsync_files([os.fspath(base)])
    return importer.import_result(path, draft, source, systems)


@contextmanager
def _unfinished(base: Path) -> Iterator[Path]:
    """Create a private folder in the area; removes folders of dead processes of this machine."""
    host = file_names.escape(socket.gethostname())[:60]
    for folder in base.glob(f"{_UNFINISHED}{host}.*"):
        number = folder.name.split(".")[-2]
        if number.isdecimal() and not _is_alive(int(number)):
            shutil.rmtree(folder, ignore_errors=True)
    private = base / f"{_UNFINISHED}{host}.{os.getpid()}.{secrets.token_hex(6)}"
    private.mkdir()
    try:
        yield private
    finally:
        shutil.rmtree(private, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


class CommitResult(Struct):
    """Result for one staged input: `again` if the lake had it, `error` if it is incompatible."""

    path: str
    input: LakeInput
    again: bool = False
    error: LakeError | InputError | None = None


def commit(
    areas: Iterable[str | os.PathLike[str]],
    lake: str | os.PathLike[str],
    *,
    keep: bool = False,
    progress: Progress | None = None,
    report: Callable[[CommitResult], None] | None = None,
) -> list[CommitResult]:
    """Commit staged inputs to a lake, in order of time, and remove their folders unless `keep`.

    `areas` are folders that `stage` wrote into, or folders of single inputs. Each batch is one step; repeat a
    call that was killed. Raises InputError if there are no staged inputs, LakeError if writing fails.
    """
    progress = progress or importer.ignore_progress
    staged, results = _found(areas)
    for result in results:
        if report is not None:
            report(result)
    folder = open_folder(lake)
    folder.create()
    for start in range(0, len(staged), BATCH):
        batch = staged[start : start + BATCH]
        progress(start, len(staged), "joining staged inputs")
        with lake_folder.translate_os_errors(folder):
            committed = folder.retry_on_conflict(partial(_commit, folder, batch))
        for result in committed:
            results.append(result)
            if report is not None:
                report(result)
            if not keep and result.error is None:
                shutil.rmtree(result.path, ignore_errors=True)
    progress(len(staged), len(staged), "joining staged inputs")
    return results


def _found(areas: Iterable[str | os.PathLike[str]]) -> tuple[list[_StagedInput], list[CommitResult]]:
    """Return the distinct staged inputs in order of time, and results for duplicates."""
    by_digest: dict[str, _StagedInput] = {}
    duplicates: list[CommitResult] = []
    for area in areas:
        base = Path(area)
        try:
            candidates = [base] if (base / NAME).exists() else sorted(base.iterdir())
        except OSError as error:
            raise read_error(str(base), error, cure="name staged inputs") from None
        for path in candidates:
            if not (path / NAME).exists():
                continue
            try:
                staged = _StagedInput.load(path)
            except InputError:
                if path.exists():
                    raise
                # Another call committed and removed it first.
                continue
            if staged.input.sha256 in by_digest:
                duplicates.append(CommitResult(str(path), staged.input, again=True))
            else:
                by_digest[staged.input.sha256] = staged
    if not by_digest:
        raise InputError(
            "the folder contains no staged input", file=", ".join(map(str, areas)), cure=phrase("lake_stage")
        )
    return sorted(by_digest.values(), key=_StagedInput.order), duplicates


def _commit(lake: LakeFolder, batch: list[_StagedInput]) -> list[CommitResult]:
    """Commit a batch in one step. Incompatible inputs stay staged."""
    with lake.locked():
        lake.remove_abandoned(lake.load())
    with lake.staging() as staging:
        current = lake.load()
        results = [
            CommitResult(str(staged.path), staged.input, again=True)
            for staged in batch
            if _is_imported(current, staged.input.sha256)
        ]
        known = {result.input.sha256 for result in results}
        copies: list[tuple[_StagedInput, InputDraft, dict[str, SystemInfo]]] = []
        failures: list[tuple[_StagedInput, InputError]] = []
        for staged in batch:
            if staged.input.sha256 in known:
                continue
            try:
                draft = staged.copy_into(staging)
                copies.append((staged, draft, staged.systems()))
            except InputError as error:
                failures.append((staged, error))
        lake_folder.fsync_files(path for _, draft, _ in copies for path in draft.moves.values())
        with ParquetEngine(staging.path / "spill") as engine, lake.locked():
            manifest = lake.load()
            drafts: list[InputDraft] = []
            batch_options: dict[tuple[str, str], tuple[int, bool, bool]] = {}
            for staged, draft, systems in copies:
                again = _is_imported(manifest, staged.input.sha256)
                conflict = None if again else _conflict(lake, manifest, draft.input, systems, batch_options)
                if not again and conflict is None:
                    inputs = [*manifest.inputs.values(), *(item.input for item in drafts)]
                    conflict = importer.find_system_conflict(inputs, draft.input)
                if not again and conflict is None:
                    drafts.append(draft)
                results.append(CommitResult(str(staged.path), staged.input, again, conflict))
            for staged, failure in failures:
                # Another call may have committed it first and removed its folder.
                again = _is_imported(manifest, staged.input.sha256)
                results.append(
                    CommitResult(str(staged.path), staged.input, again, None if again else failure)
                )
            if drafts:
                importer.commit(lake, manifest, drafts, staging, engine)
    return results


def _is_imported(manifest: Manifest, sha256: str) -> bool:
    stored = manifest.inputs.get(sha256)
    return stored is not None and not stored.forgotten


def _conflict(
    lake: LakeFolder,
    manifest: Manifest,
    draft: LakeInput,
    systems: dict[str, SystemInfo],
    batch_options: dict[tuple[str, str], tuple[int, bool, bool]],
) -> LakeError | None:
    """Return why an input is incompatible with the lake or its batch; None adds it to the batch."""
    if draft.sha256 in manifest.inputs:
        return LakeError(
            "systems of this input were removed from the lake",
            file=draft.path,
            cure="import the file itself to add them again",
        )
    try:
        importer.check_compatible(lake, manifest, draft, systems)
    except LakeError as error:
        return error
    options = {
        (draft.source, system): (draft.leap, info.local_time, info.release == SIM)
        for system, info in systems.items()
    }
    for key, of_system in options.items():
        if batch_options.get(key, of_system) != of_system:
            return LakeError(
                f"{key[1]} is staged with other leap seconds, times or record layouts in another input",
                file=draft.path,
                cure="stage all inputs of a system alike",
            )
    batch_options |= options
    return None


class _StagedInput(Struct):
    """A staged input: its folder, the zone of local times, its facts, and its files by name in a lake."""

    path: Path
    zone: str | None
    input: LakeInput
    files: dict[str, tuple[int, str]]

    @classmethod
    def load(cls, path: Path) -> _StagedInput:
        """Load the staged input of a folder. Raises InputError if zlens cannot have written it."""
        file = path / NAME
        try:
            with open(file, "rb") as opened:
                data = opened.read(_LARGEST)
        except OSError as error:
            raise read_error(str(file), error, cure="stage the input again") from None
        problem = json_files.errors(str(file))
        stored = json_files.load(_STAGED, data, str(file))
        staged = cls(path, stored.zone, stored.input.checked("input", problem), stored.files)
        documents = {
            f"{file_names.document_folder(staged.input.sha256, key)}/{document.NAME}"
            for key in staged.input.documents
        }
        if not documents <= staged.files.keys():
            raise problem.general_error("files has no document", expected="the document of the input")
        for name in staged.files:
            # Inputs share schemas, which are named by their digest.
            is_of_input = staged.input.sha256 in name or name == file_names.schema(staged.files[name][1][:16])
            if not (is_of_input and file_names.is_own(name)):
                raise problem.value("files", name, "names of files of this input in a lake")
        return staged

    def dump(self) -> None:
        value = {
            "zlens_staged": VERSION,
            "zone": self.zone,
            "input": input_facts(self.input),
            "files": self.files,
        }
        (self.path / NAME).write_text(json.dumps(value, ensure_ascii=True, allow_nan=False), encoding="ascii")
        lake_folder.fsync_files([os.fspath(self.path / NAME)])

    def order(self) -> tuple[int, str]:
        """Return the sort key: time, then digest, as in a manifest."""
        times = [part.first_us for part in self.input.parts.values() if part.first_us is not None]
        return min(times, default=0), self.input.sha256

    def copy_into(self, staging: Staging) -> InputDraft:
        """Copy the files to the staging of a lake. Raises InputError if a file differs from `staged.json`."""
        draft = InputDraft(self.input)
        base = staging.path / self.input.sha256
        for name, (size, sha256) in self.files.items():
            target = base / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if _copy_file(self.path / name, target) != (size, sha256):
                raise InputError(
                    "this is not the file that was staged",
                    file=str(self.path / name),
                    expected=f"{size:,} bytes with SHA-256 {sha256[:12]}...",
                    cure="copy the staged input again, or stage it again",
                )
            draft.moves[name] = os.fspath(target)
        return draft

    def systems(self) -> dict[str, SystemInfo]:
        """Return the facts of each system."""
        systems: dict[str, SystemInfo] = {}
        for key in self.input.documents:
            name = self.path / file_names.document_folder(self.input.sha256, key) / document.NAME
            try:
                data = name.read_bytes()
            except OSError as error:
                raise read_error(str(name), error, cure="stage the input again") from None
            systems |= {part.info.system: part.info for part in document.load(data, str(name)).parts}
        if systems.keys() != self.input.parts.keys():
            problem = json_files.errors(str(self.path / NAME))
            raise problem.general_error("input.parts is wrong", expected="the systems of its documents")
        return systems


def _copy_file(path: Path, target: Path) -> tuple[int, str]:
    """Copy a file; returns its size and SHA-256."""
    size, checksum = 0, hashlib.sha256()
    try:
        with open(path, "rb") as source, open(target, "wb") as copy:
            while block := source.read(_BLOCK):
                checksum.update(block)
                copy.write(block)
                size += len(block)
    except FileNotFoundError:
        raise InputError(
            "a file of the staged input is missing", file=str(path), cure="copy it again, or stage it again"
        ) from None
    return size, checksum.hexdigest()
