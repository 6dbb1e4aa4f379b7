"""Tests of the file cache: never stale, never required, never another user's."""

import itertools
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from zlens.schema import cache

KEPT = cache.Cache("answers", "1")
BODY = b'{"name": "cpu"}'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the cache, not created yet."""
    monkeypatch.setattr(cache, "_root", lambda *_: tmp_path / "cache")
    return tmp_path / "cache" / "answers"


def only(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def sealed(path: Path, body: bytes) -> None:
    """Replace the content of a cached file, with a matching digest."""
    path.write_bytes(cache.entry_digest(bytes.fromhex(path.name), body) + body)


def test_cache_entry_is_found_only_by_its_key(folder: Path) -> None:
    assert KEPT.read(b"text") is None
    KEPT.write(b"text", BODY)
    assert KEPT.read(b"text") == BODY
    assert KEPT.read(b"texT") is None
    assert cache.Cache("answers", "2").read(b"text") is None, "another form"


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[content.index(b"cpu")] ^= 1
    path.write_bytes(content)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def of_another_text(path: Path) -> None:
    KEPT.write(b"other", BODY)
    other = next(each for each in path.parent.iterdir() if each != path)
    path.write_bytes(other.read_bytes())
    other.unlink()


def a_link(path: Path) -> None:
    target = path.parent.parent / "elsewhere"
    path.rename(target)
    path.symlink_to(target)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def writable_by_others(path: Path) -> None:
    sealed(path, b"forged")
    path.chmod(0o666)


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    "damage",
    [truncated, bit, empty, of_another_text, a_link, a_folder, writable_by_others, a_pipe],
    ids=lambda damage: damage.__name__,
)
def test_damaged_cache_entry_is_ignored(folder: Path, damage: Callable[[Path], None]) -> None:
    KEPT.write(b"text", BODY)
    damage(only(folder))
    assert KEPT.read(b"text") is None


def test_cache_ignores_files_of_other_users(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    KEPT.write(b"text", BODY)
    sealed(only(folder), b"forged")
    assert KEPT.read(b"text") == b"forged", "what this user wrote counts"
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    assert KEPT.read(b"text") is None


def test_cache_without_folder_stores_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(cache, "_root", lambda *_: tmp_path / "file")
    KEPT.write(b"text", BODY)
    assert KEPT.read(b"text") is None


def test_cache_files_are_private(folder: Path) -> None:
    KEPT.write(b"text", BODY)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(only(folder).stat().st_mode) == 0o600


def test_failed_cache_write_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    KEPT.write(b"text", BODY)
    assert list(folder.iterdir()) == []


def test_oldest_cache_entries_are_evicted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_FILES", 10)
    monkeypatch.setattr(KEPT, "_written", itertools.count(1))
    for number in range(12):
        KEPT.write(b"%d" % number, BODY)
        path = max(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        os.utime(path, (number, number))
    monkeypatch.setattr(KEPT, "_written", itertools.count())
    KEPT.write(b"other", BODY)
    assert len(list(folder.iterdir())) == 6, "half of what may be, and the new one"
    assert {int(path.stat().st_mtime) for path in folder.iterdir()} >= {7, 8, 9, 10, 11}


def test_cache_evicts_repeatedly(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_FILES", 10)
    monkeypatch.setattr(cache, "_LOOKED_AT", 5)
    monkeypatch.setattr(KEPT, "_written", itertools.count())
    for number in range(40):
        KEPT.write(b"%d" % number, BODY)
        assert len(list(folder.iterdir())) <= 15


def test_large_body_is_not_cached(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LARGEST", 100)
    KEPT.write(b"text", b"x" * 101)
    assert not folder.exists()
