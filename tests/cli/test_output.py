"""Where a result goes: a whole file or none, through links, and to devices without replacing them."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from zlens import cli
from zlens.cli import output


def test_a_file_behind_a_link_is_written_and_the_link_stays(tmp_path: Path) -> None:
    target = tmp_path / "target.txt"
    target.write_text("before")
    link = tmp_path / "link.txt"
    link.symlink_to(target)
    with output.opened(str(link)) as out:
        out.write("after")
    assert link.is_symlink()
    assert target.read_text() == "after"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.txt", "target.txt"]


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    """So is /dev/null, which an administrator would miss."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    with output.opened(str(pipe)) as out:
        out.write("through")
    reader.join(timeout=10)
    assert got == ["through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_parquet_is_not_for_a_pipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    words = ["sql", "nothing", "-q", "SELECT 1", "--format", "parquet", "-o", str(pipe)]
    assert cli.main(words) == 2
    assert "Parquet needs a file" in capsys.readouterr().err
    assert stat.S_ISFIFO(pipe.stat().st_mode)
