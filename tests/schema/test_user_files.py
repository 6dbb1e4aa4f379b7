"""Tests of files that a user names."""

from __future__ import annotations

from pathlib import Path

import pytest

from zlens.errors import InputError
from zlens.schema import user_files


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o602])
def test_secret_that_others_can_read_is_refused(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "my token"
    path.write_text("0123456789abcdef")
    path.chmod(mode)
    with pytest.raises(InputError) as error:
        user_files.read_secret(str(path), 100, "token", "")
    assert error.value.cure == f"chmod 600 '{path}'"
    path.chmod(0o600)
    assert user_files.read_secret(str(path), 100, "token", "") == b"0123456789abcdef"


def test_secret_of_another_user_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers provide secrets as files that anybody in them can read."""
    path = tmp_path / "token"
    path.write_text("0123456789abcdef")
    path.chmod(0o444)
    monkeypatch.setattr("os.getuid", lambda: path.stat().st_uid + 1)
    assert user_files.read_secret(str(path), 100, "token", "") == b"0123456789abcdef"
