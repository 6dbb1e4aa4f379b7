"""Lakes on object storage: S3, Google Cloud Storage and Azure, through obstore.

Objects have the same names and contents as the files of a local lake. Conditional writes of the manifest
(create only, or only if the e-tag is unchanged) replace the lock of a file system: a second writer starts
again from the new manifest. All other objects are written once. Objects that were read are cached locally
under their names.
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
#: Seconds until a retired object is removed, because readers may still need it.
GRACE_S = 86_400
#: Maximum bytes of cached objects of all lakes; the least recently used are evicted first.
KEPT = 20 * 1024**3
#: Bytes that a process fetches before it checks the size of the cache.
_FETCHED = 1024**3
#: Attempts of a change when other writers commit first, and the maximum pause between them in seconds.
_TRIES = 30
_PAUSE_S = 2.0
#: Attempts of a request that fails with a transient error.
_ATTEMPTS = 4
#: Parallel requests.
_AT_ONCE = 16
#: Timeout of a request in seconds.
TIMEOUT_S = 60.0
_PROBE = ".zlens-probe"
#: Prefix of the plans of writers: objects that they are about to write or to remove.
_PLANS = f"{file_names.STAGING}/"
#: Objects removed by one request.
_DELETED = 500
_CREDENTIALS = (
    "set the credentials of the store, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and its region"
)


class ConflictError(Exception):
    """Another writer has replaced the manifest."""


@cache
def open_remote(url: str) -> Remote:
    """Return the lake at a URL, one object per process."""
    return Remote(url)


class Remote(LakeFolder):
    """A lake on object storage. Paths are those of its local copy."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        if printable(self.url) != self.url:
            raise InputError("the name of the lake is not UTF-8 text", file=self.url, cure="name another one")
        self._store = _store(self.url)
        # The endpoint is part of the key: two stores may have buckets of the same name.
        endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
        key = hashlib.sha256(f"{self.url}\n{endpoint}".encode()).hexdigest()[:32]
        self._copies = Cache("lakes", "1").folder()
        super().__init__(self._copies / key)
        #: Last manifest and its version, in one tuple because threads read it while others replace it.
        self._seen: tuple[bytes, dict[str, str]] = (b"", {})
        self._fetched = 0

    @property
    def name(self) -> str:
        return self.url

    def display_path(self, name: str) -> str:
        return f"{self.url}/{name}"

    # -- the manifest --------------------------------------------------------------------------------

    def refresh_manifest(self) -> bool:
        """Read the manifest if it has changed; returns whether it exists."""
        known = self._seen[1].get("e_tag")
        options = {"if_none_match": known} if known else None
        obs = _obstore()
        with self._store_errors(file_names.MANIFEST):
            try:
                self._seen = _with_retries(
                    lambda: _content(obs.get(self._store, file_names.MANIFEST, options=options))
                )
            except obs.exceptions.NotModifiedError:
                pass
            except (FileNotFoundError, obs.exceptions.NotFoundError):
                self._seen = b"", {}
        return self._seen[0].startswith(file_names.MARK)

    def load(self) -> Manifest:
        with contextlib.suppress(InputError):
            return self._load()
        return self._load()

    def _load(self) -> Manifest:
        self.refresh_manifest()
        data, version = self._seen
        if not version:
            return Manifest()
        try:
            current = manifest.load(data, self.display_path(file_names.MANIFEST))
        except InputError:
            # A response can be cut without a sign of it but its content; kept, it would be read for ever.
            self._seen = b"", {}
            raise
        current.version = version
        return current

    def create(self) -> None:
        """Create the lake if needed. Raises LakeError for unsuitable stores or if other objects exist."""
        self._local()
        if self.refresh_manifest():
            return
        others = [entry["path"] for entry in self._list()]
        if self.refresh_manifest():
            # Another writer created it first.
            return
        if any(not name.startswith((_PROBE, _PLANS)) for name in others):
            raise LakeError(
                "there are other objects, and no lake", file=self.url, cure="name a new or an empty prefix"
            )
        self._probe()
        with contextlib.suppress(ConflictError):
            self._put_manifest(Manifest())

    def _probe(self) -> None:
        """Raise LakeError unless the store honors the conditions that a lake relies on."""
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
        """Replace the manifest. Raises ConflictError if it has changed since `current` was read."""
        obs = _obstore()
        data = current.dump()
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                put = obs.put(self._store, file_names.MANIFEST, data, mode=current.version or "create")
            except (obs.exceptions.AlreadyExistsError, obs.exceptions.PreconditionError):
                self.refresh_manifest()
                # An earlier attempt may have written it, although its response was lost.
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

    def read(self, name: str, sha256: str | None) -> bytes:
        self.fetch([name])
        if sha256 is not None and name not in self.moves:
            try:
                return super().read(name, sha256)
            except InputError:
                # The cached object may belong to an earlier lake at this URL.
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
        with self._store_errors(name):
            size = _with_retries(lambda: self._download(name))
        self._fetched += size
        if self._fetched > _FETCHED:
            self._fetched = 0
            _evict_objects(self._copies)

    def _download(self, name: str) -> int:
        """Download an object into the cache; returns its size."""
        target = self.absolute(name)
        temporary = f"{target}.{os.getpid()}-{secrets.token_hex(4)}.part"
        response = _obstore().get(self._store, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        try:
            with open(temporary, "wb") as file:
                size = sum(file.write(chunk) for chunk in response.stream(min_chunk_size=4 << 20))
            if size != response.meta["size"]:
                raise OSError(f"{size:,} bytes came instead of {response.meta['size']:,}")
            os.replace(temporary, target)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
        return size

    def verify(self, files: Mapping[str, LakeFile | MeasuresFile]) -> None:
        name_by_path = {path: path.removeprefix(self.absolute("")) for path in files}
        self.fetch(name_by_path.values())
        for path, file in files.items():
            try:
                verify(path, file, self.url)
                os.utime(path)
            except InputError:
                # The cached object may belong to an earlier lake at this URL.
                self._fetch(name_by_path[path])
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
        planned = self._all_planned(entry for entry in entries if entry.startswith(_PLANS))
        for name in sorted(entries):
            if name not in planned and not name.startswith(_PLANS):
                yield name

    # -- writing -------------------------------------------------------------------------------------

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock against other writers of this machine; `ConflictError` detects writers of other machines."""
        # The read lock prevents eviction from the cache.
        with self.reading(), super().locked():
            yield

    def remove_abandoned(self, current: Manifest) -> None:
        """Remove files of dead processes of this machine from the local copy; objects are not removed."""
        area = Path(self.absolute(file_names.STAGING))
        for entry in sorted(area.iterdir()) if area.is_dir() else []:
            if not entry.is_dir():
                entry.unlink(missing_ok=True)
            elif is_dead(entry):
                shutil.rmtree(entry, ignore_errors=True)

    def remove_retired(self, current: Manifest) -> int:
        """Return the number of retired objects; `commit` removes them after the grace period."""
        return len(current.retired)

    def commit(self, current: Manifest, staged: Staging, moves: dict[str, str]) -> None:
        """Write objects and list them in the manifest. Raises ConflictError if the manifest has changed.

        Objects are removed after the commit of a manifest that does not list them, by its writer. Until then
        the writer's plan lists them, on which `_check_twin` relies.
        """
        if not current.version:
            raise LakeError("the lake no longer exists", file=self.url, cure="import again")
        now = int(time.time())
        current.retired = [name for name in current.retired if name not in moves]
        abandoned_plans = self._retire_left(current, moves)
        since = {name: current.since.get(name, now) for name in current.retired}
        expired = {name for name, retired_s in since.items() if now - retired_s > GRACE_S}
        plan = f"{_PLANS}{secrets.token_hex(12)}.json"
        self._plan(plan, moves, sorted(expired))
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for upload in [
                pool.submit(self._put_object, name, path, current) for name, path in moves.items()
            ]:
                upload.result()
        current.retired = [name for name in current.retired if name not in expired]
        current.since = {name: since[name] for name in current.retired}
        try:
            self._put_manifest(current)
        except ConflictError:
            self._plan(plan, moves, [])
            raise
        # Cached, because the next import needs them.
        for name, path in moves.items():
            with contextlib.suppress(OSError):
                os.makedirs(os.path.dirname(self.absolute(name)), exist_ok=True)
                os.replace(path, self.absolute(name))
        for name in expired:
            self._remove(name)
        # The plan is removed last: while it exists, no other writer relies on these objects.
        if self._delete([*expired]):
            self._delete([plan, *abandoned_plans])

    def _retire_left(self, current: Manifest, moves: Mapping[str, str]) -> list[str]:
        """Retire objects of writers that died a day ago or earlier; returns their plans."""
        limit = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=GRACE_S)
        plans = [entry["path"] for entry in self._list(_PLANS) if entry["last_modified"] < limit]
        abandoned = self._all_planned(plans)
        if abandoned:
            # The current manifest; additions of the new one are in `moves`.
            abandoned -= {*self.listed(self.load()), *moves, *current.retired}
            current.retired += sorted(abandoned)
        return plans

    def _put_object(self, name: str, path: str, current: Manifest) -> None:
        """Write an object once. An existing object must be equal, or of a writer that died."""
        obs = _obstore()
        with self._store_errors(name, writing=True):
            try:
                _with_retries(lambda: obs.put(self._store, name, Path(path), mode="create"))
            except obs.exceptions.AlreadyExistsError:
                self._check_twin(name, path, current)

    def _check_twin(self, name: str, path: str, current: Manifest) -> None:
        """Check that an existing object can be listed. Raises ConflictError if it is about to be removed.

        A writer that removes it has planned that before the manifest of `current`. Without such a plan it is
        already removed or stays. So the object is read after the plans.
        """
        for entry in self._list(_PLANS):
            if name in self._planned(entry["path"])[1]:
                raise ConflictError
        try:
            response = _obstore().get(self._store, name)
        except FileNotFoundError:
            raise ConflictError from None
        with open(path, "rb") as file:
            same = (
                response.meta["size"] == os.fstat(file.fileno()).st_size
                and bytes(response.bytes()) == file.read()
            )
        if same:
            return
        age = dt.datetime.now(dt.UTC) - response.meta["last_modified"]
        is_left = name in current.retired or age > dt.timedelta(seconds=GRACE_S)
        if is_left and name not in self.listed(self.load()):
            # Its writer died before the commit, or it is no longer listed.
            _obstore().put(self._store, name, Path(path))
            return
        raise LakeError(
            "another writer is writing this object, with other contents",
            file=self.display_path(name),
            cure="use one release of zlens for all writers; try again",
        )

    # -- the store -----------------------------------------------------------------------------------

    def _local(self) -> None:
        """Create the folder of the local copy."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            Path(self.absolute(file_names.READERS)).touch()
        except OSError as error:
            raise InputError(
                f"the local copy of {self.url} cannot be written: {error.strerror or error}",
                file=str(self.path),
                cure="free disk space, or set XDG_CACHE_HOME to another folder",
            ) from None

    def _plan(self, plan: str, writes: Iterable[str], removes: list[str]) -> None:
        """Write a plan, or replace it."""
        data = json.dumps({"writes": [*writes], "removes": removes}).encode()
        with self._store_errors(plan, writing=True):
            _with_retries(lambda: _obstore().put(self._store, plan, data))

    def _delete(self, listed: list[str]) -> bool:
        """Remove objects; returns False if the store fails, which leaves the plan to a later writer."""
        obs = _obstore()
        try:
            for start in range(0, len(listed), _DELETED):
                obs.delete(self._store, listed[start : start + _DELETED])
        except (obs.exceptions.BaseError, OSError):
            return False
        return True

    def _planned(self, plan: str) -> tuple[list[str], list[str]]:
        """Return the objects that a writer plans to write and to remove; empty if its plan is gone."""
        obs = _obstore()
        with self._store_errors(plan):
            try:
                planned = json.loads(bytes(_with_retries(lambda: obs.get(self._store, plan)).bytes()))
            except (FileNotFoundError, obs.exceptions.NotFoundError, ValueError):
                return [], []
        writes, removes = (
            (planned.get(key) for key in ("writes", "removes")) if isinstance(planned, dict) else ((), ())
        )
        return file_names.own_names(writes), file_names.own_names(removes)

    def _all_planned(self, plans: Iterable[str]) -> set[str]:
        return {name for plan in plans for names in self._planned(plan) for name in names}

    def _list(self, prefix: str | None = None) -> list[Any]:
        obs = _obstore()
        with self._store_errors(""):
            return _with_retries(
                lambda: [entry for batch in obs.list(self._store, prefix) for entry in batch]
            )

    @contextmanager
    def _store_errors(self, name: str, *, writing: bool = False) -> Iterator[None]:
        """Convert errors of the object store as `_error` does."""
        try:
            yield
        except (_obstore().exceptions.BaseError, OSError) as error:
            raise self._error(error, name, writing=writing) from None

    def _error(self, error: Exception, name: str, *, writing: bool = False) -> ZlensError:
        """Convert an error of the object store to a LakeError with a cure; credentials are left out."""
        kinds = _obstore().exceptions
        kind: type[ZlensError] = LakeError if writing else InputError
        location = self.display_path(name)
        if isinstance(error, FileNotFoundError | kinds.NotFoundError):
            return kind(
                "there is no such object or bucket", file=location, cure=phrase("lake_check", lake=self.url)
            )
        if isinstance(error, PermissionError | kinds.PermissionDeniedError | kinds.UnauthenticatedError):
            return kind("the store denies access", file=location, cure=_CREDENTIALS)
        lines = str(error).split("\n\nDebug source")[0].splitlines()
        text = re.sub(r"\?\S*", "", lines[0] if lines else type(error).__name__)
        suffix = "; the lake is unchanged" if writing else ""
        return kind(
            f"the store fails: {text}{suffix}", file=location, cure="check the network, and try again"
        )


def _content(response: Any) -> tuple[bytes, dict[str, str]]:
    """Return the bytes and the version of an object."""
    return bytes(response.bytes()), _version(response.meta)


def _with_retries(send: Callable[[], _T]) -> _T:
    """Send a request, again if it fails with a transient error."""
    kinds = _obstore().exceptions
    for _ in range(1, _ATTEMPTS):
        try:
            return send()
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
    return send()


def _version(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return the values that identify a version of an object."""
    return {name: metadata[name] for name in ("e_tag", "version") if metadata[name] is not None}


def _obstore() -> Any:
    try:
        import obstore
        import obstore.exceptions
    except ImportError:
        raise InputError(
            "lakes on object storage need obstore", cure="in a checkout: pip install '.[objects]'"
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
                # Set here, because other client options disable it.
                "allow_http": os.environ.get("AWS_ALLOW_HTTP", "").lower() in ("1", "true", "yes"),
            },
            retry_config={"max_retries": 8, "retry_timeout": dt.timedelta(seconds=90)},
        )
    except (obs.exceptions.BaseError, ValueError) as error:
        text = str(error).split("\n\nDebug source")[0]
        raise InputError(f"this is not the URL of a lake: {text}", file=url, cure=_CREDENTIALS) from None


def _evict_objects(copies: Path) -> None:
    """Evict the least recently used objects beyond the limit, of lakes without readers."""
    objects: list[tuple[float, int, str, Path]] = []
    for lake in copies.iterdir():
        for area, _, files in os.walk(lake):
            for name in files:
                path = os.path.join(area, name)
                if name.endswith(".parquet"):
                    with contextlib.suppress(OSError):
                        status = os.stat(path)
                        objects.append((status.st_mtime, status.st_size, path, lake))
    excess = sum(size for _, size, _, _ in objects) - KEPT
    if excess <= 0:
        return
    old: dict[Path, list[str]] = {}
    for _, size, path, lake in sorted(objects):
        if excess > -KEPT // 4:
            old.setdefault(lake, []).append(path)
            excess -= size
    for lake, paths in old.items():
        with ReadLock(str(lake / file_names.READERS), alone=True) as alone:
            for path in paths if alone else ():
                with contextlib.suppress(OSError):
                    os.unlink(path)
