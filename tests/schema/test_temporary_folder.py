"""Tests of folders for temporary files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from zlens.errors import InputError
from zlens.schema.temporary_folder import CURE, TemporaryFolder

_HOLD = (
    "from zlens.schema.temporary_folder import TemporaryFolder; import sys; "
    "folder = TemporaryFolder(); open(folder.path + '/spilled', 'w').close(); "
    "print(folder.path, flush=True); sys.stdin.read()"
)


def _holder(folder: Path) -> tuple[subprocess.Popen[str], Path]:
    """Start a process with a temporary folder, and return it with its folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_folder_of_killed_process_is_removed_by_next(tmp_path: Path) -> None:
    (tmp_path / "zlens-demo").mkdir()
    killed, abandoned = _holder(tmp_path)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert (abandoned / "spilled").exists()
    process, used = _holder(tmp_path)
    other, own = _holder(tmp_path)
    # Folders that are used stay, and those of others.
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "zlens-demo", used, own])
    assert used.stat().st_mode & 0o777 == 0o700
    for running in (process, other):
        running.communicate("")
    assert list(tmp_path.iterdir()) == [tmp_path / "zlens-demo"]


def test_full_temporary_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    usage = type("Usage", (), {"free": 0})
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    with pytest.raises(InputError) as error:
        TemporaryFolder()
    assert str(error.value) == f"{tmp_path}: the disk of temporary files is full; {CURE}"
