"""The folder of a lake: its locks, its manifest, and how files come into it and go.

Files are written under `.staging`, renamed into place, and are there from the moment at which the manifest
is replaced. What a process that died has left behind goes with the next import. Locks are the kernel's
(flock), so that none outlives its process.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from zlens.errors import InputError, LakeError
from zlens.lake import document, manifest, names
from zlens.lake.document import Document, File, PartDocument, SeamDocument
from zlens.lake.manifest import Input, Manifest, Part
from zlens.schema.wording import say

#: Size and digest of a file, where they are known.
Listed = tuple[int | None, str | None]

_PLAN = "plan.json"
_OWNER = "owner"
#: What a folder may hold before it becomes a lake.
_BEGUN = frozenset({names.STAGING, names.LOCK, names.READERS})
#: A manifest of more is none: room for a century of hourly files.
_LARGEST = 2 * 1024**3


class Folder:
    """A lake's folder. Paths within it are relative, as `names` makes them."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._root = os.path.abspath(path)

    def absolute(self, name: str) -> str:
        return f"{self._root}{os.sep}{name}"

    def create(self) -> None:
        """Make the folder if need be; LakeError when it is used for something else."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            held = set(os.listdir(self.path))
            if names.is_lake(self.path) or held <= _BEGUN:
                # Readers may not be allowed to make it.
                Path(self.absolute(names.READERS)).touch()
        except OSError as error:
            raise LakeError(
                f"cannot be made a lake: {error.strerror or error}", file=str(self.path), cure="name a folder"
            ) from None
        if not names.is_lake(self.path) and not held <= _BEGUN:
            raise LakeError(
                "the folder holds other files and is no lake",
                file=str(self.path),
                cure="name a new or an empty folder",
            )

    # -- the manifest --------------------------------------------------------------------------------

    def load(self) -> Manifest:
        """The manifest as it is now; an empty one where there is none yet."""
        path = self.absolute(names.MANIFEST)
        try:
            with open(path, "rb") as file:
                data = file.read(_LARGEST + 1)
        except FileNotFoundError:
            return Manifest()
        except OSError as error:
            raise InputError(
                f"cannot be read: {error.strerror or error}", file=path, cure="check permissions"
            ) from None
        if len(data) > _LARGEST:
            raise InputError("the manifest is too large", file=path, expected=f"at most {_LARGEST:,} bytes")
        return manifest.load(data, path)

    def read(self, name: str, sha256: str | None, moves: Mapping[str, str] | None = None) -> bytes:
        """A file of the lake; InputError when it is not there or not the one that was listed."""
        path = (moves or {}).get(name) or self.absolute(name)
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError as error:
            raise InputError(
                f"cannot be read: {error.strerror or error}",
                file=path,
                cure=say("lake_check", lake=self.path),
            ) from None
        if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
            raise InputError(
                "this is not the file that the manifest lists",
                file=path,
                cure=say("lake_check", lake=self.path),
            )
        return data

    def document(self, one: Input, key: str) -> Document:
        name = f"{names.document(one.sha256, key)}/{document.NAME}"
        return document.load(self.read(name, one.documents[key]), self.absolute(name))

    def seam(self, one: Input, part: Part, moves: Mapping[str, str] | None = None) -> SeamDocument | None:
        """What a part's seam says; `moves` tells where a file is that is not in the lake yet."""
        if part.seam is None:
            return None
        name = self.seam_name(one, part)
        data = self.read(name, part.seam.sha256, moves)
        return document.load_seam(data, self.absolute(name), part.seam.key)

    @staticmethod
    def seam_name(one: Input, part: Part) -> str:
        key = part.seam.key if part.seam else ""
        return f"{names.document(one.sha256, part.document)}/{part.place}.seam.{key}.json"

    def listed(self, now: Manifest, moves: Mapping[str, str] | None = None) -> dict[str, Listed]:
        """Every file that the manifest lists, directly or through documents: size and digest where known."""
        found: dict[str, Listed] = {}
        for one in now.inputs.values():
            found.update(self.listed_of(one, moves))
        return found

    def listed_of(self, one: Input, moves: Mapping[str, str] | None = None) -> dict[str, Listed]:
        """The files of one input."""
        found: dict[str, Listed] = {}
        documents = {key: self.document(one, key) for key in one.documents}
        for key, told in documents.items():
            base = names.document(one.sha256, key)
            found[f"{base}/{document.NAME}"] = (None, one.documents[key])
            found.update({f"{base}/{name}": facts for name, facts in told.side.items()})
        for part in one.parts.values():
            own = part_of(documents[part.document], part, self)
            found.update({names.schema(schema): (None, None) for schema in own.schemas.values()})
            seam = self.seam(one, part, moves)
            if part.seam is not None:
                found[self.seam_name(one, part)] = (None, part.seam.sha256)
            for file in own.files:
                found[base_name(one, part, file, seam)] = (file.bytes, file.sha256)
            for file in seam.files if seam else ():
                if file.rows:
                    found[file.name(one.sha256, part.system)] = (file.bytes, file.sha256)
        return found

    # -- locks ---------------------------------------------------------------------------------------

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Alone with the manifest: for as long as it takes to read, change and replace it."""
        handle = os.open(self.absolute(names.LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def reading(self) -> Reading:
        """Keeps what the manifest lists from being removed until the object is gone."""
        return Reading(self.absolute(names.READERS))

    # -- staging -------------------------------------------------------------------------------------

    @contextmanager
    def staging(self) -> Iterator[Staging]:
        """A private folder within the lake; gone at the end, whatever happens."""
        with self.locked():
            # Under the lock, so that nobody takes it for a dead one before it has its owner.
            area = Path(self.absolute(names.STAGING))
            area.mkdir(exist_ok=True)
            made = area / f"{os.getpid()}-{secrets.token_hex(6)}"
            made.mkdir()
            handle = os.open(made / _OWNER, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            yield Staging(self, made)
        finally:
            shutil.rmtree(made, ignore_errors=True)
            os.close(handle)

    def clean(self, now: Manifest) -> None:
        """Remove what processes that died have left, and what was waiting for readers. Under the lock."""
        area = Path(self.absolute(names.STAGING))
        left = sorted(area.iterdir()) if area.is_dir() else []
        for one in left:
            if not one.is_dir():
                one.unlink(missing_ok=True)
        dead = [one for one in left if one.is_dir() and _is_dead(one)]
        planned = {name for one in dead for name in _planned(one)}
        if planned:
            for name in planned - self.listed(now).keys() - set(now.retired):
                self._remove(name)
        for one in dead:
            shutil.rmtree(one, ignore_errors=True)
        self.sweep(now)

    def sweep(self, now: Manifest) -> int:
        """Remove retired files unless somebody reads, and replace the manifest; how many are left."""
        if not now.retired:
            return 0
        with Reading(self.absolute(names.READERS), alone=True) as alone:
            if not alone:
                return len(now.retired)
            for name in now.retired:
                self._remove(name)
            now.retired = []
            self._replace(now, Path(self.absolute(names.STAGING)))
        return 0

    def _remove(self, name: str) -> None:
        path = self.absolute(name)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        # Folders of days, systems and tables go with their last file.
        parent = os.path.dirname(name)
        while parent:
            try:
                os.rmdir(self.absolute(parent))
            except OSError:
                break
            parent = os.path.dirname(parent)

    def commit(self, now: Manifest, staged: Staging, moves: dict[str, str]) -> None:
        """Move files into place (name in the lake: path now) and let the manifest list them; locked."""
        fresh: list[str] = []
        try:
            staged.plan(moves)
            folders: set[str] = set()
            for name, path in moves.items():
                target = self.absolute(name)
                folders.add(os.path.dirname(target))
                os.makedirs(os.path.dirname(target), exist_ok=True)
                if not os.path.exists(target):
                    fresh.append(name)
                os.replace(path, target)
            sync(folders)
            now.retired = [name for name in now.retired if name not in moves]
            self._replace(now, staged.path)
        except BaseException:
            # Ctrl-C may come when all is done already: what stands on the disk decides.
            if not self._is_current(now):
                for name in fresh:
                    self._remove(name)
            raise

    def _is_current(self, now: Manifest) -> bool:
        try:
            return Path(self.absolute(names.MANIFEST)).read_bytes() == now.dump()
        except OSError:
            return False

    def replace(self, now: Manifest, staged: Staging) -> None:
        """Make a manifest the one that counts. Under the lock."""
        self._replace(now, staged.path)

    def _replace(self, now: Manifest, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        temporary = folder / f"{names.MANIFEST}.{os.getpid()}"
        try:
            with open(temporary, "wb") as file:
                file.write(now.dump())
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self.absolute(names.MANIFEST))
        finally:
            temporary.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            sync([os.fspath(self.path)])


class Staging:
    """Files on their way into a lake."""

    def __init__(self, folder: Folder, path: Path) -> None:
        self.folder = folder
        self.path = path

    def plan(self, moves: Iterable[str]) -> None:
        """Note what will be moved where, for the case that this process dies on the way."""
        with open(self.path / _PLAN, "w", encoding="utf-8") as file:
            json.dump(list(moves), file)
            file.flush()
            os.fsync(file.fileno())

    def write(self, name: str, data: bytes) -> tuple[int, str]:
        """Write a small file; its size and digest."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return len(data), hashlib.sha256(data).hexdigest()


class Reading:
    """A shared lock held by readers; `alone` asks for it as the only one and does not wait."""

    def __init__(self, path: str, *, alone: bool = False) -> None:
        self.held = True
        flags = os.O_RDWR | os.O_CREAT if alone else os.O_RDONLY
        try:
            self._handle: int | None = os.open(path, flags | os.O_CLOEXEC, 0o666)
        except OSError:
            # A lake on a medium that nobody can write to: nothing goes away there.
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


def base_name(one: Input, part: Part, file: File, seam: SeamDocument | None) -> str:
    """Where a file of an import is: among those of its table, or aside if another one stands in for it."""
    if seam is not None and any(other.place == file.place for other in seam.files):
        return names.aside(one.sha256, part.document, part.place, file.table, file.day, file.kind)
    return file.name(one.sha256, part.system)


def part_of(told: Document, part: Part, folder: Folder) -> PartDocument:
    """What a document says of a part."""
    if part.place < len(told.parts) and told.parts[part.place].info.system == part.system:
        return told.parts[part.place]
    raise InputError(
        f"the manifest and a document disagree on {part.system!r}",
        file=folder.absolute(names.MANIFEST),
        cure=say("lake_check", lake=folder.path),
    )


def digest(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync(paths: Iterable[str]) -> None:
    """Bring files to the disk, many at a time: one write of the disk's serves all that wait for it."""

    def one(path: str) -> None:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(one, paths))


@contextmanager
def typed(folder: Folder) -> Iterator[None]:
    """What the system says when nothing more can be written, as an error with its cure."""
    try:
        yield
    except OSError as error:
        what, cure = error.strerror or str(error), "check the disk and the permissions of the folder"
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            what, cure = f"there is no more room ({what})", "make room on the disk, or name a lake elsewhere"
        raise LakeError(f"{what}; the lake is as it was", file=str(folder.path), cure=cure) from None


def _is_dead(staging: Path) -> bool:
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


def _planned(staging: Path) -> list[str]:
    try:
        found = json.loads((staging / _PLAN).read_bytes())
    except (OSError, ValueError):
        return []
    return [name for name in found if isinstance(name, str) and names.is_own(name)]
