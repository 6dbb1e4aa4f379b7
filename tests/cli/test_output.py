"""Tests of output files: complete or absent, written through links, devices and pipes not replaced."""

from __future__ import annotations

import os
import shutil
import stat
import threading
from pathlib import Path

import pytest

import monwrite_builder as monwrite
from zlens import cli, models
from zlens.cli import main, output


def test_output_through_link_keeps_link(tmp_path: Path) -> None:
    target = tmp_path / "target.txt"
    target.write_text("before")
    link = tmp_path / "link.txt"
    link.symlink_to(target)
    with output.open_output(str(link)) as out:
        out.write("after")
    assert link.is_symlink()
    assert target.read_text() == "after"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.txt", "target.txt"]


def test_output_to_pipe_keeps_pipe(tmp_path: Path) -> None:
    """This also protects /dev/null."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    with output.open_output(str(pipe)) as out:
        out.write("through")
    reader.join(timeout=10)
    assert got == ["through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_parquet_to_pipe_is_rejected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    words = ["sql", "nothing", "-q", "SELECT 1", "--format", "parquet", "-o", str(pipe)]
    assert cli.main(words) == 2
    assert "Parquet needs a file" in capsys.readouterr().err
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_output_over_input_is_rejected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = tmp_path / "s.toml"
    scenario.write_text(models.find("queueing").example, encoding="utf-8")
    before = scenario.read_bytes()
    link = tmp_path / "link.toml"
    link.symlink_to(scenario)
    for target in (scenario, link):
        assert main(["solve", "queueing", str(scenario), "-o", str(target)]) == 2
        assert "the output would replace an input; write to another file" in capsys.readouterr().err
    data = tmp_path / "data"
    data.mkdir()
    recording = monwrite.write(data / "a.monwrite", [monwrite.configuration(monwrite.START_US)])
    for named in (str(recording), str(data), str(tmp_path / "da*" / "*.monwrite")):
        assert main(["report", "user", named, "-o", str(recording)]) == 2
        assert "would replace an input" in capsys.readouterr().err
    assert main(["compare", str(data), "-o", str(recording), "--", str(scenario)]) == 2
    assert "would replace an input" in capsys.readouterr().err
    assert scenario.read_bytes() == before
    # A new file next to the data is not an input.
    assert main(["solve", "queueing", str(scenario), "-o", str(tmp_path / "new.txt")]) == 0


def test_output_into_lake_is_rejected(
    demo_files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = tmp_path / "lake"
    assert main(["import", str(demo_files[1]), "--tz", "+01:00", "--lake", str(lake)]) == 0
    inside = next(path for path in lake.rglob("*.parquet"))
    before = inside.read_bytes()
    for target in (inside, lake / "manifest.json", lake / "new.txt"):
        assert main(["sql", str(lake), "-q", "SELECT 1", "-o", str(target)]) == 2
        assert "the output is inside a lake" in capsys.readouterr().err
    assert inside.read_bytes() == before


@pytest.mark.long
def test_demo_preserves_other_files(
    tmp_path: Path, demo_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "zlzos.smf"
    own.write_text("mine", encoding="utf-8")
    assert main(["demo", str(tmp_path), "--quiet"]) == 2
    assert "exists and is not a demo file; name another folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["zlzos.smf"]
    shutil.copytree(demo_folder, tmp_path, dirs_exist_ok=True)
    assert main(["demo", str(tmp_path), "--quiet", "--seed", "7"]) == 0
    assert own.read_bytes() != (demo_folder / own.name).read_bytes()
