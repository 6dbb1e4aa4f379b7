"""Tests of feeds: growing and replaced files, growing folders, pipes, the device and replays."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest
from replay import PATIENCE_S, arrivals

from zlens.errors import InputError
from zlens.live import feeds
from zlens.live.feeds import (
    Feed,
    FeedChunk,
    FolderFeeds,
    ReaderThreadFeed,
    ReplayClock,
    ReplayFeed,
    growing_file,
)


def read_all(feed: Feed) -> bytes:
    found = b""
    while (arrived := feed.read()) is not None:
        found += arrived.data
    return found


def wait_for(feed: Feed, size: int) -> list[FeedChunk]:
    return arrivals(feed, lambda arrived: sum(len(each.data) for each in arrived) >= size)


def age(path: Path) -> None:
    """Set the modification time of a file to 10 s ago."""
    old = time.time() - 10
    os.utime(path, (old, old))


def test_growing_file_resumes_at_position(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"one")
    feed = growing_file(str(path))
    first = feed.read()
    assert first is not None
    assert first.data == b"one"
    assert feed.read() is None
    with open(path, "ab") as file:
        file.write(b"two")
    assert read_all(feed) == b"two"
    again = growing_file(str(path))
    again.seek(first.position)
    assert read_all(again) == b"two"


def test_replaced_file_is_read_from_start(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"a long one")
    feed = growing_file(str(path))
    read_all(feed)
    other = tmp_path / "other"
    other.write_bytes(b"new")
    other.replace(path)
    arrived = feed.read()
    assert arrived is not None
    assert arrived.data == b"new"
    assert "replaced" in arrived.notes[0]


def test_folder_feeds_are_ordered_and_per_name(tmp_path: Path) -> None:
    for name, data in (("a-01.mon", b"1"), ("a-02.mon", b"2"), ("b-01.mon", b"x"), ("a-03.mon.part", b"-")):
        (tmp_path / name).write_bytes(data)
        age(tmp_path / name)
    folder = FolderFeeds(str(tmp_path))
    first, second = folder.current_feeds()
    assert read_all(first) == b"12"
    assert read_all(second) == b"x"
    (tmp_path / "a-03.mon").write_bytes(b"3")
    assert [read_all(feed) for feed in folder.current_feeds()] == [b"3", b""]


def test_folder_feed_resumes_at_position(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        (tmp_path / f"a-{number}").write_bytes(b"%d" % number)
        age(tmp_path / f"a-{number}")
    (feed,) = FolderFeeds(str(tmp_path)).current_feeds()
    assert feed.read() is not None
    second = feed.read()
    assert second is not None
    assert second.data == b"2"
    (again,) = FolderFeeds(str(tmp_path)).current_feeds()
    again.seek(second.position)
    assert read_all(again) == b"3"


def test_pipe_feed_ends_with_writer() -> None:
    read, write = os.pipe()
    feed = ReaderThreadFeed("pipe", read)
    os.write(write, b"data")
    assert b"".join(each.data for each in wait_for(feed, 4)) == b"data"
    os.close(write)
    end = time.monotonic() + PATIENCE_S
    while not feed.ended and time.monotonic() < end:
        feed.read()
    assert feed.ended


def test_device_feed_delivers_sets_and_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty read ends a set; EOVERFLOW keeps it, EIO discards it (Linux, monreader)."""
    steps: list[bytes | int] = [
        b"ab",
        b"c",
        b"",
        b"d",
        errno.EIO,
        b"ef",
        errno.EOVERFLOW,
        b"g",
        b"",
        errno.ENODEV,
    ]

    def device(handle: int, size: int) -> bytes:
        step = steps.pop(0)
        if isinstance(step, int):
            raise OSError(step, os.strerror(step))
        return step

    monkeypatch.setattr(os, "read", device)
    feed = ReaderThreadFeed("/dev/monreader", -1, device=True)
    found = wait_for(feed, 6)
    monkeypatch.undo()
    assert b"".join(each.data for each in found) == b"abcefg"
    notes = [note for each in found for note in each.notes]
    assert any("left out" in note for note in notes)
    assert any("overflowed" in note for note in notes)


def test_replay_follows_clock_of_its_records(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"abcdef")
    now = [0.0]
    clock = ReplayClock(60, lambda: now[0])
    feed = ReplayFeed(str(path), [(0, 1), (60_000_000, 3), (120_000_000, 6)], clock)
    assert read_all(feed) == b"a"
    now[0] = 1.0
    assert read_all(feed) == b"bc"
    assert not feed.ended
    now[0] = 2.5
    assert read_all(feed) == b"def"
    assert feed.ended


def test_foreign_recording_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("nothing of the kind")
    with pytest.raises(InputError, match="this is text, which zlens cannot read"):
        feeds.open_recording(str(path), ReplayClock(1))
