"""Tests of `zlens live` as a program: output lines, exit status and termination."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

import zlens
from monwrite_builder import beginning

#: Timeout of every process; not a performance limit.
PATIENCE_S = 120


def live(*words: str, data: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "zlens", "live", *words]
    how = {"stdin": subprocess.DEVNULL} if data is None else {"input": data}
    return subprocess.run(command, capture_output=True, timeout=PATIENCE_S, check=False, **how)  # type: ignore[call-overload,no-any-return]


def test_line_for_each_interval_of_pipe(demo_folder: Path) -> None:
    """The configuration records end an interval without samples; the next one only closes its samples."""
    found = live("-", "--no-serve", data=beginning(demo_folder / "zldemo.monwrite", 4))
    assert found.returncode == 0
    lines = found.stdout.decode().splitlines()
    assert [line.split("  ")[1:3] for line in lines] == [["ZLDEMO", "60 s"]] * len(lines)
    assert [line[:19] for line in lines][:2] == ["2010-03-09 08:31:00", "2010-03-09 08:32:00"]
    with zlens.open(demo_folder / "zldemo.monwrite") as session:
        rows = session.sql("SELECT busy_pct FROM load ORDER BY interval_end").rows
    busy = [f"busy {value:.1f}%" for (value,) in rows[: len(lines)]]
    assert [line.split("  ")[3] for line in lines] == busy
    assert found.stderr == b""


@pytest.mark.long
def test_live_exits_with_130_on_signal(tmp_path: Path, demo_folder: Path) -> None:
    path = tmp_path / "growing"
    path.write_bytes(beginning(demo_folder / "zldemo.monwrite", 2))
    words = ["live", str(path), "--port", "0", "--lake", str(tmp_path / "lake")]
    command = [sys.executable, "-m", "zlens", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stdout.readline().startswith(b"http://127.0.0.1:")
        assert b"ZLDEMO" in program.stdout.readline()
        program.send_signal(signal.SIGTERM)
        _, said = program.communicate(timeout=PATIENCE_S)
    assert program.returncode == 130
    assert said == b""


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are counted in /proc")
def test_files_of_earlier_parts_do_not_stay_open(tmp_path: Path, demo_folder: Path) -> None:
    """Sessions of earlier steps, which are reference cycles, are freed with their files."""
    path = tmp_path / "growing"
    recording = demo_folder / "zldemo.monwrite"
    path.write_bytes(beginning(recording, 1))
    limits = ["--part", "2m", "--raw", "2m"]
    command = [sys.executable, "-m", "zlens", "live", str(path), "--no-serve", *limits]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stdout is not None
        closed = 0
        for intervals in (1, 3, 5, 7):
            path.write_bytes(beginning(recording, intervals))
            for _ in range(closed, intervals):
                assert b"ZLDEMO" in program.stdout.readline()
            closed = intervals
        deadline = time.monotonic() + PATIENCE_S
        while (left := _deleted(program.pid)) and time.monotonic() < deadline:
            time.sleep(0.1)
        program.send_signal(signal.SIGTERM)
        program.communicate(timeout=PATIENCE_S)
    assert left == []


def _deleted(process: int) -> list[str]:
    """Return the deleted files that a process has open."""
    files = []
    for descriptor in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):
            files.append(str(descriptor.readlink()))
    return [file for file in files if file.endswith(" (deleted)")]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), b"nothing to follow"),
        (("nowhere",), b"no such file or folder"),
        (("--replay", "nowhere"), b"no such file"),
        (("-", "--speed", "2"), b"--speed needs --replay"),
        (("-", "--keep", "long"), b"long"),
    ],
)
def test_live_rejects_unusable_input(words: tuple[str, ...], sentence: bytes) -> None:
    found = live(*words, "--no-serve", data=b"" if "-" in words else None)
    assert found.returncode == 2
    assert sentence in found.stderr
    assert found.stderr.count(b"\n") == 1


def test_live_rejects_foreign_stream() -> None:
    found = live("-", "--no-serve", data=b"nothing of the kind\n" * 1000)
    assert b"this stream cannot be followed" in found.stderr
    assert found.returncode == 2
