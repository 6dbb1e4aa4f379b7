"""Tests of interrupted, repeated and changed streams: intervals are shown once, problems are reported."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from replay import Pieces, differences, play, split_points

from zlens import _native
from zlens.live.watch_step import WatchStep
from zlens.live.watcher import RetentionLimits, Watcher
from zlens.session.session import CoreSession


@pytest.fixture
def recording(demo_folder: Path) -> Path:
    return demo_folder / "zldemo.monwrite"


def played(path: Path, ends: Iterable[int]) -> tuple[Watcher, list[WatchStep]]:
    live = Watcher([Pieces(path, list(ends))], limits=RetentionLimits(), findings=False)
    return live, play(live)


@pytest.mark.long
def test_repeated_stream_intervals_are_shown_once(tmp_path: Path, recording: Path) -> None:
    data, cuts = recording.read_bytes(), split_points(recording, 1)
    path = tmp_path / "again"
    # Ten intervals, a duplicate of the last five, and the rest.
    path.write_bytes(data[: cuts[10]] + data[cuts[5] : cuts[10]] + data[cuts[10] :])
    live, _ = played(path, [cuts[10], 2 * cuts[10] - cuts[5], path.stat().st_size])
    with CoreSession([str(recording)]) as recorded, live.session() as shown:
        assert differences(recorded, shown, ["load", "cpu", "cec", "storage"]) == []
    live.close()


@pytest.mark.long
def test_interrupted_stream_has_gap(tmp_path: Path, recording: Path) -> None:
    data, cuts = recording.read_bytes(), split_points(recording, 1)
    path = tmp_path / "gap"
    path.write_bytes(data[: cuts[10]] + data[cuts[20] :])
    live, _ = played(path, [cuts[10], path.stat().st_size])
    with CoreSession([str(path)]) as recorded, live.session() as shown:
        assert differences(recorded, shown) == []
        ((flagged,),) = shown.sql("SELECT count(*) FROM interval WHERE flag = 'gap'").rows
        assert flagged == 1
    live.close()


def test_damaged_stream_part_is_reported(tmp_path: Path, recording: Path) -> None:
    data, cuts = bytearray(recording.read_bytes()), split_points(recording, 1)
    data[cuts[20] + 4096 : cuts[20] + 12288] = b"\xff" * 8192
    path = tmp_path / "damaged"
    path.write_bytes(bytes(data))
    live, steps = played(path, [cuts[10], cuts[30], len(data)])
    assert [problem.kind for step in steps for problem in step.problems] != []
    with CoreSession([str(path)]) as recorded, live.session() as shown:
        assert differences(recorded, shown, ["load", "cpu"]) == []
    live.close()


@pytest.mark.long
def test_stream_with_second_system(tmp_path: Path, demo_folder: Path) -> None:
    """The recordings of two systems in sequence, as after an IPL of another system."""
    one, other = demo_folder / "zldemo.monwrite", demo_folder / "sim.monwrite"
    end = split_points(one, 1)[10]
    second = other.read_bytes()[: split_points(other, 1)[10]]
    path = tmp_path / "two"
    path.write_bytes(one.read_bytes()[:end] + second)
    live, _ = played(path, [end, path.stat().st_size])
    with CoreSession([str(path)]) as recorded, live.session() as shown:
        assert {info.system for info in shown.systems} == {"ZLDEMO", "ZLSIM"}
        assert differences(recorded, shown, ["load", "cpu", "storage"]) == []
    live.close()


def test_capture_of_live_stream_is_followed(tmp_path: Path, recording: Path) -> None:
    """The format of /dev/monreader: 12 bytes of control element, then exactly the data (Linux, monreader)."""
    data, cuts = recording.read_bytes(), split_points(recording, 1)
    capture, sizes = bytearray(), []
    at = 0
    while at + 4096 <= cuts[12]:
        element, pages = data[at + 40 : at + 52], []
        place = at + 40
        while int.from_bytes(data[place + 8 : place + 12]) > int.from_bytes(data[place + 4 : place + 8]):
            element = data[place : place + 12]
            start, end = int.from_bytes(element[4:8]), int.from_bytes(element[8:12])
            frames = (end >> 12) - (start >> 12) + 1
            begin = at + 4096 * (1 + sum(pages)) + (start & 0xFFF)
            capture += element + data[begin : begin + end - start + 1]
            pages.append(frames)
            place += 12
        at += 4096 * (1 + sum(pages))
        sizes.append(len(capture))
        if not pages:
            break
    path = tmp_path / "capture"
    path.write_bytes(capture)
    assert _native.MonwriteFile.open(str(path)).capture
    live, _ = played(path, [*sizes[::6], len(capture)])
    with CoreSession([str(path)]) as recorded, live.session() as shown:
        assert differences(recorded, shown, ["load", "cpu", "guest_wait"]) == []
    live.close()


def test_invalid_spool_state_is_rejected(tmp_path: Path) -> None:
    from zlens.errors import LakeError
    from zlens.live.spool import Spool

    (tmp_path / "state.json").write_text("{}")
    with pytest.raises(LakeError, match=r"state\.json"):
        Spool(tmp_path)
