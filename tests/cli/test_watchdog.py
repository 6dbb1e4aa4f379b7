"""Tests of queries that the engine cannot interrupt: signals end them, and their memory is limited."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from iterations import quick_subset
from patience import until
from zlens.cli.watchdog import MEMORY

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the memory of a process")

DEAF = "SELECT levenshtein(repeat('a', 200000), repeat('b', 200000))"


def started(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "zlens", "sql", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(folder)},
    )


@pytest.mark.parametrize(
    ("sign", "status"), quick_subset(1, [(signal.SIGINT, 130), (signal.SIGTERM, 143)], several=True)
)
def test_signal_ends_uninterruptible_query(
    demo_files: list[Path], tmp_path: Path, sign: signal.Signals, status: int
) -> None:
    with started(tmp_path, str(demo_files[0]), "-q", DEAF) as process:
        # A query creates its folder when it starts.
        until(lambda: list(tmp_path.glob("zlens-*/zlens-*")))
        time.sleep(0.3)
        process.send_signal(sign)
        assert process.wait(60) == status
        assert process.communicate() == ("", "")
    assert list(tmp_path.iterdir()) == [], "what was spilled is removed"


def test_killed_program_ends_its_query(demo_files: list[Path], tmp_path: Path) -> None:
    with started(tmp_path, str(demo_files[0]), "-q", DEAF) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        until(lambda: children.read_text())
        number = children.read_text().split()[0]
        time.sleep(0.3)
        process.kill()
        until(lambda: not Path(f"/proc/{number}").exists())


@pytest.mark.parametrize(
    "query",
    [
        "SELECT list_sum(range(3000000000))",
        pytest.param("SELECT length(repeat('x', 3000000000 + range)) FROM range(20)", marks=pytest.mark.long),
    ],
)
def test_memory_limit_is_named_in_error(demo_files: list[Path], tmp_path: Path, query: str) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    with started(tmp_path, str(demo_files[0]), "-q", query) as process:
        out, err = process.communicate(timeout=120)
        assert (process.returncode, out) == (2, "")
        assert err.startswith("zlens: the query needs more than its 8 GB of memory")
    assert max(before, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) * 1024 < MEMORY
    assert list(tmp_path.iterdir()) == []


def test_status_and_output_are_those_of_command(demo_files: list[Path], tmp_path: Path) -> None:
    query = "SELECT count(*) AS n FROM load"
    with started(tmp_path, str(demo_files[0]), "-q", query, "--format", "csv") as process:
        out, err = process.communicate(timeout=120)
        assert (process.returncode, out.splitlines()[0], err) == (0, "n", "")
    with started(tmp_path, str(tmp_path / "none"), "-q", query) as process:
        out, err = process.communicate(timeout=120)
        assert (process.returncode, out) == (2, "")
        assert "no such file" in err
    assert list(tmp_path.iterdir()) == []
