"""Lakes on object storage: S3, Google Cloud Storage and Azure, through obstore.

The lake is the same, file by file. Its manifest changes by conditional writes (create only, or only if the
e-tag is still the one read), in place of a lock on a file system: whoever comes second starts again from the
new manifest. All other objects are written once. What is read is kept in a local copy, whole objects under
the names that they have in the lake.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import json
import os
import random
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from zlens.errors import InputError, LakeError, ZlensError
from zlens.inputs.problems import printable
from zlens.lake import file_names, manifest
from zlens.lake.documents import LakeFile, MeasuresFile
from zlens.lake.lake_folder import LakeFolder, ReadLock, Staging, is_dead, verify
from zlens.lake.manifest import Manifest
from zlens.schema.cache import Cache
from zlens.schema.wording import phrase

_T = TypeVar("_T")
#: Objects are removed when their names have not been listed for a day: somebody may still read them.
GRACE_S = 86_400
#: Bytes of objects kept for all lakes, the least recently used of which go first.
KEPT = 20 * 1024**3
#: Bytes fetched until a process looks how many are kept.
_FETCHED = 1024**3
#: How often a change is begun again because others came first, and the longest pause before that.
_TRIES = 30
_PAUSE_S = 2.0
#: Attempts of a request that fails with a transient error.
_ATTEMPTS = 4
#: Requests side by side.
_AT_ONCE = 16
#: The longest request, in seconds.
TIMEOUT_S = 60.0
_PROBE = ".zlens-probe"
#: Plans of writers: the objects that they are about to write, and those that they are about to remove.
_PLANS = f"{file_names.STAGING}/"
#: Objects removed by one request.
_DELETED = 500
_CREDENTIALS = (
    "set the credentials of the store, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and its region"
)


class ConflictError(Exception):
    """Another writer has replaced the manifest meanwhile."""


def is_lake(url: str) -> bool:
    """Whether there is a lake at a URL. InputError if the store cannot be asked."""
    return open_remote(url).refresh_manifest()


@cache
def open_remote(url: str) -> Remote:
    """The lake at a URL, one object in a process."""
    return Remote(url)


class Remote(LakeFolder):
    """A lake on object storage. Paths are those of its local copy."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        if printable(self.url) != self.url:
            raise InputError("the name of the lake is not UTF-8 text", file=self.url, cure="name another one")
        self._store = _store(self.url)
        # Also by its endpoint: two stores may have buckets of one name.
        endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
        key = hashlib.sha256(f"{self.url}\n{endpoint}".encode()).hexdigest()[:32]
        self._copies = Cache("lakes", "1").folder()
        super().__init__(self._copies / key)
        #: The manifest read last, and its version; one value, as threads read it while others pull.
        self._seen: tuple[bytes, dict[str, str]] = (b"", {})
        self._fetched = 0

    @property
    def name(self) -> str:
        return self.url

    def display_path(self, name: str) -> str:
        return f"{self.url}/{name}"

    # -- the manifest --------------------------------------------------------------------------------

    def refresh_manifest(self) -> bool:
        """Read the manifest if it has changed; whether there is one."""
        known = self._seen[1].get("e_tag")
        options = {"if_none_match": known} if known else None
        obs = _obstore()
        try:
            self._seen = _with_retries(
                lambda: _content(obs.get(self._store, file_names.MANIFEST, options=options))
            )
        except obs.exceptions.NotModifiedError:
            pass
        except (FileNotFoundError, obs.exceptions.NotFoundError):
            self._seen = b"", {}
        except (obs.exceptions.BaseError, OSError) as error:
            raise self._error(error, file_names.MANIFEST) from None
        return self._seen[0].startswith(file_names.MARK)

    def load(self) -> Manifest:
        self.refresh_manifest()
        data, version = self._seen
        if not version:
            return Manifest()
        current = manifest.load(data, self.display_path(file_names.MANIFEST))
        current.version = version
        return current

    def create(self) -> None:
        """Create the lake if needed; LakeError if the store ignores conditions or something else is there."""
        self._local()
        if self.refresh_manifest():
            return
        others = [entry["path"] for entry in self._list()]
        if self.refresh_manifest():
            # Another writer has just created it.
            return
        if any(not name.startswith((_PROBE, _PLANS)) for name in others):
            raise LakeError(
                "there are other objects, and no lake",
                file=self.url,
                cure="name a new or an empty prefix",
            )
        self._probe()
        with contextlib.suppress(ConflictError):
            self._put_manifest(Manifest())

    def _probe(self) -> None:
        """LakeError unless the store honors the conditions that a lake relies on."""
        obs = _obstore()
        name = f"{_PROBE}-{secrets.token_hex(8)}"
        try:
            obs.put(self._store, name, b"1", mode="create")
            for condition in ("create", {"e_tag": '"0"', "version": "0"}):
                try:
                    obs.put(self._store, name, b"2", mode=condition)
                except (obs.exceptions.AlreadyExistsError, obs.exceptions.PreconditionError):
                    continue
                raise LakeError(
                    "the store ignores conditional writes (If-None-Match, If-Match), by which a lake changes",
                    file=self.url,
                    cure="use one that honors them, such as S3 itself",
                )
        except (obs.exceptions.BaseError, OSError, NotImplementedError) as error:
            raise self._error(error, name, writing=True) from None
        finally:
            with contextlib.suppress(obs.exceptions.BaseError, OSError):
                obs.delete(self._store, name)

    def _put_manifest(self, current: Manifest) -> None:
        """Replace the manifest that this one was made from; ConflictError if it is another one by now."""
        obs = _obstore()
        data = current.dump()
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                put = obs.put(self._store, file_names.MANIFEST, data, mode=current.version or "create")
            except (obs.exceptions.AlreadyExistsError, obs.exceptions.PreconditionError):
                self.refresh_manifest()
                # A repeated request, or one whose answer was lost, may have written it.
                if self._seen[0] != data:
                    raise ConflictError from None
            except (obs.exceptions.BaseError, OSError) as error:
                self.refresh_manifest()
                if self._seen[0] != data:
                    if attempt < _ATTEMPTS and not isinstance(error, obs.exceptions.PermissionDeniedError):
                        continue
                    raise self._error(error, file_names.MANIFEST, writing=True) from None
            else:
                self._seen = data, _version(put)
            return

    def retry_on_conflict(self, work: Callable[[], _T]) -> _T:
        for number in range(1, _TRIES):
            try:
                return work()
            except ConflictError:
                time.sleep(random.uniform(0, min(_PAUSE_S, 0.05 * 2**number)))
        try:
            return work()
        except ConflictError:
            raise LakeError(
                f"other writers changed the lake during each of {_TRIES} attempts; nothing was written",
                file=self.url,
                cure="try again, with fewer writers at once or more inputs in each commit",
            ) from None

    # -- reading -------------------------------------------------------------------------------------

    def read(self, name: str, sha256: str | None, moves: Mapping[str, str] | None = None) -> bytes:
        if moves and name in moves:
            return super().read(name, sha256, moves)
        self.fetch([name])
        if sha256 is not None:
            try:
                return super().read(name, sha256)
            except InputError:
                # Perhaps of an earlier lake at this URL.
                self._fetch(name)
        return super().read(name, sha256)

    def fetch(self, wanted: Iterable[str]) -> None:
        missing = [name for name in dict.fromkeys(wanted) if not os.path.exists(self.absolute(name))]
        if not missing:
            return
        self._local()
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(self._fetch, missing))

    def _fetch(self, name: str) -> None:
        try:
            size = _with_retries(lambda: self._download(name))
        except (_obstore().exceptions.BaseError, OSError) as error:
            raise self._error(error, name) from None
        self._fetched += size
        if self._fetched > _FETCHED:
            self._fetched = 0
            _evict_objects(self._copies)

    def _download(self, name: str) -> int:
        """Copy an object; returns its size."""
        target = self.absolute(name)
        temporary = f"{target}.{os.getpid()}-{secrets.token_hex(4)}.part"
        got = _obstore().get(self._store, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        try:
            with open(temporary, "wb") as file:
                size = sum(file.write(chunk) for chunk in got.stream(min_chunk_size=4 << 20))
            if size != got.meta["size"]:
                raise OSError(f"{size:,} bytes came instead of {got.meta['size']:,}")
            os.replace(temporary, target)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
        return size

    def verify(self, files: Mapping[str, LakeFile | MeasuresFile]) -> None:
        own = {path: path.removeprefix(self.absolute("")) for path in files}
        self.fetch(own.values())
        for path, file in files.items():
            try:
                verify(path, file, self.url)
                os.utime(path)
            except InputError:
                # Perhaps of an earlier lake at this URL.
                self._fetch(own[path])
                verify(path, file, self.url)

    def reading(self) -> ReadLock:
        self._local()
        return super().reading()

    def refetch(self, wanted: Iterable[str]) -> Iterator[tuple[str, InputError | None]]:
        def again(name: str) -> tuple[str, InputError | None]:
            try:
                self._fetch(name)
            except InputError as error:
                return name, error
            return name, None

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            yield from pool.map(again, wanted)

    def files(self) -> Iterator[str]:
        entries = [entry["path"] for entry in self._list()]
        plans = [self._planned(entry) for entry in entries if entry.startswith(_PLANS)]
        coming = {name for plan in plans for names_of in plan for name in names_of}
        for name in sorted(entries):
            if name not in coming and not name.startswith(_PLANS):
                yield name

    # -- writing -------------------------------------------------------------------------------------

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One writer of this machine at a time; those of others are met by `ConflictError`."""
        # Nothing is removed from the copy meanwhile.
        with self.reading(), super().locked():
            yield

    def remove_abandoned(self, current: Manifest) -> None:
        """Remove what dead processes of this machine have left in the local copy; not objects."""
        area = Path(self.absolute(file_names.STAGING))
        for entry in sorted(area.iterdir()) if area.is_dir() else []:
            if not entry.is_dir():
                entry.unlink(missing_ok=True)
            elif is_dead(entry):
                shutil.rmtree(entry, ignore_errors=True)

    def remove_retired(self, current: Manifest) -> int:
        """Nothing: `commit` removes what has been retired for a day. Returns how many files are left."""
        return len(current.retired)

    def commit(self, current: Manifest, staged: Staging, moves: dict[str, str]) -> None:
        """Write objects, and list them in the manifest; ConflictError if that is another one by now.

        Objects are removed only after a manifest that no longer names them, by the writer of that manifest,
        whose plan says so until they are gone. `_check_twin` relies on that.
        """
        if not current.version:
            raise LakeError("the lake is gone", file=self.url, cure="import again")
        now = int(time.time())
        current.retired = [name for name in current.retired if name not in moves]
        ended = self._retire_left(current, moves)
        since = {name: current.since.get(name, now) for name in current.retired}
        gone = {name for name, moment in since.items() if now - moment > GRACE_S}
        plan = f"{_PLANS}{secrets.token_hex(12)}.json"
        self._plan(plan, moves, sorted(gone))
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for upload in [
                pool.submit(self._put_object, name, path, current) for name, path in moves.items()
            ]:
                upload.result()
        current.retired = [name for name in current.retired if name not in gone]
        current.since = {name: since[name] for name in current.retired}
        try:
            self._put_manifest(current)
        except ConflictError:
            self._plan(plan, moves, [])
            raise
        # They are needed soon, for what is imported next.
        for name, path in moves.items():
            with contextlib.suppress(OSError):
                os.makedirs(os.path.dirname(self.absolute(name)), exist_ok=True)
                os.replace(path, self.absolute(name))
        for name in gone:
            self._remove(name)
        # The plan goes last: as long as it is there, nobody takes these objects for ones that stay.
        if self._delete([*gone]):
            self._delete([plan, *ended])

    def _retire_left(self, current: Manifest, moves: Mapping[str, str]) -> list[str]:
        """Retire what writers have left that died a day ago; returns their plans."""
        before = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=GRACE_S)
        plans = [entry["path"] for entry in self._list(_PLANS) if entry["last_modified"] < before]
        left = {name for plan in plans for names_of in self._planned(plan) for name in names_of}
        if left:
            # Of the manifest as it is: what the new one adds is in `moves`.
            left -= {*self.listed(self.load()), *moves, *current.retired}
            current.retired += sorted(left)
        return plans

    def _put_object(self, name: str, path: str, current: Manifest) -> None:
        """Write an object once. One that is there already must be the same, or nobody else's."""
        obs = _obstore()
        try:
            try:
                _with_retries(lambda: obs.put(self._store, name, Path(path), mode="create"))
            except obs.exceptions.AlreadyExistsError:
                self._check_twin(name, path, current)
        except (obs.exceptions.BaseError, OSError) as error:
            raise self._error(error, name, writing=True) from None

    def _check_twin(self, name: str, path: str, current: Manifest) -> None:
        """Whether an object that is there can be listed; ConflictError if it is about to be removed.

        Whoever removes it has planned that before the manifest that `current` was made from. If there is no
        such plan now, it is gone by now, or it stays: so the object is read after the plans.
        """
        for entry in self._list(_PLANS):
            if name in self._planned(entry["path"])[1]:
                raise ConflictError
        try:
            got = _obstore().get(self._store, name)
        except FileNotFoundError:
            raise ConflictError from None
        with open(path, "rb") as file:
            same = got.meta["size"] == os.fstat(file.fileno()).st_size and bytes(got.bytes()) == file.read()
        if same:
            return
        age = dt.datetime.now(dt.UTC) - got.meta["last_modified"]
        is_left = name in current.retired or age > dt.timedelta(seconds=GRACE_S)
        if is_left and name not in self.listed(self.load()):
            # Of a writer that died before it could list it, or no longer listed.
            _obstore().put(self._store, name, Path(path))
            return
        raise LakeError(
            "another writer is writing this object, with other contents",
            file=self.display_path(name),
            cure="use one release of zlens for all writers; try again",
        )

    # -- the store -----------------------------------------------------------------------------------

    def _local(self) -> None:
        """Make sure that the local copy exists."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            Path(self.absolute(file_names.READERS)).touch()
        except OSError as error:
            raise InputError(
                f"the local copy of {self.url} cannot be written: {error.strerror or error}",
                file=str(self.path),
                cure="make room, or set XDG_CACHE_HOME to another folder",
            ) from None

    def _plan(self, plan: str, writes: Iterable[str], removes: list[str]) -> None:
        """Write a plan, or replace it."""
        obs = _obstore()
        data = json.dumps({"writes": [*writes], "removes": removes}).encode()
        try:
            _with_retries(lambda: obs.put(self._store, plan, data))
        except (obs.exceptions.BaseError, OSError) as error:
            raise self._error(error, plan, writing=True) from None

    def _delete(self, listed: list[str]) -> bool:
        """Remove objects; False if the store fails, which leaves the plan to a later writer."""
        obs = _obstore()
        try:
            for at in range(0, len(listed), _DELETED):
                obs.delete(self._store, listed[at : at + _DELETED])
        except (obs.exceptions.BaseError, OSError):
            return False
        return True

    def _planned(self, plan: str) -> tuple[list[str], list[str]]:
        """The names of objects that a writer has planned to write, and to remove; none if it is done."""
        obs = _obstore()
        try:
            planned = json.loads(bytes(_with_retries(lambda: obs.get(self._store, plan)).bytes()))
        except (FileNotFoundError, obs.exceptions.NotFoundError, ValueError):
            return [], []
        except (obs.exceptions.BaseError, OSError) as error:
            raise self._error(error, plan) from None
        writes, removes = (
            (planned.get(key) for key in ("writes", "removes")) if isinstance(planned, dict) else ((), ())
        )
        return _lake_names(writes), _lake_names(removes)

    def _list(self, prefix: str | None = None) -> Iterator[Any]:
        obs = _obstore()
        try:
            yield from _with_retries(
                lambda: [entry for batch in obs.list(self._store, prefix) for entry in batch]
            )
        except (obs.exceptions.BaseError, OSError) as error:
            raise self._error(error, "") from None

    def _error(self, error: Exception, name: str, *, writing: bool = False) -> ZlensError:
        """Convert an error of the object store to a LakeError with a cure; credentials are left out."""
        kinds = _obstore().exceptions
        kind: type[ZlensError] = LakeError if writing else InputError
        place = self.display_path(name)
        if isinstance(error, FileNotFoundError | kinds.NotFoundError):
            return kind(
                "there is no such object or bucket", file=place, cure=phrase("lake_check", lake=self.url)
            )
        if isinstance(error, PermissionError | kinds.PermissionDeniedError | kinds.UnauthenticatedError):
            return kind("the store denies access", file=place, cure=_CREDENTIALS)
        lines = str(error).split("\n\nDebug source")[0].splitlines()
        text = re.sub(r"\?\S*", "", lines[0] if lines else type(error).__name__)
        ended = "; the lake is as it was" if writing else ""
        return kind(f"the store fails: {text}{ended}", file=place, cure="check the network, and try again")


def _lake_names(listed: object) -> list[str]:
    """Names of files of a lake: nothing else is removed, whatever a plan says."""
    items = listed if isinstance(listed, list) else []
    return [name for name in items if isinstance(name, str) and file_names.is_own(name)]


def _content(got: Any) -> tuple[bytes, dict[str, str]]:
    """The bytes and the version of an object."""
    return bytes(got.bytes()), _version(got.meta)


def _with_retries(ask: Callable[[], _T]) -> _T:
    """Ask a store, several times if it fails in a way that may pass."""
    kinds = _obstore().exceptions
    for _ in range(1, _ATTEMPTS):
        try:
            return ask()
        except (
            FileNotFoundError,
            PermissionError,
            kinds.AlreadyExistsError,
            kinds.NotFoundError,
            kinds.NotModifiedError,
            kinds.PermissionDeniedError,
            kinds.PreconditionError,
            kinds.UnauthenticatedError,
        ):
            raise
        except (kinds.BaseError, OSError):
            continue
    return ask()


def _version(facts: Mapping[str, Any]) -> dict[str, str]:
    """What tells a version of an object from others."""
    return {name: facts[name] for name in ("e_tag", "version") if facts[name] is not None}


def _obstore() -> Any:
    try:
        import obstore
        import obstore.exceptions
    except ImportError:
        raise InputError(
            "lakes on object storage need obstore", cure="pip install 'zlens[objects]'"
        ) from None
    return obstore


def _store(url: str) -> Any:
    obs = _obstore()
    from obstore.store import from_url

    try:
        return from_url(
            url,
            client_options={
                "timeout": dt.timedelta(seconds=TIMEOUT_S),
                "connect_timeout": dt.timedelta(seconds=min(TIMEOUT_S, 10)),
                # Given here, or the options above would turn it off.
                "allow_http": os.environ.get("AWS_ALLOW_HTTP", "").lower() in ("1", "true", "yes"),
            },
            retry_config={"max_retries": 8, "retry_timeout": dt.timedelta(seconds=90)},
        )
    except (obs.exceptions.BaseError, ValueError) as error:
        text = str(error).split("\n\nDebug source")[0]
        raise InputError(f"this is not the URL of a lake: {text}", file=url, cure=_CREDENTIALS) from None


def _evict_objects(copies: Path) -> None:
    """Remove the least recently used objects if there are too many bytes, of lakes that nobody reads."""
    found: list[tuple[float, int, str, Path]] = []
    for lake in copies.iterdir():
        for area, _, files in os.walk(lake):
            for name in files:
                path = os.path.join(area, name)
                if name.endswith(".parquet"):
                    with contextlib.suppress(OSError):
                        status = os.stat(path)
                        found.append((status.st_mtime, status.st_size, path, lake))
    excess = sum(size for _, size, _, _ in found) - KEPT
    if excess <= 0:
        return
    old: dict[Path, list[str]] = {}
    for _, size, path, lake in sorted(found):
        if excess > -KEPT // 4:
            old.setdefault(lake, []).append(path)
            excess -= size
    for lake, paths in old.items():
        with ReadLock(str(lake / file_names.READERS), alone=True) as alone:
            for path in paths if alone else ():
                with contextlib.suppress(OSError):
                    os.unlink(path)
