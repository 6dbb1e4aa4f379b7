"""Tests that `zlens live`, killed at any time, loses and duplicates nothing.

The oracle is the import of the complete recording into a lake.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from replay import PATIENCE_S, Pieces, differences, play, split_points

from iterations import iterations
from monwrite_builder import beginning
from patience import until
from zlens import lake
from zlens.errors import LakeError
from zlens.live.watcher import RetentionLimits, Watcher
from zlens.session.session import CoreSession

#: A part for the lake every four minutes.
LIMITS = RetentionLimits(part=240.0)


@pytest.fixture(scope="module")
def recording(demo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three parts; with --all, the complete hour."""
    whole = demo_folder / "zldemo.monwrite"
    path = tmp_path_factory.mktemp("restart") / whole.name
    path.write_bytes(iterations(whole.read_bytes(), beginning(whole, 14)))
    return path


def live_program(source: Path, into: Path) -> subprocess.Popen[bytes]:
    words = ["live", str(source), "--no-serve", "--lake", str(into), "--part", "4m"]
    return subprocess.Popen(
        [sys.executable, "-m", "zlens", *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def same(recording: Path, into: object, live: Watcher | None = None) -> None:
    """Check that the lake and the live session equal the recording."""
    with CoreSession([str(recording)]) as recorded, CoreSession([str(into)]) as stored:
        assert differences(recorded, stored) == []
        if live is not None:
            with live.session() as shown:
                assert differences(recorded, shown) == []


def test_killed_live_run_resumes(tmp_path: Path, recording: Path) -> None:
    data = recording.read_bytes()
    source, into = tmp_path / "growing.monwrite", tmp_path / "lake"
    chance = random.Random(19)
    kills = iterations(20, 1)
    ends = sorted(chance.randrange(len(data) // 3, len(data)) for _ in range(kills))
    written = 0
    for end in ends:
        # The file grows while the program reads it.
        with open(source, "ab") as file:
            file.write(data[written:end])
        written = end
        program = live_program(source, into)
        # Before the state exists, a kill loses nothing.
        until(lambda: [*into.glob(".live/*/state.json")])
        time.sleep(chance.uniform(0, iterations(5, 1)))
        program.send_signal(signal.SIGKILL)
        program.communicate()
    with open(source, "ab") as file:
        file.write(data[written:])
    # The rest, to the end.
    live = Watcher([Pieces(source, [len(data)])], lake=str(into), limits=LIMITS, findings=False)
    try:
        play(live)
        live.finish()
        same(recording, into, live)
    finally:
        live.close()
    assert lake.check(into).faults == []


@pytest.mark.long
def test_steps_do_not_wait_for_lake(tmp_path: Path, recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals are closed while earlier parts are imported, in order."""
    go, add, imported = threading.Event(), lake.add, []

    def slowly(parts: list[Path], *words: Any, **options: Any) -> object:
        assert go.wait(PATIENCE_S)
        imported.extend(part.name for part in parts)
        return add(parts, *words, **options)

    monkeypatch.setattr(lake, "add", slowly)
    into = str(tmp_path / "lake")
    pieces, limits = Pieces(recording, split_points(recording, 4)), RetentionLimits(part=120.0)
    live = Watcher([pieces], lake=into, limits=limits, findings=False)
    try:
        play(live)
        [stream] = live.streams
        assert imported == []
        pending = stream.spool.state.pending
        assert len(pending) > 1
        go.set()
        live.finish()
        assert imported == [f"part-{number:08}" for number in (*pending, len(pending))]
        assert stream.spool.state.pending == []
    finally:
        go.set()
        live.close()
    same(recording, into)


@pytest.mark.long
def test_failed_import_is_reported_and_retried(
    tmp_path: Path, recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add, failures = lake.add, [LakeError("the disk is full")]

    def sometimes(*words: Any, **options: Any) -> object:
        if failures:
            raise failures.pop()
        return add(*words, **options)

    monkeypatch.setattr(lake, "add", sometimes)
    into = str(tmp_path / "lake")
    live = Watcher([Pieces(recording, split_points(recording, 6))], lake=into, limits=LIMITS, findings=False)
    try:
        errors = [error for step in play(live) for error in step.errors]
        live.finish()
    finally:
        live.close()
    assert errors == [f"{into}: the disk is full"]
    same(recording, into)


@pytest.mark.long
def test_live_lake_resumes_after_restart(tmp_path: Path, recording: Path) -> None:
    cuts = split_points(recording, iterations(7, 6))
    into = str(tmp_path / "lake")
    seen = len(cuts) // 2 + 1
    first = Watcher([Pieces(recording, cuts[:seen])], lake=into, limits=LIMITS, findings=False)
    for _ in range(seen):
        first.step()
    # Closed parts are in the lake, which others may read at any time.
    first._collect_imports(wait=True)
    with CoreSession([into]) as stored:
        ((ends,),) = stored.sql("SELECT count(DISTINCT interval_end) FROM load").rows
    assert 0 < ends < iterations(60, 14)
    # No regular end, as after a kill.
    assert first._lock is not None
    first._lock.close()
    second = Watcher([Pieces(recording, cuts)], lake=into, limits=LIMITS, findings=False)
    play(second)
    second.finish()
    same(recording, into, second)
    first.close()
    second.close()
