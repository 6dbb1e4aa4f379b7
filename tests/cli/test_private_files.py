"""Tests of permissions of lakes and of secrets in options."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bad import monwrite_samples
from zlens import lake
from zlens.cli import live, main
from zlens.errors import InputError, QueryError
from zlens.live import feeds
from zlens.live.notifications import CommandHook, Webhook
from zlens.live.watcher import Watcher


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    previous = os.umask(0o022)
    yield
    assert os.umask(previous) == 0o022


def _modes(folder: Path) -> tuple[set[int], set[int]]:
    """Return the permissions of a folder and those in it, and of files."""
    paths = [folder, *folder.rglob("*")]
    return tuple(
        {path.stat().st_mode & 0o777 for path in paths if path.is_dir() == is_dir} for is_dir in (True, False)
    )  # type: ignore[return-value]


@pytest.mark.parametrize("shared", [False, True])
def test_imported_lake_is_private_unless_shared(shared: bool, tmp_path: Path) -> None:
    data = monwrite_samples.write(tmp_path / "in.data")
    option = ["--shared"] if shared else []
    assert main(["import", str(data), "--lake", str(tmp_path / "lake"), *option]) == 0
    expected = ({0o750}, {0o640}) if shared else ({0o700}, {0o600})
    assert _modes(tmp_path / "lake") == expected
    # Later files are as those of the lake.
    other = monwrite_samples.write(tmp_path / "other.data", system="OTHER")
    assert main(["import", str(other), "--lake", str(tmp_path / "lake")]) == 0
    assert main(["lake", "rollup", str(tmp_path / "lake")]) == 0
    assert _modes(tmp_path / "lake") == expected


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_committed_lake_is_private_unless_shared(shared: bool, keep: bool, tmp_path: Path) -> None:
    """Staged files, which are always private, get the permissions of the lake."""
    folder, staged = str(tmp_path / "lake"), str(tmp_path / "staged")
    option, kept = ["--shared"] if shared else [], ["--keep"] if keep else []
    expected = ({0o750}, {0o640}) if shared else ({0o700}, {0o600})
    for name in ("ONE", "TWO"):
        data = monwrite_samples.write(tmp_path / f"{name}.data", system=name)
        assert main(["import", str(data), "--stage", staged]) == 0
        assert main(["lake", "commit", folder, staged, *option, *kept]) == 0
        assert _modes(tmp_path / "lake") == expected
        option = []


def test_lake_opened_by_hand_stays_open(tmp_path: Path) -> None:
    files = [monwrite_samples.write(tmp_path / f"{name}.data", system=name) for name in ("ONE", "TWO")]
    lake.add(files[:1], tmp_path / "lake")
    assert main(["import", str(files[1]), "--lake", str(tmp_path / "lake")]) == 0
    assert _modes(tmp_path / "lake") == ({0o755}, {0o644})


def test_live_writes_private_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = monwrite_samples.write(tmp_path / "in.data")
    words = ["--replay", str(data), "--speed", "1000000", "--lake", str(tmp_path / "lake"), "--no-serve"]
    assert main(["live", *words]) == 0
    assert (tmp_path / "lake" / ".live").is_dir()
    assert _modes(tmp_path / "lake") == ({0o700}, {0o600})


def test_lake_of_live_is_lake_from_the_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without an interval, its lock was read as an input: the file is empty."""
    growing, folder = tmp_path / "growing.data", tmp_path / "lake"
    growing.touch()
    Watcher([feeds.growing_file(str(growing))], lake=str(folder)).close()
    assert main(["lake", "check", str(folder)]) == 0
    assert main(["info", str(folder)]) == 2
    assert ".live" not in "".join(capsys.readouterr())


def test_command_for_findings_has_usual_umask(tmp_path: Path) -> None:
    os.umask(0o077)
    assert CommandHook.from_line(f"touch {tmp_path}/told", 0o022).send(b"") is None
    os.umask(0o022)
    assert (tmp_path / "told").stat().st_mode & 0o777 == 0o644


def test_webhook_is_read_from_file_and_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "hook"
    path.write_text("https://example.com/secret\n")
    with pytest.raises(InputError, match="chmod 600"):
        live._webhook(f"@{path}")
    path.chmod(0o600)
    assert live._webhook(f"@{path}") == Webhook("https://example.com/secret")
    monkeypatch.setenv("HOOK", "https://example.com/env")
    assert live._webhook("env:HOOK") == Webhook("https://example.com/env")
    with pytest.raises(QueryError, match="no variable 'NONE'"):
        live._webhook("env:NONE")
    # Errors do not quote what may be a secret.
    for text in ("example.com/secret", "https://example.com/se cret", "https://me:secret@example.com"):
        path.write_text(text)
        with pytest.raises(QueryError) as error:
            live._webhook(f"@{path}")
        assert "cret" not in str(error.value)
