"""The folder of a lake: its locks, its manifest, and the addition and removal of files.

Files are written under `.staging`, renamed into place, and become visible when the manifest is replaced. The
next import removes files of processes that died. Locks are kernel locks (flock), so that none outlives its
process.
"""

from __future__ import annotations

import contextlib
import copy
import fcntl
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from msgspec import Struct

from zlens.catalog.raw_columns import RawColumn
from zlens.errors import InputError, LakeError, describe_write_error, is_disk_full
from zlens.inputs.problems import printable
from zlens.lake import documents as document
from zlens.lake import file_names, manifest
from zlens.lake.documents import (
    BoundaryDocument,
    ConsolidatedDocument,
    InputDocument,
    LakeFile,
    MeasuresDocument,
    MeasuresFile,
    PartDocument,
)
from zlens.lake.manifest import ConsolidatedDay, DayRollup, InputPart, LakeInput, Manifest
from zlens.readers.files import read_error
from zlens.schema.wording import phrase

if TYPE_CHECKING:
    from zlens.lake.parquet_engine import WrittenFile

_T = TypeVar("_T")
#: Size and digest of a file, if known.
Listed = tuple[int | None, str | None]

_PLAN = "plan.json"
_OWNER = "owner"
#: Names that a folder may contain before it becomes a lake.
_BEGUN = frozenset({file_names.STAGING, file_names.LOCK, file_names.READERS, file_names.LIVE})
#: Maximum size of a manifest in bytes, enough for a century of hourly files.
_LARGEST = 2 * 1024**3


class LakeFolder:
    """The folder of a lake. Names of files are relative paths, as `file_names` builds them.

    moves   paths of files that are not in the lake yet
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.moves: Mapping[str, str] = {}
        self._root = os.path.abspath(path)

    @property
    def name(self) -> str:
        """The lake's name in messages."""
        return str(self.path)

    def display_path(self, name: str) -> str:
        """Return a file's name in messages."""
        return self.absolute(name)

    def absolute(self, name: str) -> str:
        """Return the current path of a file."""
        return self.moves.get(name) or f"{self._root}{os.sep}{name}"

    def with_moves(self, moves: Mapping[str, str]) -> Self:
        """Return the lake with files about to enter it, by name, to read them too."""
        lake = copy.copy(self)
        lake.moves = moves
        return lake

    def create(self) -> None:
        """Create the folder if needed. Raises LakeError if it contains other files."""
        if printable(str(self.path)) != str(self.path):
            raise LakeError(
                "cannot become a lake: its name is not UTF-8 text",
                file=str(self.path),
                cure="name another folder",
            )
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            existing = set(os.listdir(self.path))
            if file_names.has_manifest(self.path) or existing <= _BEGUN:
                # Readers may have no permission to create it.
                Path(self.absolute(file_names.READERS)).touch()
        except OSError as error:
            raise LakeError(
                f"cannot become a lake: {error.strerror or error}", file=str(self.path), cure="name a folder"
            ) from None
        if not file_names.has_manifest(self.path) and not existing <= _BEGUN:
            raise LakeError(
                "the folder contains other files and is not a lake",
                file=str(self.path),
                cure="name a new or an empty folder",
            )

    # -- the manifest --------------------------------------------------------------------------------

    def load(self) -> Manifest:
        """Return the current manifest; an empty one if none exists yet."""
        path = self.absolute(file_names.MANIFEST)
        try:
            with open(path, "rb") as file:
                data = file.read(_LARGEST + 1)
        except FileNotFoundError:
            return Manifest()
        except OSError as error:
            raise read_error(path, error, "check permissions") from None
        if len(data) > _LARGEST:
            raise InputError("the manifest is too large", file=path, expected=f"at most {_LARGEST:,} bytes")
        return manifest.load(data, path)

    def read(self, name: str, sha256: str | None) -> bytes:
        """Return the bytes of a file. Raises InputError if it is missing or differs from the manifest."""
        path = self.absolute(name)
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise read_error(path, error, phrase("lake_check", lake=self.name)) from None
        if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
            raise InputError(
                "this is not the file that the manifest lists",
                file=path,
                cure=phrase("lake_check", lake=self.name),
            )
        return data

    def fetch(self, wanted: Iterable[str]) -> None:
        """Fetch files of a remote lake to their local paths; does nothing for a local lake."""

    def verify(self, files: Mapping[str, LakeFile | MeasuresFile]) -> None:
        """Verify Parquet files by their paths. Raises InputError if one differs from the manifest."""
        for path, file in files.items():
            verify(path, file, self.path)

    def refetch(self, wanted: Iterable[str]) -> Iterator[tuple[str, InputError | None]]:
        """Fetch files of a remote lake again; yields each name with its error, if any."""
        for name in wanted:
            yield name, None

    def files(self) -> Iterator[str]:
        """Yield the names of all files, listed or not, except in staging and those of `zlens live`."""
        for area, folders, files in os.walk(self._root):
            folders.sort()
            if area == self._root:
                folders[:] = [
                    folder for folder in folders if folder not in (file_names.STAGING, file_names.LIVE)
                ]
            for file in sorted(files):
                yield os.path.relpath(os.path.join(area, file), self._root).replace(os.sep, "/")

    def retry_on_conflict(self, work: Callable[[], _T]) -> _T:
        """Apply a change to the lake; repeat it if another writer committed first."""
        return work()

    def document(self, imported: LakeInput, key: str) -> InputDocument:
        name = f"{file_names.document_folder(imported.sha256, key)}/{document.NAME}"
        return document.load(self.read(name, imported.documents[key]), self.absolute(name))

    def part_document(self, imported: LakeInput, part: InputPart) -> PartDocument:
        return find_part_document(self.document(imported, part.document), part, self)

    def schema(self, key: str) -> tuple[RawColumn, ...]:
        """Return the columns of a table."""
        name = file_names.schema(key)
        return document.load_schema(self.read(name, None), self.absolute(name))

    def seam(self, imported: LakeInput, part: InputPart) -> BoundaryDocument | None:
        """Return the boundary of a part."""
        if part.seam is None:
            return None
        name = self.seam_name(imported, part)
        data = self.read(name, part.seam.sha256)
        return document.load_seam(data, self.absolute(name), part.seam.key)

    @staticmethod
    def seam_name(imported: LakeInput, part: InputPart) -> str:
        key = part.seam.key if part.seam else ""
        return f"{file_names.document_folder(imported.sha256, part.document)}/{part.place}.seam.{key}.json"

    def listed(self, current: Manifest) -> dict[str, Listed]:
        """Return size and digest, if known, of every file listed in the manifest or its documents."""
        return {name: facts for _, find in self.listings(current) for name, facts in find().items()}

    def listings(self, current: Manifest) -> Iterator[tuple[str, Callable[[], dict[str, Listed]]]]:
        """Yield every input and day of measures in words, each with a function that returns its files."""
        for imported in current.inputs.values():
            yield f"of {imported.path}", partial(self.listed_of, imported)
        for rollup in current.rollups.values():
            yield f"measures of {rollup.system}, {rollup.day}", partial(self.listed_measures, rollup)
        for gathered in current.gathered.values():
            yield f"measures of many systems, {gathered.day}", partial(self.listed_measures, gathered)

    def measures(self, rollup: DayRollup) -> MeasuresDocument:
        """Return the document of a day's measures."""
        data = self.read(rollup.document, rollup.sha256)
        return document.load_measures(data, self.absolute(rollup.document))

    def gathered(self, entry: ConsolidatedDay) -> ConsolidatedDocument:
        """Return the document of a day's measures of many systems."""
        return document.load_gathered(self.read(entry.document, entry.sha256), self.absolute(entry.document))

    def listed_measures(self, entry: DayRollup | ConsolidatedDay) -> dict[str, Listed]:
        """Return the files of a day of measures of one or many systems."""
        stored = self.measures(entry) if isinstance(entry, DayRollup) else self.gathered(entry)
        return {
            entry.document: (None, entry.sha256),
            **{file_names.schema(key): (None, None) for key in stored.schemas.values()},
            **{entry.file(file.table): (file.bytes, file.sha256) for file in stored.files},
        }

    def listed_of(self, imported: LakeInput) -> dict[str, Listed]:
        """Return the files of one input."""
        files: dict[str, Listed] = {}
        documents = {key: self.document(imported, key) for key in imported.documents}
        for key, stored in documents.items():
            base = file_names.document_folder(imported.sha256, key)
            files[f"{base}/{document.NAME}"] = (None, imported.documents[key])
            files.update({f"{base}/{name}": facts for name, facts in stored.side.items()})
        for part in imported.parts.values():
            part_document = find_part_document(documents[part.document], part, self)
            files.update(
                {file_names.schema(schema): (None, None) for schema in part_document.schemas.values()}
            )
            boundary = self.seam(imported, part)
            if part.seam is not None:
                files[self.seam_name(imported, part)] = (None, part.seam.sha256)
            for file in part_document.files if part.raw else ():
                files[import_file_name(imported, part, file, boundary)] = (file.bytes, file.sha256)
            for file in boundary.files if boundary else ():
                if file.rows:
                    files[file.name(imported.sha256, part.system)] = (file.bytes, file.sha256)
        return files

    # -- locks ---------------------------------------------------------------------------------------

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the manifest exclusively, to read, change and replace it."""
        handle = os.open(self.absolute(file_names.LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def reading(self) -> ReadLock:
        """Prevent the removal of the manifest's files until the returned lock is closed."""
        return ReadLock(self.absolute(file_names.READERS))

    # -- staging -------------------------------------------------------------------------------------

    @contextmanager
    def staging(self) -> Iterator[Staging]:
        """Create a private folder within the lake; removed when the context exits."""
        with self.locked():
            # Locked, so that no other process removes it as abandoned before it has an owner.
            area = Path(self.absolute(file_names.STAGING))
            area.mkdir(exist_ok=True)
            private = area / f"{os.getpid()}-{secrets.token_hex(6)}"
            private.mkdir()
            handle = os.open(private / _OWNER, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            yield Staging(private)
        finally:
            shutil.rmtree(private, ignore_errors=True)
            os.close(handle)

    def remove_abandoned(self, current: Manifest) -> None:
        """Remove files of dead processes, and retired files. The caller holds the lock."""
        area = Path(self.absolute(file_names.STAGING))
        remaining = sorted(area.iterdir()) if area.is_dir() else []
        for entry in remaining:
            if not entry.is_dir():
                entry.unlink(missing_ok=True)
        dead = [entry for entry in remaining if entry.is_dir() and is_dead(entry)]
        planned = {name for entry in dead for name in _planned_moves(entry)}
        if planned:
            for name in planned - self.listed(current).keys() - set(current.retired):
                self._remove(name)
        for entry in dead:
            shutil.rmtree(entry, ignore_errors=True)
        self.remove_retired(current)

    def remove_retired(self, current: Manifest) -> int:
        """Remove retired files and replace the manifest; returns the number of files left.

        Files stay while the lake is read, or if removal fails, as without space for a manifest.
        """
        if not current.retired:
            return 0
        with ReadLock(self.absolute(file_names.READERS), alone=True) as alone:
            if not alone:
                return len(current.retired)
            retired = list(current.retired)
            try:
                for name in retired:
                    self._remove(name)
                current.retired = []
                self._replace(current, Path(self.absolute(file_names.STAGING)))
            except OSError:
                current.retired = retired
                return sum(os.path.exists(self.absolute(name)) for name in retired)
        return 0

    def _remove(self, name: str) -> None:
        path = self.absolute(name)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        # Remove folders of days, systems and tables with their last file.
        parent = os.path.dirname(name)
        while parent:
            try:
                os.rmdir(self.absolute(parent))
            except OSError:
                break
            parent = os.path.dirname(parent)

    def publish(
        self, current: Manifest, staged: Staging, moves: dict[str, str], old: Iterable[str] = ()
    ) -> int:
        """Commit files, and remove those of `old` that the manifest no longer lists, and other retired ones.

        The caller holds the lock. Returns the number of files that readers still hold.
        """
        if unlisted := {*old} - {*current.retired}:
            current.retired += sorted(unlisted - self.with_moves(moves).listed(current).keys())
        self.commit(current, staged, moves)
        return self.remove_retired(current)

    def commit(self, current: Manifest, staged: Staging, moves: dict[str, str]) -> None:
        """Move files (name in the lake: current path) and replace the manifest. The caller holds the lock."""
        new_names: list[str] = []
        try:
            staged.plan(moves)
            self.begin()
            folders: set[str] = set()
            for name, path in moves.items():
                target = self.absolute(name)
                folders.add(os.path.dirname(target))
                os.makedirs(os.path.dirname(target), exist_ok=True)
                if not os.path.exists(target):
                    new_names.append(name)
                os.replace(path, target)
            fsync_files(folders)
            current.retired = [name for name in current.retired if name not in moves]
            self._replace(current, staged.path)
        except BaseException:
            # Ctrl-C may arrive after the manifest was replaced.
            if not self._is_current(current):
                for name in new_names:
                    self._remove(name)
            raise

    def begin(self) -> None:
        """Write an empty manifest if there is none, so that others recognize the folder as a lake."""
        if not file_names.has_manifest(self.path):
            self._replace(Manifest(), Path(self.absolute(file_names.STAGING)))

    def _is_current(self, current: Manifest) -> bool:
        try:
            return Path(self.absolute(file_names.MANIFEST)).read_bytes() == current.dump()
        except OSError:
            return False

    def _replace(self, current: Manifest, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        temporary = folder / f"{file_names.MANIFEST}.{os.getpid()}"
        try:
            temporary.write_bytes(current.dump())
            fsync_files([os.fspath(temporary)])
            os.replace(temporary, self.absolute(file_names.MANIFEST))
        finally:
            temporary.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            fsync_files([os.fspath(self.path)])


class Staging(Struct):
    """A private folder of files to be moved into a lake."""

    path: Path

    def plan(self, moves: Iterable[str]) -> None:
        """Record the names of files to be moved, for cleanup if this process dies."""
        path = self.path / _PLAN
        path.write_text(json.dumps(list(moves)), encoding="utf-8")
        fsync_files([os.fspath(path)])

    def write(self, name: str, data: bytes) -> tuple[int, str]:
        """Write a small file; returns its size and digest."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return len(data), hashlib.sha256(data).hexdigest()

    def write_schema(self, columns: tuple[RawColumn, ...]) -> str:
        """Write the columns of a table; returns the key of the schema."""
        data = document.dump_schema(columns)
        key = hashlib.sha256(data).hexdigest()[:16]
        self.write(file_names.schema(key), data)
        return key


class ReadLock:
    """A shared lock for readers; `alone` requests it exclusively without waiting."""

    def __init__(self, path: str, *, alone: bool = False) -> None:
        self.held = True
        flags = os.O_RDWR | os.O_CREAT if alone else os.O_RDONLY
        try:
            self._handle: int | None = os.open(path, flags | os.O_CLOEXEC, 0o666)
        except OSError:
            # On a read-only medium nothing is removed, so no lock is needed.
            self._handle = None
            return
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB if alone else fcntl.LOCK_SH)
        except OSError:
            self.held = not alone
            if alone:
                self.close()

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def __del__(self) -> None:
        self.close()

    def __enter__(self) -> bool:
        return self.held

    def __exit__(self, *_: object) -> None:
        self.close()


def import_file_name(
    imported: LakeInput, part: InputPart, file: LakeFile, seam: BoundaryDocument | None
) -> str:
    """Return the name of an imported file, which is outside its table if another file replaces it."""
    if seam is not None and any(replacement.place == file.place for replacement in seam.files):
        return file_names.replaced_file(
            imported.sha256, part.document, part.place, file.table, file.day, file.kind
        )
    return file.name(imported.sha256, part.system)


def find_part_document(stored: InputDocument, part: InputPart, folder: LakeFolder) -> PartDocument:
    """Return a part of a document. Raises InputError if the manifest and the document disagree."""
    if part.place < len(stored.parts):
        part_document = stored.parts[part.place]
        if part_document.info.system == part.system and part.tables == part_document.tables_key:
            return part_document
    raise InputError(
        f"the manifest and a document disagree on {part.system!r}",
        file=folder.absolute(file_names.MANIFEST),
        cure=phrase("lake_check", lake=folder.name),
    )


def digest(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


#: Bytes after the footer of a Parquet file: its length and a mark.
_FOOT_END = 8


def footer_digest(path: str | os.PathLike[str]) -> str:
    """Return a short digest of a Parquet file's footer, which describes all its pages; fast for any size."""
    with open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        end = os.pread(file.fileno(), _FOOT_END, max(size - _FOOT_END, 0))
        length = min(int.from_bytes(end[:4], "little") + _FOOT_END, size)
        data = os.pread(file.fileno(), length, size - length)
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def describe_file(written: WrittenFile, table: str, day: str, kind: str, key: str | None = None) -> LakeFile:
    """Return the facts of a file that was written for a table; `key` is that of its boundary."""
    size, sha256, foot = written.bytes, digest(written.path), footer_digest(written.path)
    times = written.first_us, written.last_us
    return LakeFile(table, day, kind, written.rows, size, sha256, *times, written.nulls, foot, key)


def verify(path: str, file: LakeFile | MeasuresFile, lake: str | os.PathLike[str]) -> None:
    """Raise InputError if a Parquet file is missing, or its size or footer differ from the manifest."""
    try:
        size = os.stat(path).st_size
        is_listed = size == file.bytes and footer_digest(path) == file.foot
        problem = f"this is not the file that the manifest lists, which has {file.rows:,} rows"
    except OSError as error:
        is_listed, problem = False, f"cannot be read: {error.strerror or error}"
    if not is_listed:
        raise InputError(problem, file=path, cure=phrase("lake_check", lake=lake))


def fsync_files(paths: Iterable[str]) -> None:
    """Flush files to disk, many in parallel: one disk write serves all pending flushes."""

    def sync_one(path: str) -> None:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(sync_one, paths))


@contextmanager
def translate_os_errors(
    folder: LakeFolder, room: str = "free space on the disk, or name a lake elsewhere"
) -> Iterator[None]:
    """Convert OSError to LakeError with a cure; `room` is the cure for a full disk."""
    try:
        yield
    except OSError as error:
        cure = room if is_disk_full(error) else "check the disk and the permissions of the folder"
        problem = f"{describe_write_error(error)}; the lake is unchanged"
        raise LakeError(problem, file=folder.name, cure=cure) from None


def is_dead(staging: Path) -> bool:
    try:
        handle = os.open(staging / _OWNER, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _planned_moves(staging: Path) -> list[str]:
    try:
        return file_names.own_names(json.loads((staging / _PLAN).read_bytes()))
    except (OSError, ValueError):
        return []
