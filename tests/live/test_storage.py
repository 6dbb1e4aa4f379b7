"""Tests of the folder of `zlens live`: it may be removed, moved or on a full disk, and nothing is lost."""

from __future__ import annotations

import errno
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from replay import Pieces, differences, play, split_points

from monwrite_builder import beginning
from zlens.errors import LakeError
from zlens.live import watcher
from zlens.live.spool import Spool
from zlens.live.storage import RESERVE, Storage
from zlens.live.watcher import RetentionLimits, Watcher
from zlens.session.session import CoreSession

LIMITS = RetentionLimits(part=240.0)
GB = 10**9


@pytest.fixture(scope="module")
def recording(demo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    whole = demo_folder / "zldemo.monwrite"
    path = tmp_path_factory.mktemp("storage") / whole.name
    path.write_bytes(beginning(whole, 5))
    return path


@contextmanager
def watching(recording: Path, lake: Path) -> Iterator[tuple[Watcher, Pieces]]:
    """Yield a watcher that has closed some intervals, and its feed."""
    feed = Pieces(recording, split_points(recording, 2))
    with closing(Watcher([feed], lake=str(lake), limits=LIMITS, findings=False)) as live:
        while not any(stream.spool.state.bytes for stream in live.streams):
            live.step()
        yield live, feed


def is_same(recording: Path, lake: Path) -> bool:
    with CoreSession([str(recording)]) as recorded, CoreSession([str(lake)]) as stored:
        return differences(recorded, stored) == []


def test_moved_lake_is_awaited(tmp_path: Path, recording: Path) -> None:
    lake, elsewhere = tmp_path / "lake", tmp_path / "elsewhere"
    with watching(recording, lake) as (live, feed):
        offset = feed._offset
        live._collect_imports(wait=True)
        lake.rename(elsewhere)
        step = live.step()
        assert step is not None
        [reason] = step.errors
        assert (
            reason == f"{lake}/.live: this folder was removed or moved; zlens ends if it is not back in 60 s"
        )
        assert live.step() is None, "it is reported once"
        assert (live.blocked, feed._offset, lake.exists()) == (reason, offset, False)
        elsewhere.rename(lake)
        step = live.step()
        assert step is not None
        assert (step.notes, live.blocked) == (["data is stored again"], None)
        play(live)
        live.finish()
    assert is_same(recording, lake)


def test_removed_lake_ends_watcher(tmp_path: Path, recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "MISSING_S", 0.0)
    lake = tmp_path / "lake"
    with watching(recording, lake) as (live, _):
        live._collect_imports(wait=True)
        shutil.rmtree(lake)
        with pytest.raises(LakeError, match="was removed or moved") as error:
            live.step()
        assert error.value.file == str(lake / ".live")
        live.finish()
        assert not lake.exists(), "nothing is written where the lake was"


def test_removed_lake_is_error_of_finish(tmp_path: Path, recording: Path) -> None:
    with watching(recording, tmp_path / "lake") as (live, _):
        live._collect_imports(wait=True)
        shutil.rmtree(tmp_path / "lake")
        with pytest.raises(LakeError, match="was removed or moved"):
            live.finish()


def test_removed_spool_blocks_watcher(tmp_path: Path, recording: Path) -> None:
    with watching(recording, tmp_path / "lake") as (live, _):
        [stream] = live.streams
        live._collect_imports(wait=True)
        shutil.rmtree(stream.spool.folder)
        assert live.step() is not None
        assert (live.blocked or "").startswith(f"{stream.spool.folder}: this folder was removed")


def test_full_disk_is_awaited(tmp_path: Path, recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = tmp_path / "lake"
    with watching(recording, lake) as (live, feed):
        [stream] = live.streams
        offset = feed._offset
        with monkeypatch.context() as patch:
            patch.setattr(live._storage, "_free_bytes", lambda _: 1_000_000)
            step = live.step()
            needed = (RESERVE + 3 * stream.open_bytes) / 1e6
            assert step is not None
            assert step.errors == [
                f"{lake}/.live: the disk has 1 MB free, and {needed:,.0f} MB are needed; sources wait"
            ]
            assert (live.step(), feed._offset) == (None, offset)
        step = live.step()
        assert step is not None
        assert step.notes == ["data is stored again"]
        play(live)
        live.finish()
    assert is_same(recording, lake)


def test_unwritten_data_is_retried(tmp_path: Path, recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append, failures = Spool.append, [OSError(errno.ENOSPC, "No space left on device")]

    def sometimes(self: Spool, data: bytes, **options: Any) -> int:
        if failures:
            raise failures.pop()
        return append(self, data, **options)

    with watching(recording, tmp_path / "lake") as (live, _):
        monkeypatch.setattr(Spool, "append", sometimes)
        errors = [error for step in play(live) for error in step.errors]
        live.finish()
    assert errors == ["[Errno 28] No space left on device"]
    assert is_same(recording, tmp_path / "lake")


def test_failed_cut_is_resumed_by_restart(
    tmp_path: Path, recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "lake"

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with watching(recording, lake) as (live, _):
        [stream] = live.streams
        with monkeypatch.context() as patch:
            # The part is written, and the state that lists it is not.
            patch.setattr("zlens.live.durable_file.replace_document", full)
            with pytest.raises(LakeError, match=r"cannot be written: No space left on device") as error:
                play(live)
            assert error.value.file == str(stream.spool.folder)
            live.finish()
    feed = Pieces(recording, split_points(recording, 2))
    with closing(Watcher([feed], lake=str(lake), limits=LIMITS, findings=False)) as live:
        play(live)
        live.finish()
    assert is_same(recording, lake)


def test_failed_append_leaves_file_unchanged(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    assert spool.append(b"a" * 600) == 600
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        # The system writes the first 400 bytes before it refuses the others.
        with pytest.raises(OSError, match="File too large"):
            spool.append(b"b" * 600)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert spool.tail.read_bytes() == b"a" * 600
    assert spool.append(b"c") == 601


def test_forecast_of_disk(tmp_path: Path) -> None:
    now, free = 0.0, 100 * GB
    with closing(Storage(tmp_path, clock=lambda: now, free_bytes=lambda _: free)) as storage:

        def after(hours: float, free_gb: float) -> str | None:
            nonlocal now, free
            now, free = hours * 3600, int(free_gb * GB)
            return storage.forecast()

        assert after(0, 100) is None
        assert after(0.5, 99.5) is None
        # 1 GB an hour: 24 GB a day, and 99 / 24 days.
        said = f"the disk of {tmp_path} has 99.0 GB free; at today's rate of 24.0 GB a day it lasts 4.1 days"
        assert after(1, 99) == said
        # Once a day.
        assert [after(hour, 100 - hour) for hour in range(2, 25)] == [None] * 23
        assert (after(25, 75) or "").endswith(
            "75.0 GB free; at today's rate of 24.0 GB a day it lasts 3.1 days"
        )
        # In the last 24 hours, 75 GB more: 23 GB of 100 remain, at (98 - 23) GB a day.
        assert (after(26, 23) or "").endswith("at today's rate of 75.0 GB a day it lasts 7 h")
        assert (after(27, 22) or "").endswith("at today's rate of 75.0 GB a day it lasts 7 h"), "each hour"
        assert after(28, 200) is None, "files were removed"


@pytest.mark.long
def test_program_ends_without_its_lake(tmp_path: Path, recording: Path) -> None:
    source, lake = tmp_path / "growing.monwrite", tmp_path / "lake"
    source.write_bytes(recording.read_bytes())
    words = ["live", str(source), "--no-serve", "--lake", str(lake)]
    with subprocess.Popen(
        [sys.executable, "-m", "zlens", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        shutil.rmtree(lake)
        started = time.monotonic()
        _, errors = process.communicate(timeout=150)
        assert process.returncode == 2
        assert time.monotonic() - started > 50
    assert errors.splitlines() == [
        f"zlens: {lake}/.live: this folder was removed or moved; zlens ends if it is not back in 60 s",
        f"zlens: {lake}/.live: this folder of zlens live was removed or moved; move it back and start again, "
        "or start with another lake",
    ]
