"""Tests of names that are not text, folders that cannot be read, and pipes without a writer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import monwrite_samples
import pytest

import zlens
from iterations import iterations
from readers import smf113_builder, test_hmc
from zlens.errors import InputError
from zlens.schema import user_files


def run(*words: str | bytes) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, "-m", "zlens", *words], capture_output=True, timeout=120)
    err = done.stderr.decode("utf-8", "replace")
    assert "bug" not in err
    assert "surrogate" not in err
    return done.returncode, done.stdout.decode("utf-8", "replace"), err


@pytest.fixture
def folder(tmp_path: Path) -> bytes:
    """A file for each way of reading, each with a byte in its name that is not valid text."""
    found = os.fsencode(tmp_path) + b"/in\xff"
    os.mkdir(found)
    monwrite_samples.write(tmp_path / "good.data")
    smf113_builder.dump(tmp_path / "good.smf", [smf113_builder.record(1, 0, 300.0)])
    (tmp_path / "good.txt").write_text(test_hmc.MADE + "junk\n")
    (tmp_path / "junk").write_text("junk\n")
    for name in ("good.data", "good.smf", "good.txt", "junk"):
        os.rename(tmp_path / name, found + b"/\xfe" + name.encode())
    return found


FILES = (
    "SELECT file FROM d0r2 UNION SELECT file FROM smf113 UNION SELECT file FROM hmc_metric "
    "UNION SELECT file FROM problem ORDER BY file"
)


def names(folder: str) -> list[str]:
    return [
        f"{folder}/\N{REPLACEMENT CHARACTER}{name}" for name in ("good.data", "good.smf", "good.txt", "junk")
    ]


def test_undecodable_names_show_replacement_characters(folder: bytes) -> None:
    status, out, err = run("sql", folder, "-q", FILES, "--format", "json")
    assert status == 0, err
    shown = folder.decode("utf-8", "replace")
    assert [row["file"] for row in json.loads(out)] == names(shown)
    for words in (["info"], *iterations([["findings"], ["report", "cpumf"]], [["report", "cpumf"]])):
        assert run(*words, folder)[0] == 0


def test_lake_stores_undecodable_names_as_text(folder: bytes, tmp_path: Path) -> None:
    lake = os.fsencode(tmp_path) + b"/lake"
    assert run("import", folder, "--lake", lake)[0] == 0
    status, out, err = run("sql", lake, "-q", "SELECT count(*) AS n FROM problem", "--format", "csv")
    assert (status, int(out.split()[1]) > 0) == (0, True), err
    assert "no faults" in run("lake", "check", lake)[1]
    status, _, err = run("import", folder, "--lake", lake + b"\xff")
    assert status == 2
    assert "its name is not UTF-8 text" in err
    os.rename(lake, lake + b"\xff")
    status, _, err = run("sql", lake + b"\xff", "-q", "SELECT 1")
    assert status == 2
    assert "not UTF-8 text" in err


def test_undecodable_query_is_rejected(folder: bytes) -> None:
    status, _, err = run("sql", folder, "-q", b"SELECT '\xff'")
    assert status == 2
    assert "the query is not UTF-8 text" in err


def test_unreadable_folder_is_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monwrite_samples.write(tmp_path / "good.data")
    (tmp_path / "denied").mkdir()
    real = os.scandir

    def scandir(path: Any) -> Any:
        if os.fspath(path).endswith("denied"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with zlens.open(tmp_path) as session:
        (problem,) = session.problems
        assert (problem.kind, problem.file) == ("changed", str(tmp_path / "denied"))
        assert "Permission denied" in problem.detail
    with pytest.raises(InputError, match="the folder cannot be read: Permission denied"):
        zlens.open(tmp_path / "denied")


def test_pipe_without_writer_times_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_files, "_PIPE_S", 0.2)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="no process wrote within"):
        user_files.read_content(str(pipe), 100, "file of groups", "")
    reader = os.open(pipe, os.O_RDWR)
    os.write(reader, b"text")
    with user_files.open_user_file(str(pipe)) as file:
        assert os.read(file.fileno(), 100) == b"text"
    os.close(reader)
