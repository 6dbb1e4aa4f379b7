"""Private folders of temporary files; those of killed processes are removed by the next one."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
import weakref
from contextlib import suppress

from zlens.errors import InputError

_PREFIX = "zlens-tmp-"
#: Locked while its folder is used, by the process and those forked from it.
_OWNER = ".owner"
FULL_DISK = "the disk of temporary files is full"
CURE = "free space there, or set TMPDIR to a folder on a disk with more space"
#: What the system reports of a full disk or quota.
_FULL = (errno.ENOSPC, errno.EDQUOT)
#: Folders whose abandoned temporary folders this process has removed.
_swept: set[str] = set()


class TemporaryFolder:
    """A folder that only this user can read, removed by `remove` or at the end of the program."""

    def __init__(self) -> None:
        """Create the folder. Raises InputError if the disk is full, or no folder can be written to."""
        named = os.environ.get("TMPDIR")
        if tempfile.tempdir is None and named and os.path.isdir(named) and not shutil.disk_usage(named).free:
            # Python would use another folder.
            raise InputError(FULL_DISK, file=named, cure=CURE)
        try:
            parent = tempfile.gettempdir()
            if parent not in _swept:
                _swept.add(parent)
                _remove_abandoned(parent)
            self.path, self._owner = _create(parent)
        except OSError as error:
            reason = f"no temporary files: {error.strerror or error}"
            raise InputError(
                FULL_DISK if error.errno in _FULL else reason, file=error.filename, cure=CURE
            ) from None
        self.remove = weakref.finalize(self, _remove, self.path, self._owner, os.getpid())

    def __enter__(self) -> str:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()


def _create(parent: str) -> tuple[str, int]:
    while True:
        path = tempfile.mkdtemp(prefix=_PREFIX, dir=parent)
        try:
            owner = os.open(os.path.join(path, _OWNER), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            continue
        fcntl.flock(owner, fcntl.LOCK_EX)
        if os.path.exists(os.path.join(path, _OWNER)):
            return path, owner
        # Another process took the folder for abandoned before it was locked.
        os.close(owner)


def _remove(path: str, owner: int, process: int) -> None:
    # A forked process leaves the folder to its parent.
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)
        with suppress(OSError):
            os.close(owner)


def _remove_abandoned(parent: str) -> None:
    """Remove the folders of processes of this user that were killed."""
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if not entry.name.startswith(_PREFIX) or not entry.is_dir(follow_symlinks=False):
                continue
            with suppress(OSError):
                if entry.stat(follow_symlinks=False).st_uid != os.getuid():
                    continue
                owner = os.open(os.path.join(entry.path, _OWNER), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(entry.path, ignore_errors=True)
                finally:
                    os.close(owner)
